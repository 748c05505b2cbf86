"""The verdicts on saved runs, whatever they learned from: sufficient? surplus? carried by the code alone?"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from certify import Answer, Model
from certify.check import LimitReached, Malformed, Rejected, check
from certify.core.requirement import Requirement
from certify.errors import UserError
from certify.progress import working
from certify.stationary.machine import StationaryMachine, right_for_ever
from certify.stationary.machine import Verdict as Proof
from diacritic.demos.readers import is_recording, load
from diacritic.files.atomic import write_text
from diacritic.files.demos import Demos
from diacritic.files.run import RunManifest, RunsLike, read_manifest, read_model, run_paths
from diacritic.measure.probe import saved_probe
from diacritic.measure.recorded_run import Effort, examine_recorded
from diacritic.measure.symbolic_run import examine_symbolic
from diacritic.measure.verdict import Subject, Verdict
from diacritic.memory.saved import load_run
from diacritic.rollout.export import Exported, export_machine, export_onnx, learned_machine
from diacritic.rollout.forever import proved, stationary_machine
from diacritic.rollout.run_loading import groups
from diacritic.tasks.named import model_in_one_word, named_process

Judged = list[tuple[Path, Verdict]]


@dataclass(frozen=True)
class Verdicts(Sequence[Verdict]):
    """The verdict on each run; printed, one line a run and how many are sufficient."""

    judged: tuple[tuple[Path, Verdict], ...]

    @overload
    def __getitem__(self, k: int) -> Verdict: ...
    @overload
    def __getitem__(self, k: slice) -> list[Verdict]: ...
    def __getitem__(self, k: int | slice) -> Verdict | list[Verdict]:
        return [verdict for _, verdict in self.judged][k]

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def sufficient(self) -> int:
        """How many runs are sufficient."""
        return sum(verdict.sufficient.answer == "yes" for verdict in self)

    def __str__(self) -> str:
        import io

        from rich.console import Console

        from diacritic.measure.report import summary

        text = io.StringIO()
        summary(self, Console(file=text, width=200, force_jupyter=False))
        return text.getvalue().rstrip()

    def save(self, figure: bool = True) -> None:
        """`verdict.json` beside every run, and its staircase with the other seeds of its learner behind it."""
        for path, verdict in self.judged:
            verdict.save(path)
            if figure:
                from diacritic.measure.figure import FILE, draw

                alike = [other for _, other in self.judged if _kind(other) == _kind(verdict) and other is not verdict]
                draw(verdict, path / FILE, alike)


def measure(
    runs: RunsLike,
    need: Answer | None = None,
    *,
    task: Demos | Model | str | None = None,
    fresh: Demos | None = None,
    certificate: Path | None = None,
    effort: Effort = Effort(),  # noqa: B008 (frozen)
) -> Verdicts:
    """Judge runs: exactly where they learned a finite model, on episodes that they did not learn from otherwise.

    `need` is what `requirement` proved of the same task. `task` is what the runs learned, where they do not say it
    themselves: a model, a recording, or the name of one; runs that `train` gave back bring it along. On `fresh`, an
    independent recording, every verdict is asked for again.
    """
    task = getattr(runs, "source", None) if task is None else task
    manifests = {path: read_manifest(path) for path in run_paths(runs)}
    symbolic = {path: manifest for path, manifest in manifests.items() if manifest.kind == "symbolic"}
    recorded = [path for path in manifests if path not in symbolic]
    judged: Judged = []
    for group in (*_symbolic(symbolic, need, task, certificate), *_recorded(recorded, need, task, fresh, effort)):
        judged += sorted(group, key=lambda pair: pair[1].subject.seed)
    return Verdicts(tuple(judged))


def run_model(path: Path, manifest: RunManifest, task: Model | str | None = None) -> Model:
    """The model that a run learned: the one given, the one beside its weights, or the zoo's."""
    if isinstance(task, Model):
        model = task
    else:
        model = (None if task else read_model(path, manifest)) or model_in_one_word(task or manifest.task)
    if manifest.model_sha256 not in (None, model.digest):
        raise UserError(str(path), f"learned another model than {model.name!r}; give it with --task")
    return model


