"""A task of the atlas, and the folders of those that are not committed here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from certify import Model
from certify.stationary.process import Process


@dataclass(frozen=True)
class Checkouts:
    """Repositories of others that some families are read from."""

    mikasa: Path | None = None
    """github.com/CognitiveAISystems/MIKASA-Base"""
    models: Path | None = None
    """Folder of `.pomdp` and PRISM files, such as `models` of github.com/randriu/synthesis."""
    minigrid: Path | None = None
    """github.com/Farama-Foundation/Minigrid, for the patterns that its package lacks."""


@dataclass(frozen=True)
class Entry:
    """A task of a family, as a finite model or as a process without a last step."""

    family: str
    task: str
    make: Callable[[], Model | Process]
    modified: str = ""
    """How it differs from what its package ships, and how much of it is certified."""
    expert: str = ""
    """Who acts, where that is not the one solution of the task."""
    full: bool = False
    """The twin that shows everything, which must need no memory."""
    memory: bool = False
    """Its authors call it a test of memory."""
    option: str = ""
    """What the command that makes its card needs besides the family."""

    @property
    def command(self) -> str:
        words = ["diacritic", "atlas", self.family, *([self.option] if self.option else []), f"--only '{self.task}'"]
        return " ".join([*words, "-o card.jsonl"])
