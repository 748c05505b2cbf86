"""`diacritic export` and `diacritic play`: a trained run as a finite machine with a proof, and the machine at work."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from certify.errors import UserError
from certify.progress import working
from diacritic.tasks.named import model_in_one_word, named_model

if TYPE_CHECKING:
    from certify import Model
    from diacritic.rollout.machine_file import RunnableMachine


@dataclass(frozen=True)
class Export:
    """Write a run on a symbolic task as its smallest machine, proved correct on all histories. Beside
    NAME.json it leaves NAME.certificate.json and NAME.model.json, which `python -m certify.check` verifies."""

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of one run of `diacritic train`."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("machine.json")
    """The machine's file."""
    task: str | None = None
    """What the run learned, where it does not say it itself: a model file, or a zoo task with its parameters in one
    word."""
    onnx: bool = False
    """Write one step of the policy as an ONNX file instead; its only memory must be a code."""

    def run(self) -> int:
        from diacritic.measure.runs import export
        from diacritic.rollout.export import Exported

        found = export(self.run_folder, self.out, onnx=self.onnx, task=self.task)
        print("\n".join(found.lines()) if isinstance(found, Exported) else f"{found}: one step of the policy, ONNX")
        return 0


@dataclass(frozen=True)
class Play:
    """Let an exported machine act in a task: its own, or another one with the same symbols, such as a longer one."""

    machine: Annotated[Path, tyro.conf.Positional]
    """A file of `diacritic export`."""
    task: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """A zoo task with KEY=VALUE parameters, or a model file; the machine's own task if none is given."""
    episodes: int = 100
    """Sampled episodes."""
    seed: int = 0
    """Seed of the episodes."""

    def run(self) -> int:
        if self.episodes < 1:
            raise UserError("play", f"--episodes is at least 1, not {self.episodes}")
        from diacritic.rollout.machine_file import RunnableMachine
        from diacritic.rollout.sampled import sample
        from diacritic.rollout.verify import first_error

        machine_file = RunnableMachine.load(self.machine)
        model = named_model(self.task[0], self.task[1:]) if self.task else self._own_model(machine_file)
        tables = machine_file.tables(model)
        with working(f"playing {model.name}"):
            share = sample(tables, model, self.episodes, self.seed).success.mean()
            found = first_error(tables, model)
        print(f"{model.name}: {share:.1%} of {self.episodes} episodes succeed")
        if found is None:
            print("proved: after every history of this task it does what the expert may do")
        else:
            print(f"errs at step {found.t}, after {found.history}: {found.policy}, not {found.expert}")
        return 0

    def _own_model(self, machine_file: "RunnableMachine") -> "Model":
        """The model that was exported with the machine, where it still lies beside it, or the zoo's."""
        from diacritic.rollout.export import beside

        path = beside(self.machine, "model")
        if not path.is_file():
            return model_in_one_word(machine_file.task)
        model = replace(named_model(str(path)), name=machine_file.task)
        if model.digest != machine_file.model_sha256:
            raise UserError(str(path), "is not the model that the machine was exported from; name the task")
        return model
