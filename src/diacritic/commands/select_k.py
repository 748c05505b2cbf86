"""`diacritic select-k`: how many codes a task takes, by the paper's rule."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from certify.errors import UserError
from certify.progress import working
from diacritic.commands.parameters import pairs, remedies, simulated_task

if TYPE_CHECKING:
    from diacritic.studies.cell import Cell


@dataclass(frozen=True)
class SelectK:
    """Raise the codebook from the certified bound until the gate is first met and the rate settles: diacritic select-k
    memory-chain bits=2 delay=10. The exit status is 1 where no size up to eight times the bound does."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """A task of the zoo, or a simulated task."""
    parameters: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[KEY=VALUE ...]")] = ()
    """Its parameters; of a simulated task also episodes=N of the recording."""
    learner: str = "plain"
    """See `diacritic train --learner help`."""
    preset: str = "carousel"
    """carousel, or one of the release."""
    seeds: int = 8
    """Runs of each size."""
    steps: int | None = None
    """Updates; by default 6000, on a recording 10000."""
    beta: float = 1e-3
    """Rate pressure."""
    demonstrations: int | None = None
    """Episodes that are learned from; by default all of a symbolic task, 448 of a recording."""
    device: str = "cpu"
    """cpu or cuda."""
    out: Path = Path("out") / "select-k"
    """Where runs and their ledger go; what is there is not trained again."""
    demos: Path = Path("out") / "demos"
    """Recordings."""

    def run(self) -> int:
        with remedies():
            from diacritic.files.ledger import key_of, read_ledger
            from diacritic.files.lock import disk_faults, locked
            from diacritic.studies.codebook import select
            from diacritic.studies.engine import StudySettings, jobs_of, run_here

            cell = self._cell()
            folders = self.out, self.out / "work", self.demos, self.out / "runs"
            settings = StudySettings(*folders, self.device, episodes=0)
            with working("certifying the task"):
                bound = fewest_codes(cell, self.demos)
            print(f"{cell.task.title}: the certified bound is {bound} codes", flush=True)

            def train(codes: int) -> Sequence[dict[str, Any]]:
                tried = replace(cell, codes=codes)
                run_here(jobs_of([tried], settings), settings, say=lambda line: None)  # the table says it
                wanted = {key_of(tried.identity(seed)) for seed in tried.run_seeds}
                rows = [row for row in read_ledger(self.out / "select-k.jsonl") if key_of(row) in wanted]
                bits = {name: value for row in rows if row["sufficient"] for name, value in row["rate"].items()}
                passed = sum(row["sufficient"] for row in rows)
                told = ", ".join(f"{name} {value:.2f}" for name, value in bits.items() if value is not None)
                print(f"K={codes}: {passed}/{len(rows)} sufficient{'; bits: ' + told if told else ''}", flush=True)
                return rows

            with disk_faults(), locked(self.out):
                chosen, tried = select(bound, train)
        if chosen is None:
            print(f"no K up to {tried[-1].codes} meets the gate with a settled rate", file=sys.stderr)
            return 1
        print(f"K = {chosen}")
        return 0

    def _cell(self) -> "Cell":
        from diacritic.studies.cell import Cell
        from diacritic.studies.tasks import task
        from diacritic.training.learner import learner
        from diacritic.training.preset import preset

        chosen = learner(self.learner).name, preset(self.preset).name
        instance = task(self.task, **pairs(self.parameters))
        if instance.recorded:
            instance = task(self.task, **_typed(self.task, self.parameters))
        gate, steps = ("task", 10_000) if instance.recorded else ("external", 6000)
        if min(self.seeds, self.steps or 1) < 1:
            raise UserError("select-k", "--seeds and --steps are at least 1")
        cell = Cell("select-k", instance, *chosen, gate, self.beta, self.steps or steps, seeds=self.seeds)
        return replace(cell, demonstrations=self.demonstrations)


def fewest_codes(cell: "Cell", demos: Path) -> int:
    """The certified bound: no smaller codebook can pass."""
    if cell.task.recorded:
        from diacritic.measure.recorded import Classes
        from diacritic.studies.recordings import recording
        from diacritic.studies.train import fewest_codes as fewest

        recorded = recording(cell, demos)
        return fewest(Classes.of(recorded.symbols, recorded.choices))
    from certify import certify
    from diacritic.studies.tasks import model_of

    answer = certify(model_of(cell.task), seconds=10)
    return answer.codes_needed


def _typed(name: str, texts: tuple[str, ...]) -> dict[str, Any]:
    """Parameters of a simulated task as its own types, and those of its recording."""
    from diacritic.studies.tasks import HOW

    how = {key: value for key, value in pairs(texts).items() if key in HOW}
    own = [text for text in texts if text.partition("=")[0] not in HOW]
    values = simulated_task(name, own).parameters
    return {key: values[key] for key in pairs(own)} | {key: int(value) for key, value in how.items()}


COMMANDS = {"select-k": SelectK}
