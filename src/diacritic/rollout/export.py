"""A trained run for other programs: the smallest machine, proved correct on every history, or an ONNX file."""

from dataclasses import dataclass
from pathlib import Path

from certify import Model
from certify.answer import certify
from certify.certificate import certificate_json
from certify.check import check
from certify.errors import UserError
from certify.progress import working
from diacritic.files.atomic import write_text
from diacritic.memory.module import Carrier
from diacritic.memory.saved import SavedRun, load_run
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.machine_file import RunnableMachine, minimal_machine
from diacritic.rollout.trained_machines import machines


@dataclass(frozen=True)
class Exported:
    """What was written, and what is proved of it."""

    path: Path
    certificate: Path
    model: Path
    machine: RunnableMachine
    claims: tuple[str, ...]
    histories: int

    def lines(self) -> list[str]:
        machine = self.machine
        kind = "the minimum at every step" if machine.minimal else "a bracket"
        bits = f"at most {max(machine.bits):.3f} bits"
        proved = "equal to the expert" if machine.equal else "one of the expert's random choices"
        return [
            f"{self.path}: {machine.codes} codes, {bits}, {kind}; {proved} on all {self.histories:,} histories",
            f"{self.certificate}: verified: {'; '.join(self.claims)}",
        ]


def export_machine(run: SavedRun, model: Model, out: Path) -> Exported:
    """Write a run on a symbolic task as its smallest machine, with certificate and model beside it."""
    learned = learned_machine(run, model)
    origin = {"run": run.path.name, "learner": run.manifest.learner, "seed": run.manifest.seed}
    with working("proving the machine correct on every history"):
        machine_file = minimal_machine(learned, model, origin)
        certificate, text = certificate_json(certify(model)), model.to_json()
        claims = check(certificate, text)
    proof, source = beside(out, "certificate"), beside(out, "model")
    write_text(proof, certificate)
    write_text(source, text)
    machine_file.save(out)
    histories = sum(sum(map(int, level.paths)) for level in model.graph.levels)
    return Exported(out, proof, source, machine_file, tuple(claims), histories)


def learned_machine(run: SavedRun, model: Model) -> CodeMachine:
    """The table that a run has learned."""
    return machines({key: value[None] for key, value in run.weights.items()}, run.architecture, model)[0]


def export_onnx(path: Path | str, out: Path | str) -> Path:
    """Write one step of a run's policy as an ONNX file: code, observation, previous action → next code, action."""
    try:
        import onnxscript  # noqa: F401 (what torch needs to write ONNX)
    except ModuleNotFoundError:
        raise UserError("onnxscript", "is not installed; run: pip install onnx onnxscript") from None
    from diacritic.memory.export import export_onnx as write

    run = load_run(Path(path))
    weights = {name: value for name, value in run.weights.items() if not name.startswith("scale.")}
    write(Carrier(run.shape, run.architecture, weights), out)
    return Path(out)


def beside(path: Path, part: str) -> Path:
    """NAME.part.json beside NAME.json."""
    return path.with_name(f"{path.stem}.{part}.json")
