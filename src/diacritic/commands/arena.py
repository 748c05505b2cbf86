"""`diacritic arena`: the field's memories, and yours, on the same tasks."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.table import Table

from diacritic.commands.parameters import remedies
from diacritic.commands.study import console, say

if TYPE_CHECKING:
    from diacritic.studies.results import Results


@dataclass(frozen=True)
class Entrants:
    """Which memories, and how long they train."""

    memory: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """A column of the matrix, a learner, or a memory of --file; may be repeated. By default all columns."""
    file: Path | None = None
    """Python file that registers memories of your own; they enter beside the others."""
    steps: int = 3000
    """Updates of each run."""
    seeds: int = 8
    results: Path = Path("results")
    """Ledgers; the arena's is arena.jsonl."""

    def names(self) -> list[str]:
        """The columns, those of the file last."""
        from diacritic.studies.arena import ENTRANTS, enter

        own = [] if self.file is None else enter(self.file)
        chosen = list(self.memory or ENTRANTS)
        return chosen + [name for name in own if name not in chosen]


@dataclass(frozen=True)
class Run:
    """Train and judge what is missing, then show the matrix."""

    entrants: Annotated[Entrants, tyro.conf.arg(name="")] = field(default_factory=Entrants)
    only: str = ""
    """Tasks that have all these words: "memory-chain delay=10"."""
    device: str = "auto"
    """cpu, cuda, or auto."""
    together: int = 1
    """Cohorts that train in turns on the device."""

    def run(self) -> int:
        with remedies():
            from diacritic.files.lock import disk_faults, locked
            from diacritic.studies.arena import study
            from diacritic.studies.choose import cells_of
            from diacritic.studies.engine import StudySettings, jobs_of, run_here
            from diacritic.studies.results import Results
            from diacritic.studies.train import chosen_device

            names, who = self.entrants.names(), self.entrants
            cells = cells_of([study(names, who.steps, who.seeds)], self.only)
            settings = StudySettings(who.results, Path("out") / "arena", device=chosen_device(self.device))
            with disk_faults(), locked(settings.work), locked(settings.results):
                run_here(jobs_of(cells, settings), settings, self.together, say)
            _show(Results.read(who.results), names, who)
        return 0


@dataclass(frozen=True)
class Show:
    """The matrix: sufficient seeds by task and memory; an empty place has not been run."""

    entrants: Annotated[Entrants, tyro.conf.arg(name="")] = field(default_factory=Entrants)

    def run(self) -> int:
        with remedies():
            from diacritic.studies.results import Results

            _show(Results.read(self.entrants.results), self.entrants.names(), self.entrants)
        return 0


@dataclass(frozen=True)
class Arena:
    """The field's memories, and yours, trained and judged alike: run, show."""

    action: Annotated[
        Annotated[Run, tyro.conf.subcommand("run", prefix_name=False)]
        | Annotated[Show, tyro.conf.subcommand("show", prefix_name=False)],
        tyro.conf.arg(name=""),
    ]

    def run(self) -> int:
        return self.action.run()


def _show(results: "Results", names: list[str], entrants: Entrants) -> None:
    from diacritic.studies.arena import TASKS, matrix

    scores = matrix(results, names, entrants.steps, entrants.seeds)
    table = Table(box=None)
    table.add_column("memory")
    columns = [k for k, row in enumerate(scores) if any(row)]
    for k in columns:
        table.add_column(TASKS[k].title.replace(" ", "\n"), justify="right")
    for j, name in enumerate(names):
        if any(scores[k][j] for k in columns):
            table.add_row(name, *("" if (score := scores[k][j]) is None else score.text for k in columns))
    console().print(table)
    print("Sufficient seeds: those that act correctly after every history of the task.")


COMMANDS = {"arena": Arena}
