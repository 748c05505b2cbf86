"""Saved runs as the page reads them: manifest, verdict, closed loop and codes; no network is loaded."""

import hashlib
import json
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.commands.rollout import FORMAT as ROLLOUT
from diacritic.files.atomic import read_json
from diacritic.measure.verdict import FILE as VERDICT_FILE
from diacritic.measure.verdict import FORMAT as VERDICT
from diacritic.report.titles import full_title, short_title

MANIFEST = "run.json"  # as in training.runs, which needs torch
REMEDY = "train the run again"
PARTS = ("weights.safetensors", "codes.npz")
Document = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One finished run, and what was found about it."""

    path: Path
    manifest: Document
    verdict: Document | None = None
    rollout: Document | None = None

    @property
    def recorded(self) -> bool:
        """Whether it learned from a recording."""
        return "task_version" in self.manifest

    @property
    def parameters(self) -> Document:
        return self.manifest.get("parameters", {})

    @cached_property
    def task(self) -> str:
        """The task in one line, with the parameters that are not as usual."""
        name = str(self.manifest.get("task", "an unnamed task"))
        return short_title(name, self.parameters) if self.recorded else full_title(name, self.parameters)

    @property
    def full_task(self) -> str:
        """The task with all its parameters."""
        return full_title(str(self.manifest.get("task", "an unnamed task")), self.parameters)

    @property
    def learner(self) -> str:
        return str(self.manifest["learner"])

    @property
    def preset(self) -> str:
        return str(self.manifest["preset"])

    @property
    def seed(self) -> int:
        return int(self.manifest["run"]["seed"])

    @property
    def label(self) -> str:
        return f"{self.learner}, seed {self.seed}"

    @property
    def sufficient(self) -> bool | None:
        """What the verdict says, or the judgement at the end of training; None where neither was made."""
        if self.verdict is not None:
            return self.verdict["sufficient"]["answer"] == "yes"
        found = self.manifest.get("sufficient")
        return None if found is None else bool(found)

    @property
    def rate(self) -> list[float | None]:
        """Ĥ(C_t|Ō_t) at every step, empty where it is not known."""
        return list(self.verdict["steps"]["rate"] if self.verdict else self.manifest.get("rate", []))

    @property
    def requirement(self) -> list[float | None]:
        """R_t at every step."""
        return list(self.verdict["steps"]["required"] if self.verdict else self.manifest.get("requirement", []))

    @property
    def success(self) -> float | None:
        """Closed-loop success: of the rollout, or exact on a symbolic task."""
        found = (self.rollout or self.manifest).get("success")
        return None if found is None else float(found)

    def codes(self) -> NDArray[np.integer[Any]]:
        """Codes C_t on the episodes it learned from, [T, N]."""
        return read_arrays(self.path / "codes.npz")["codes"]

    def played(self) -> dict[str, NDArray[Any]] | None:
        """Codes, symbols and latents of its closed-loop episodes."""
        return read_arrays(self.path / "rollout.npz") if (self.path / "rollout.npz").exists() else None


def is_run(folder: Path) -> bool:
    """A folder of a run, finished or not."""
    return any((folder / name).exists() for name in (MANIFEST, *PARTS))


def read_run(folder: Path) -> tuple[Run, list[UserError]]:
    """A run, and what beside it could not be read; a run that is not whole is refused."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(str(folder), f"is a half-written run without {MANIFEST}; {REMEDY}") from None
    except (OSError, ValueError):
        raise UserError(str(folder / MANIFEST), f"cannot be read as JSON; {REMEDY}") from None
    lacking = {"learner", "preset", "run", "sha256"} - (manifest.keys() if isinstance(manifest, dict) else set())
    if lacking:
        raise UserError(str(folder / MANIFEST), f"lacks {', '.join(sorted(lacking))}; {REMEDY}")
    for name, digest in manifest["sha256"].items():
        path = folder / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise UserError(str(path), f"does not match the run's manifest; {REMEDY}")
    problems: list[UserError] = []
    verdict = _beside(
        folder / VERDICT_FILE, VERDICT, ("sufficient", "steps", "controls"), "measure the run again", problems
    )
    rollout = _beside(folder / "rollout.json", ROLLOUT, ("by_episode",), "roll the run out again", problems)
    return Run(folder, manifest, verdict, rollout), problems


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Plain arrays of an npz file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as problem:
        raise UserError(str(path), f"is no npz of plain arrays ({problem})") from None


def _beside(
    path: Path, expected: str, keys: tuple[str, ...], remedy: str, problems: list[UserError]
) -> Document | None:
    if not path.exists():
        return None
    try:
        document = read_json(path, expected, remedy)
        lacking = [key for key in keys if key not in document]
        if lacking:
            raise UserError(str(path), f"lacks {', '.join(lacking)}; {remedy}")
        return document
    except UserError as problem:
        problems.append(problem)
        return None
