"""Signs of life on standard error, when it is a terminal and rich is installed; silence otherwise."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from certify.errors import inert

T = TypeVar("T")


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner while the body runs."""
    if not _wanted():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(inert(text))):
        yield


def track(items: Sequence[T], text: str) -> Iterable[T]:
    """A bar that counts the items."""
    if not _wanted():
        return items
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import track as bar

    return bar(items, escape(inert(text)), console=Console(stderr=True), transient=True)


def _wanted() -> bool:
    if not sys.stderr.isatty():
        return False
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True
