"""What a study declares: its cells, and what the paper reports of each."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from diacritic.studies.tasks import Task
from diacritic.training.preset import preset

GateName = Literal["t-maze", "external", "full", "task", "relaxed"]
"""How a cell is judged; recorded tasks by `task` (the gate of their own), `full` or `relaxed`."""


@dataclass(frozen=True)
class Paper:
    """What the paper reports of a cell."""

    block: str
    """Section of the reference, `table.learning_main` say."""
    sufficient: tuple[int, int] | None = None
    """Sufficient seeds of how many."""
    success: float | None = None
    """Closed-loop success."""
    rate: tuple[tuple[str, float], ...] = ()
    """Bits by our name of the window."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table: what is trained, how it is judged, and what the paper found there."""

    study: str
    task: Task
    learner: str
    preset: str
    gate: GateName
    beta: float
    steps: int
    paper: Paper | None = None
    demonstrations: int | None = None
    """Drawn or recorded episodes N; none: every episode of a symbolic task with its exact weight."""
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
        extras += [f"after={self.after.task.title},{self.after.learner}".replace(" ", ",")] if self.after else []
        return " ".join([self.task.title, *extras])

    @property
    def digest(self) -> str:
        """Hash of all that decides the outcome of a run but its seed; studies that share a cell share its runs."""
        beside = ("study", "paper", "task", "seeds", "first_seed", "after")
        decides = {key: value for key, value in vars(self).items() if key not in beside}
        decides |= {"task": self.task.name, "parameters": self.task.parameters, "preset": asdict(preset(self.preset))}
        decides |= {} if self.after is None else {"after": self.after.digest}  # unused, it leaves hashes as they were
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def paper_count(self) -> list[int] | None:
        """The paper's sufficient seeds of how many, as a ledger has it."""
        return None if self.paper is None or self.paper.sufficient is None else list(self.paper.sufficient)

    @property
    def former(self) -> "Cell | None":
        """The cell that it starts from, with the same seeds."""
        return None if self.after is None else replace(self.after, seeds=self.seeds, first_seed=self.first_seed)

    @property
    def run_seeds(self) -> range:
        """The seeds of its runs."""
        return range(self.first_seed, self.first_seed + self.seeds)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> "Cell":
        """As `asdict` and JSON left it."""
        task, paper = document["task"], document["paper"]
        place = Task(task["name"], tuple((key, value) for key, value in task["parameters"]))
        if paper is not None:
            count, rate = paper["sufficient"], tuple((name, bits) for name, bits in paper["rate"])
            paper = Paper(paper["block"], None if count is None else (count[0], count[1]), paper["success"], rate)
        after = None if document.get("after") is None else Cell.from_dict(document["after"])
        return Cell(**{**document, "task": place, "paper": paper, "after": after})


@dataclass(frozen=True)
class Study:
    """One table or figure of the paper."""

    name: str
    title: str
    introduction: str
    inventory: tuple[int, ...]
    """Items of the paper's inventory that it answers."""
    blocks: tuple[str, ...]
    """Sections of the reference that it answers."""
    cells: tuple[Cell, ...] = ()
    order: int = 9
    """Place in the list of runs to make."""
