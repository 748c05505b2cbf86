"""`diacritic export` and `diacritic play`: a trained run as a finite machine with a proof, and the machine at work."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from certify.errors import UserError
from certify.progress import working
from diacritic.tasks.named import model_in_one_word, named_model, named_process

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
    forever: bool = False
    """Prove the machine at every horizon instead: the run learned a task such as `forever:counter horizon=12`. One file
    is written (certify-machine/2), which `python -m certify counter --forever --check FILE` proves again."""

    def run(self) -> int:
        from diacritic.measure.runs import export, export_forever
        from diacritic.rollout.export import Exported

        if self.forever:
            machine, verdict = export_forever(self.run_folder, self.out, self.task)
            print(f"{self.out}: {machine.codes} codes, {verdict.text}")
            return 0
        exported = export(self.run_folder, self.out, onnx=self.onnx, task=self.task)
        print(
            "\n".join(exported.lines())
            if isinstance(exported, Exported)
            else f"{exported}: one step of the policy, ONNX"
        )
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
    forever: bool = False
    """Prove instead that it is right at every horizon of a task such as `forever:counter`, or say where it errs."""

    def run(self) -> int:
        if self.forever:
            return self._prove()
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
            error = first_error(tables, model)
        print(f"{model.name}: {share:.1%} of {self.episodes} episodes succeed")
        if error is None:
            print("proved: after every history of this task it does what the expert may do")
        else:
            print(f"errs at step {error.t}, after {error.history}: {error.policy}, not {error.expert}")
        return 0

    def _prove(self) -> int:
        """0 if the machine in the file is right after every history, 1 with a shortest one after which it errs."""
        from certify.stationary.machine import right_for_ever
        from diacritic.rollout.forever import machine_of_file
        from diacritic.rollout.machine_file import RunnableMachine

        machine_file = RunnableMachine.load(self.machine)
        words = list(self.task) or machine_file.task.split()
        verdict = right_for_ever(machine_of_file(machine_file), named_process(words[0], words[1:]))
        print(f"{self.machine}: {verdict.text}")
        return 0 if verdict.right else 1

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


COMMANDS = {"export": Export, "play": Play}
