"""Errors that a user can act on: one line that names the place and the remedy, safe to print."""


class UserError(ValueError):
    """The input is not a finite model; `where` is its path, such as ``episodes[3].steps[2].action_law``."""

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        self.reason = reason
        super().__init__(f"{where}: {reason}" if where else reason)


class OffSupportError(LookupError):
    """A machine was asked to take a transition that the expert never takes."""


def inert(text: str) -> str:
    """Text from a file of somebody else, for a terminal: nothing in it can move a cursor or add a line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
