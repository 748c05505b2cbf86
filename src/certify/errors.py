"""Errors that a user can act on: one line that names the place and the remedy."""


class UserError(ValueError):
    """The input is not a finite model; `place` is its path, such as ``episodes[3].steps[2].action_law``."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{place}: {reason}" if place else reason)


class OffSupportError(LookupError):
    """A machine was asked to take a transition that the expert never takes."""
