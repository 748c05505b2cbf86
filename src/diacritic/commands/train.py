"""`diacritic train`: many seeds of one learner on one task, judged exactly where the task is finite."""

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Table

from certify.errors import UserError
from diacritic.demos.readers import is_recording
from diacritic.files.demos import Demos
from diacritic.tasks.named import is_model_file, named_model
from diacritic.training.options import TrainOptions

if TYPE_CHECKING:
    from diacritic.measure.evaluate import Evaluation
    from diacritic.studies.train import Runs


@dataclass(frozen=True)
class Train:
    """Train policies with discrete memory on a zoo task (with KEY=VALUE parameters), a model file, or a recording."""

    task: Annotated[str, tyro.conf.Positional]
    """A zoo name such as memory-chain, the path of a certify model (.json or .npz), or that of recorded demos."""
    parameters: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Parameters of a zoo task, such as bits=2 delay=30."""
    options: Annotated[TrainOptions, tyro.conf.arg(name="")] = field(default_factory=TrainOptions)

    def run(self) -> int:
        from diacritic.studies.train import train_with
        from diacritic.training.learner import LEARNERS

        if self.options.learner == "help":
            for item in LEARNERS.values():
                print(f"{item.name:28} {item.note}")
            return 0
        show(train_with(self.options, self._subject()))
        return 0

    def _subject(self) -> str:
        if not is_recording(self.task) and not is_model_file(self.task):
            named_model(self.task, self.parameters)  # refused before anything is loaded
            return " ".join([self.task, *self.parameters])
        if self.parameters:
            own = "a recording brings its own parameters; record another one instead"
            raise UserError(self.parameters[0], own if is_recording(self.task) else "a model file takes no parameters")
        return self.task


def show(runs: "Runs") -> None:
    """One line a run, and how many are sufficient."""
    recorded = isinstance(runs.source, Demos)
    console = Console(width=None if sys.stdout.isatty() else 400 if recorded else 120)
    table = Table(title=runs.title, title_justify="left", box=None)
    names = list(next((item.windows for item in runs.evaluations if item), {})) if recorded else []
    columns = [*names, "peak rate", "required"] if recorded else ["success", "peak rate", "required", "surplus"]
    for head in ("seed", "sufficient", *columns, "run"):
        table.add_column(head, justify="right" if head != "run" else "left")
    for seed, (evaluation, path) in enumerate(zip(runs.evaluations, runs.paths, strict=True)):
        cells = ["—"] * (len(columns) + 1) if evaluation is None else _cells(evaluation, names)
        table.add_row(str(seed), *cells, str(path))
    console.print(table)
    where = f" on {runs[0].manifest.held_out} held-out episodes" if recorded else ""
    console.print(f"{runs.sufficient}/{len(runs)} sufficient{where}; {runs.seconds:.1f} s on {runs.device}{runs.saved}")


def _cells(evaluation: "Evaluation", windows: list[str]) -> list[str]:
    need = [0.0 if bits != bits else bits for bits in evaluation.requirement.tolist()]  # NaN is not itself
    rate = evaluation.rate.tolist()
    numbers: list[float | None] = [max(rate), max(need)]
    if windows:
        scores = evaluation.row()["scores"]
        keys = {name: "S_G" if name.endswith(" decision") else "S_Gamma" for name in windows}
        numbers = [*(scores[name][key] for name, key in keys.items()), *numbers]
    else:
        surplus = sum(bits - least for bits, least in zip(rate, need, strict=True)) / len(need)
        numbers = [evaluation.success, *numbers, surplus]
    said = "yes" if evaluation.sufficient else "no"
    return [said, *("—" if number is None else f"{number:.2f}" for number in numbers)]


COMMANDS = {"train": Train}