def _symbolic(
    manifests: Mapping[Path, RunManifest],
    need: Answer | None,
    task: Demos | Model | str | None,
    certificate: Path | None,
) -> Iterator[Judged]:
    """Runs on symbolic tasks, those of one task and learner together."""
    requirements: dict[str, Requirement] = {}
    judged: dict[tuple[str, str], Judged] = {}
    for path, manifest in manifests.items():
        name = manifest.model_sha256 or manifest.task
        if name not in requirements:
            model = run_model(path, manifest, None if isinstance(task, Demos) else task)
            with working(f"certifying {model.name}"):
                requirements[name] = _requirement(model, need, certificate)
        requirement, run = requirements[name], load_run(path)
        title = requirement.model.name or manifest.task
        subject = Subject(path.name, title, manifest.learner, manifest.seed, "codes on every history, exact weights")
        with working(f"examining {path.name}"):
            verdict = examine_symbolic(subject, requirement, run.shape, run.architecture, run.weights)
        judged.setdefault((name, manifest.learner), []).append((path, verdict))
    yield from judged.values()


def _requirement(model: Model, need: Answer | None, certificate: Path | None) -> Requirement:
    if certificate is not None:
        return certified_requirement(certificate, model)
    if need is None:
        return Requirement.of(model)
    if need.model.digest != model.digest:
        raise UserError("need", f"is the requirement of another task than {model.name!r}; give the one of the runs")
    return Requirement.stated(need.model, [step.rate for step in need.steps])


def _recorded(
    paths: Sequence[Path],
    need: Answer | None,
    task: Demos | Model | str | None,
    fresh: Demos | None,
    effort: Effort,
) -> Iterator[Judged]:
    """Runs on recordings, those that can play together together."""
    if not paths:
        return
    probe = None
    if isinstance(task, str) and is_recording(task):
        name, task = task, load(task)
        probe = saved_probe(Path(name), task.digest)
    if not isinstance(task, Demos):
        raise UserError(str(paths[0]), "learned from a recording; give its path with --task")
    if need is not None and need.model.horizon != task.steps:
        said = f"has {need.model.horizon} steps, but the recording {task.steps}"
        raise UserError("need", f"{said}; give the requirement of the recording")
    for group in groups(paths, task):
        with working(f"examining {len(group.runs)} runs of {group.task.name}"):
            verdicts = examine_recorded(group, task, effort, probe, fresh)
        yield [(run.path, verdict) for run, verdict in zip(group.runs, verdicts, strict=True)]


def _kind(verdict: Verdict) -> tuple[str, str]:
    return verdict.subject.task, verdict.subject.learner


def certified_requirement(path: Path, model: Model) -> Requirement:
    """~_t of the model and R_t of its certificate; a certificate of another model, or a false one, is refused."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        raise UserError(str(path), f"cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    try:
        check(text, model.to_json())
    except (Rejected, Malformed, LimitReached) as problem:
        remedy = "write one with `python -m certify TASK --certificate FILE`"
        raise UserError(
            str(path), f"is not a certificate of {model.name or 'this model'}: {problem}; {remedy}"
        ) from None
    rates = [step.get("rate") for step in json.loads(text)["steps"]]
    bits = [None if ends is None else max(0.0, sum(map(float, ends)) / 2) for ends in rates]
    return Requirement.stated(model, bits)


def export(
    run: RunsLike, out: Path | str = "machine.json", *, onnx: bool = False, task: Model | str | None = None
) -> Exported | Path:
    """Write one run for other programs.

    A run on a finite model becomes its smallest machine, proved correct on every history, with a certificate; with
    `onnx`, any run whose only memory is a code becomes one step of its policy as an ONNX file.
    """
    path = _only(run)
    if onnx:
        return export_onnx(path, out)
    saved = load_run(path)
    if saved.manifest.kind != "symbolic":
        raise UserError(str(path), "is not a run on a symbolic task; only those are finite machines (try onnx)")
    return export_machine(saved, run_model(path, saved.manifest, task), Path(out))


def export_forever(
    run: RunsLike, out: Path | str = "machine.json", task: str | None = None
) -> tuple[StationaryMachine, Proof]:
    """Write one run as a machine that is proved at every horizon of its task, `forever:…`, with few codes.

    The learned table is proved, not only its behaviour in training; refused, with the history, where it ever errs.
    """
    saved = load_run(_only(run))
    name, *parameters = (task or saved.manifest.task).split()
    process = named_process(name, parameters)
    model = run_model(saved.path, saved.manifest, task)
    machine = proved(stationary_machine(learned_machine(saved, model), model.graph), process)
    write_text(Path(out), machine.to_json())
    return machine, right_for_ever(machine, process)


def _only(run: RunsLike) -> Path:
    paths = run_paths(run)
    if len(paths) != 1:
        raise UserError(str(paths[0].parent), f"holds {len(paths)} runs; give one of them")
    return paths[0]
