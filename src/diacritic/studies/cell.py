"""What a study declares: its cells."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from certify.errors import UserError
from diacritic.files.atomic import safe_name
from diacritic.studies.tasks import Task
from diacritic.training.preset import preset

GateName = Literal["t-maze", "external", "full", "task", "relaxed"]
"""How a cell is judged; recorded tasks by `task` (the gate of their own), `full` or `relaxed`."""
USUAL = 10_000
"""Updates up to which a cell's name does not say how many it has."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table: what is trained, and how it is judged."""

    study: str
    task: Task
    learner: str
    preset: str
    gate: GateName
    beta: float
    steps: int
    reference: object = field(default=None, compare=False)
    """What somebody else reports of the cell; listings show its text, and nothing else is done with it."""
    demonstrations: int | None = None
    """Drawn or recorded episodes N; none: every episode of a symbolic task with its exact weight."""
    own_demonstrations: bool = False
    """Each seed draws demonstrations of its own; otherwise all learn from the same."""
    seeds: int = 8
    first_seed: int = 0
    codes: int = 16
    rate: float | None = None
    """Learning rate; none: the preset's."""
    auxiliary: float | None = None
    """Weight of the auxiliary term; none: the learner's."""
    forecaster: int | None = None
    """Updates of its forecasters; none: as many as usual."""
    misled: float = 0.0
    """Share of the episodes whose forecasts are those of an episode of another class."""
    after: "Cell | None" = None
    """The cell whose run of the same seed each run starts from; none: from random weights."""

    def __post_init__(self) -> None:
        safe_name(self.study, "study of a cell")
        if self.own_demonstrations and (self.task.recorded or self.demonstrations is None):
            reason = "seeds draw demonstrations of their own from a finite model alone; give it `demonstrations`"
            raise UserError(f"{self.task.title}: own_demonstrations", reason)

    @property
    def name(self) -> str:
        """What tells the cell from others of its learner and preset."""
        extras = [f"β={self.beta:g}"]
        extras += [f"N={self.demonstrations}"] if self.demonstrations else []
        extras += [f"K={self.codes}"] if self.codes != 16 else []
        extras += [f"lr={self.rate:g}"] if self.rate else []
        extras += [f"λ={self.auxiliary:g}"] if self.auxiliary is not None else []
        extras += [f"forecaster={self.forecaster}"] if self.forecaster is not None else []
        extras += [f"misled={self.misled:g}"] if self.misled else []
        extras += [f"updates={self.steps}"] if self.steps > USUAL else []
        extras += [f"after={self.after.task.title},{self.after.learner}".replace(" ", ",")] if self.after else []
        return " ".join([self.task.title, *extras])

    @property
    def digest(self) -> str:
        """Hash of all that decides the outcome of a run but its seed; studies that share a cell share its runs."""
        return self.digest_of(self.task.version)

    def digest_of(self, version: int) -> str:
        """The same with that version of its task."""
        beside = ("study", "reference", "task", "seeds", "first_seed", "after")
        beside = (*beside, *(() if self.own_demonstrations else ("own_demonstrations",)))  # hashes without it stay
        decides = {key: value for key, value in vars(self).items() if key not in beside}
        how = preset(self.preset).decides(bool(dict(self.task.parameters).get("pixels", False)))
        decides |= {"task": self.task.name, "parameters": self.task.parameters, "preset": how}
        decides |= {} if version == 1 else {"task_version": version}
        decides |= {} if self.after is None else {"after": self.after.digest_of(version)}  # hashes without it stay
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def former(self) -> "Cell | None":
        """The cell that it starts from, with the same seeds."""
        return None if self.after is None else replace(self.after, seeds=self.seeds, first_seed=self.first_seed)

    @property
    def run_seeds(self) -> range:
        """The seeds of its runs."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def identity(self, seed: int) -> dict[str, Any]:
        """The fields of a row that distinguish one run of the cell from all others, and its settings."""
        return {
            "study": self.study,
            "cell": self.name,
            "task": self.task.title,
            "learner": self.learner,
            "preset": self.preset,
            "seed": seed,
            "steps": self.steps,
            "K": self.codes,
            "beta": self.beta,
            "N": self.demonstrations,
            "gate": self.gate,
            "configuration": self.digest,
            **({} if self.task.version == 1 else {"task_version": self.task.version}),
        }

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, without the reference."""
        document = {key: value for key, value in vars(self).items() if key != "reference"}
        former = None if self.after is None else self.after.to_dict()
        return document | {"task": asdict(self.task), "after": former}

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> "Cell":
        """As `to_dict` and JSON left it."""
        task = document["task"]
        instance = Task(task["name"], tuple((key, value) for key, value in task["parameters"]))
        after = None if document.get("after") is None else Cell.from_dict(document["after"])
        return Cell(**{**document, "task": instance, "after": after})


@dataclass(frozen=True)
class Study:
    """Cells under one name, whose runs share a ledger."""

    name: str
    title: str
    introduction: str = ""
    cells: tuple[Cell, ...] = ()

    def __post_init__(self) -> None:
        safe_name(self.name, "study")
