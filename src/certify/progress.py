"""Signs of life on standard error: a moving line on a terminal with rich, a line every ten seconds elsewhere."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from certify.errors import inert

T = TypeVar("T")
PATIENCE = 0.5  # seconds before a terminal shows anything
EVERY = 10.0  # seconds between two lines where there is no terminal
_notes: list[str] = []  # what is being done, the innermost last


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done while the body runs; the body may say more, such as a count of its steps."""
    mine = len(_notes)
    _notes.append(text)
    done = threading.Event()
    thread = threading.Thread(target=_spin if _wanted() else _speak, args=(done,), daemon=True)

    def say(more: str) -> None:
        if mine < len(_notes):  # generators may end in another order than they began
            _notes[mine] = f"{text}: {more}"

    try:
        if not mine:  # inside another, the thread of that one shows this text
            thread.start()
        yield say
    finally:
        done.set()
        if not mine:
            thread.join()
        del _notes[mine:]


def track(items: Sequence[T], text: str) -> Iterable[T]:
    """A bar that counts the items."""
    if not _wanted():
        return _counted(items, text)
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import track as bar

    return bar(items, escape(inert(text)), console=Console(stderr=True), transient=True)


def _counted(items: Sequence[T], text: str) -> Iterator[T]:
    with working(text) as say:
        for k, item in enumerate(items):
            say(f"{k:,} of {len(items):,} done")
            yield item


def _spin(done: threading.Event) -> None:
    from rich.console import Console
    from rich.text import Text

    if done.wait(PATIENCE):
        return
    with Console(stderr=True).status("") as status:
        while not done.wait(0.1):
            status.update(Text(inert(_notes[-1])))


def _speak(done: threading.Event) -> None:
    while not done.wait(EVERY):
        print(inert(_notes[-1]), file=sys.stderr, flush=True)


def _wanted() -> bool:
    if not sys.stderr.isatty():
        return False
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True
