"""Saved runs as the page reads them: manifest, verdict, closed loop and codes; no network is loaded."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.arrays import read_npz
from diacritic.files.atomic import read_json
from diacritic.files.judged import check_rollout, check_verdict
from diacritic.files.run import RunManifest, read_codes, read_manifest
from diacritic.measure.rollouts import FORMAT as ROLLOUT
from diacritic.measure.verdict import FILE as VERDICT_FILE
from diacritic.measure.verdict import FORMAT as VERDICT
from diacritic.report.titles import full_title, recorded_task, short_title
from diacritic.tasks.protocol import Task

Document = dict[str, Any]
Check = Callable[[Document, str, str], None]


@dataclass(frozen=True)
class Run:
    """One finished run, and what was found about it."""

    path: Path
    manifest: RunManifest
    verdict: Document | None = None
    rollout: Document | None = None

    @cached_property
    def id(self) -> str:
        """Its name in links inside the report."""
        return f"run-{hashlib.sha256(str(self.path).encode()).hexdigest()[:10]}"

    @property
    def mood(self) -> str:
        """How it is drawn."""
        return {True: "good", False: "bad", None: "open"}[self.sufficient]

    @property
    def recorded(self) -> bool:
        """Whether it learned from a recording."""
        return self.manifest.kind == "recorded"

    @cached_property
    def task(self) -> str:
        """The task in one line, with the parameters that are not as usual."""
        title = short_title if self.recorded else full_title
        return title(self.manifest.task, self.manifest.parameters)

    @cached_property
    def simulated(self) -> Task | None:
        """The task with its physics, where this version of it is the one that the run learned."""
        task = recorded_task(self.manifest.task, self.manifest.parameters) if self.recorded else None
        return task if task is not None and task.version == self.manifest.task_version else None

    @property
    def full_task(self) -> str:
        """The task with all its parameters."""
        return full_title(self.manifest.task, self.manifest.parameters)

    @property
    def learner(self) -> str:
        return self.manifest.learner

    @property
    def preset(self) -> str:
        return self.manifest.preset

    @property
    def seed(self) -> int:
        return self.manifest.seed

    @property
    def label(self) -> str:
        return f"{self.learner}, seed {self.seed}"

    @property
    def sufficient(self) -> bool | None:
        """What the verdict says, or the judgement at the end of training; None where neither was made."""
        if self.verdict is not None:
            return self.verdict["sufficient"]["answer"] == "yes"
        return self.manifest.sufficient

    @property
    def rate(self) -> list[float | None]:
        """Ĥ(C_t|Ō_t) at every step, empty where it is not known."""
        return list(self.verdict["steps"]["rate"] if self.verdict else self.manifest.rate)

    @property
    def requirement(self) -> list[float | None]:
        """R_t at every step."""
        return list(self.verdict["steps"]["required"] if self.verdict else self.manifest.requirement)

    @property
    def success(self) -> float | None:
        """Closed-loop success: of the rollout, or exact on a symbolic task."""
        return self.manifest.success if self.rollout is None else self.rollout["success"]

    def codes(self) -> NDArray[np.integer[Any]]:
        """Codes C_t on the episodes that its manifest names, [T, N]."""
        return read_codes(self.path, self.manifest)

    def played(self) -> dict[str, NDArray[Any]] | None:
        """Codes, symbols and latents of its closed-loop episodes."""
        path = self.path / "rollout.npz"
        return read_npz(path, "roll the run out again") if path.exists() else None


def read_run(folder: Path) -> tuple[Run, list[UserError]]:
    """A run, and what beside it could not be read; a run that is not whole is refused."""
    manifest = read_manifest(folder)
    problems: list[UserError] = []
    verdict = _beside(folder / VERDICT_FILE, VERDICT, check_verdict, "measure the run again", problems)
    rollout = _beside(folder / "rollout.json", ROLLOUT, check_rollout, "roll the run out again", problems)
    return Run(folder, manifest, verdict, rollout), problems


def _beside(path: Path, expected: str, check: Check, remedy: str, problems: list[UserError]) -> Document | None:
    if not path.exists():
        return None
    try:
        document = read_json(path, expected, remedy)
        check(document, str(path), remedy)
        return document
    except UserError as problem:
        problems.append(problem)
        return None
