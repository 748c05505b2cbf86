"""`diacritic export` and `diacritic play`: a trained run as a finite machine with a proof, and the machine at work."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from certify.errors import UserError
from certify.progress import working
from diacritic.commands.parameters import remedies
from diacritic.tasks.named import model_in_one_word, named_model

if TYPE_CHECKING:
    from certify import Model
    from diacritic.files.run import RunManifest
    from diacritic.rollout.machine_file import Kept


@dataclass(frozen=True)
class Export:
    """Write a run on a symbolic task as its smallest machine, proved right on all histories. Beside
    NAME.json it leaves NAME.certificate.json and NAME.model.json, which `python -m certify.check` verifies."""

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of one run of `diacritic train`."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("machine.json")
    """The machine's file."""
    task: str | None = None
    """What the run learned, where it does not say it itself: a model file, or a zoo task with its parameters in one
    word."""

    def run(self) -> int:
        with remedies():
            from certify.answer import certify
            from certify.certificate import certificate_json
            from certify.check import check
            from diacritic.files.atomic import write_text
            from diacritic.memory.saved import load_run
            from diacritic.rollout.machine_file import keep
            from diacritic.rollout.trained_machines import machines

            run = load_run(self.run_folder)
            if run.manifest.kind != "symbolic":
                raise UserError(str(self.run_folder), "is not a run on a symbolic task; only those are finite machines")
            model = run_model(self.run_folder, run.manifest, self.task)
            learned = machines({key: value[None] for key, value in run.weights.items()}, run.architecture, model)[0]
            origin = {"run": self.run_folder.name, "learner": run.manifest.learner, "seed": run.manifest.seed}
            with working("proving the machine right on every history"):
                kept = keep(learned, model, origin)
                certificate, text = certificate_json(certify(model)), model.to_json()
                claims = check(certificate, text)
            for path, content in ((_beside(self.out, "certificate"), certificate), (_beside(self.out, "model"), text)):
                write_text(path, content)
            kept.save(self.out)
        histories = sum(sum(map(int, level.paths)) for level in model.graph.levels)
        bits = f"at most {max(kept.bits):.3f} bits, " + ("the minimum at every step" if kept.minimal else "a bracket")
        proved = "equal to the expert" if kept.equal else "one of the expert's random choices"
        print(f"{self.out}: {kept.codes} codes, {bits}; {proved} on all {histories:,} histories")
        print(f"{_beside(self.out, 'certificate')}: verified: {'; '.join(claims)}")
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
        with remedies():
            from diacritic.rollout.machine_file import Kept
            from diacritic.rollout.sampled import sample
            from diacritic.rollout.verify import first_error

            kept = Kept.load(self.machine)
            model = named_model(self.task[0], self.task[1:]) if self.task else self._own_model(kept)
            tables = kept.tables(model)
            with working(f"playing {model.name}"):
                share = sample(tables, model, self.episodes, self.seed).success.mean()
                found = first_error(tables, model)
        print(f"{model.name}: {share:.1%} of {self.episodes} episodes succeed")
        if found is None:
            print("proved: after every history of this task it does what the expert may do")
        else:
            print(f"errs at step {found.t}, after {found.history}: {found.policy}, not {found.expert}")
        return 0

    def _own_model(self, kept: "Kept") -> "Model":
        """The model that was exported with the machine, where it still lies beside it, or the zoo's."""
        path = _beside(self.machine, "model")
        if not path.is_file():
            return model_in_one_word(kept.task)
        model = replace(named_model(str(path)), name=kept.task)
        if model.digest != kept.model_sha256:
            raise UserError(str(path), "is not the model that the machine was exported from; name the task")
        return model


def run_model(path: Path, manifest: "RunManifest", task: str | None) -> "Model":
    """The model that a run learned: the one given, the one beside its weights, or the zoo's."""
    from diacritic.files.run import read_model

    model = (None if task else read_model(path, manifest)) or model_in_one_word(task or manifest.task)
    if manifest.model_sha256 not in (None, model.digest):
        raise UserError(str(path), f"learned another model than {model.name!r}; give it with --task")
    return model


def _beside(path: Path, part: str) -> Path:
    return path.with_name(f"{path.stem}.{part}.json")
