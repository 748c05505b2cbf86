"""`diacritic arena`: the field's memories, and yours, on the same tasks."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.table import Table

from certify.progress import working
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
    steps: int = 2000
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
    judges: int = 0
    """Further processes that judge what is trained; with memories of a file of your own none."""
    seconds: float = 1e9
    """Time limit; the same command goes on later."""
    demos: Path = Path("out") / "demos"
    """Recordings of the arm; made where they are missing."""
    search: bool = False
    """First search learning rate and size of every entrant on the development cells (arena-search.jsonl)."""

    def run(self) -> int:
        with remedies():
            from diacritic.files.lock import disk_faults, locked
            from diacritic.studies.arena import cells, frozen
            from diacritic.studies.arena_run import ArenaSettings, run_cells, search
            from diacritic.studies.results import Results
            from diacritic.studies.train import chosen_device

            names, who = self.entrants.names(), self.entrants
            judges = 0 if who.file is not None else self.judges
            device = chosen_device(self.device)
            settings = ArenaSettings(who.results, self.demos, device, self.together, judges, self.seconds)
            with disk_faults(), locked(settings.results), working("the arena"):
                if self.search:
                    search(names, settings, say)
                chosen = cells(names, who.steps, who.seeds, frozen(Results.read(who.results)))
                words = self.only.split()
                run_cells([cell for cell in chosen if all(word in cell.task.title for word in words)], settings, say)
            _show(Results.read(who.results), names, who)
        return 0


@dataclass(frozen=True)
class Show:
    """The matrix: sufficient seeds by task and memory; an empty place has not been run."""

    entrants: Annotated[Entrants, tyro.conf.arg(name="")] = field(default_factory=Entrants)
    svg: Path | None = None
    """Folder for the pictures: matrix.svg, bits.svg and costs.svg."""
    html: Path | None = None
    """Matrix and bits on one page."""
    page: Path | None = None
    """Markdown page (docs/arena.md) whose generated part is written again."""

    def run(self) -> int:
        with remedies():
            from diacritic.files.atomic import make_folder, write_text
            from diacritic.report.arena import bits_svg, matrix_svg
            from diacritic.report.arena_page import costs_svg, insert, page
            from diacritic.studies.arena import SHORT, cells, frozen, matrix, searched, superseded
            from diacritic.studies.results import Results

            results, names, who = Results.read(self.entrants.results), self.entrants.names(), self.entrants
            scores, settings = matrix(results, names, who.steps, who.seeds), frozen(results)
            drawn = {"matrix": matrix_svg(names, scores), "bits": bits_svg(names, scores)}
            if self.svg is not None:
                for name, text in (drawn | {"costs": costs_svg(names, scores)}).items():
                    write_text(make_folder(self.svg) / f"{name}.svg", text)
            if self.html is not None:
                body = "\n".join(drawn.values())
                write_text(self.html, f'<!doctype html>\n<meta charset="utf-8">\n<title>The arena</title>\n{body}')
            if self.page is not None:
                short = [results.runs(cell) for cell in cells(names, who.steps, who.seeds, settings, [SHORT])]
                insert(self.page, page(names, scores, settings, short, searched(results), superseded(results)))
            _show(results, names, who)
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
    from diacritic.studies.arena import matrix

    scores = matrix(results, names, entrants.steps, entrants.seeds)
    table = Table(box=None)
    table.add_column("task")
    rows = [k for k in range(len(names)) if any(row[k] for row in scores.values())]
    for k in rows:
        table.add_column(names[k].replace(" ", "\n"), justify="right")
    for task, row in scores.items():
        if any(row):
            table.add_row(task.title, *("" if (score := row[k]) is None else score.text for k in rows))
    console().print(table)
    print("Sufficient seeds: those that act correctly after every history of the task.")


COMMANDS = {"arena": Arena}
