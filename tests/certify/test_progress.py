"""Progress shows on a terminal, and only there."""

import io
import sys

import pytest

from certify.progress import track, working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_speaks_to_terminals_alone(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    screen = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert list(track([1, 2, 3], "counting")) == [1, 2, 3]
    with working("thinking"):
        pass
    assert ("counting" in screen.getvalue()) == terminal
    assert bool(screen.getvalue()) == terminal


def test_without_rich_there_is_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setitem(sys.modules, "rich", None)
    with working("thinking"):
        assert list(track([1], "counting")) == [1]
    assert screen.getvalue() == ""
