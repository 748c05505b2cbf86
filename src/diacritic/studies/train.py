"""Training from start to end: certify, supervise, train, judge and save many seeds of one learner."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import torch

from certify import Model, certify
from certify.core.requirement import Requirement
from certify.errors import UserError
from certify.progress import working
from diacritic.demos.binner import Binner
from diacritic.demos.drawn import Drawn, record
from diacritic.demos.readers import is_recording, load
from diacritic.files.demos import Demos
from diacritic.files.run import BINNER, MODEL, CodedEpisodes
from diacritic.measure.evaluate import Evaluation, evaluate_codes, evaluate_symbolic
from diacritic.measure.gates import task_gate
from diacritic.measure.plugin import joint
from diacritic.measure.recorded import Classes, until_the_end
from diacritic.measure.trace import sufficient, symbolic_traces
from diacritic.memory.certified_codes import certified_labels
from diacritic.memory.kinds import memory_of
from diacritic.memory.saved import SavedRun, load_run
from diacritic.memory.shape import Architecture
from diacritic.studies.recordings import recording_facts
from diacritic.studies.symbolic import finished
from diacritic.tasks.named import is_model_file, model_in_one_word
from diacritic.tasks.protocol import Task
from diacritic.tasks.recorded import ended
from diacritic.tasks.registry import find, is_simulated, task_of
from diacritic.training.certified import train_certified
from diacritic.training.checkpoint import fingerprint
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.compress_recorded import forgotten
from diacritic.training.demonstrations import fitted, held_out_codes, prepare
from diacritic.training.learner import learner
from diacritic.training.options import TrainOptions
from diacritic.training.preset import preset
from diacritic.training.runs import save_runs, stacked_runs
from diacritic.training.supervision import supervise
from diacritic.training.symbolic import from_model
from diacritic.training.train import train as train_cohort

DEMONSTRATIONS, BATCH = 448, 512


@dataclass(frozen=True)
class Runs(Sequence[SavedRun]):
    """The runs of one training, in the order of their seeds; weights are read when a run is asked for."""

    title: str
    source: Model | Demos
    """What they learned from."""
    paths: tuple[Path, ...]
    evaluations: tuple[Evaluation | None, ...]
    """Of each run while the expert acts; none where its memory is not a code that can be judged so."""
    seconds: float
    device: str
    saved: str = ""
    """What stopping early saved, in words."""

    @overload
    def __getitem__(self, k: int) -> SavedRun: ...
    @overload
    def __getitem__(self, k: slice) -> list[SavedRun]: ...
    def __getitem__(self, k: int | slice) -> SavedRun | list[SavedRun]:
        return [load_run(path) for path in self.paths[k]] if isinstance(k, slice) else load_run(self.paths[k])

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def sufficient(self) -> int:
        """How many runs are sufficient."""
        return sum(bool(item and item.sufficient) for item in self.evaluations)

    def __str__(self) -> str:
        return (
            f"{self.title}: {self.sufficient}/{len(self)} sufficient; {self.seconds:.1f} s on {self.device}{self.saved}"
        )


def train(
    subject: Demos | Drawn | Model | Task | str,
    learner: str = "auto",
    preset: str = "carousel",
    seeds: int = 8,
    steps: int = 6000,
    *,
    until: Literal["end", "sufficient"] = "end",
    codes: int = 16,
    beta: float = 1e-3,
    demonstrations: int | None = None,
    device: str = "auto",
    out: Path | str = "runs",
    warm_start: Sequence[Path | str] = (),
    tensorboard: Path | str | None = None,
) -> Runs:
    """Train many seeds of one learner at once, judge them, and save each as a folder in `out`.

    `subject` is a recording, a finite model, a task (which is recorded first), or the name or path of one. Of a finite
    model every episode counts with its exact probability, unless so many `demonstrations` are drawn. Of a recording the
    first `demonstrations` episodes are learned from (448, or two thirds of a small one), and the others judge. With
    `until="sufficient"` training stops once every seed is sufficient and stays so.
    """
    paths = Path(out), tuple(map(Path, warm_start)), None if tensorboard is None else Path(tensorboard)
    return train_with(
        TrainOptions(learner, preset, seeds, steps, until, codes, beta, demonstrations, device, *paths), subject
    )


def train_with(options: TrainOptions, subject: Demos | Drawn | Model | Task | str) -> Runs:
    """The same with settings in one object."""
    options.check()
    keep_model = not isinstance(subject, str) or is_model_file(subject)
    resolved = _subject(subject)
    if isinstance(resolved, Drawn):
        options = replace(options, demonstrations=options.demonstrations or resolved.episodes)
        resolved = resolved.model
    if options.learner == "auto":
        revised = isinstance(resolved, Model) and options.preset == "carousel"
        options = replace(options, learner="plain+revision" if revised else "plain")
    if options.steps == 0 and not learner(options.learner).split:
        raise UserError("--steps", f"0 of them leave {options.learner} as it starts; give at least 1")
    if isinstance(resolved, Model):
        return _train_model(options, resolved, keep_model)
    return _train_recording(options, resolved)


def _subject(subject: Demos | Drawn | Model | Task | str) -> Demos | Drawn | Model:
    if isinstance(subject, str):
        if is_recording(subject):
            return load(subject)
        subject = find(subject) if is_simulated(subject) else model_in_one_word(subject)
    if isinstance(subject, Demos | Drawn | Model):
        return subject
    return record(subject)


def chosen_device(name: str) -> str:
    """The device, `auto` settled."""
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def _warn_below(codes: int, bound: int) -> None:
    """Say before training that no run can pass."""
    if codes < bound:
        said = f"--codes {codes} is below the certified bound of {bound} codes for this task"
        print(f"warning: {said}; no run can be sufficient", file=sys.stderr)


def _plan(options: TrainOptions, decisions: int = 0, batch: int | None = None) -> Plan:
    """Everything that decides the outcome, except the data."""
    chosen = learner(options.learner)
    return Plan(
        fitted(chosen, decisions) if decisions else chosen,
        preset(options.preset),
        tuple(Run(seed, options.beta) for seed in range(options.seeds)),
        options.steps,
        Architecture(codes=options.codes),
        batch,
        warm_start=tuple(path.name for path in options.warm_start),
        until_sufficient=options.until == "sufficient",
    )


def _train_model(options: TrainOptions, model: Model, keep_model: bool) -> Runs:
    """On a finite model, judged exactly."""
    if model.horizon < 2:
        raise UserError("task", "has one step, so that nothing can be remembered; give a model with two steps or more")
    plan = _plan(options, batch=preset(options.preset).symbolic_batch)
    with working("certifying the task"):
        requirement = Requirement.of(model)
        _warn_below(options.codes, certify(model, seconds=10).codes_needed)
    data = from_model(model, options.demonstrations)
    device, begun = chosen_device(options.device), time.perf_counter()
    if plan.learner.certified:
        cohort, _ = train_certified(plan, data, certified_labels(model, requirement), device)
    else:
        begin = stacked_runs(options.warm_start, plan, data) if options.warm_start else None
        finite = memory_of(plan.carrier).finite(plan.carrier)
        judge = (lambda now: sufficient(now, model, requirement, "external")) if finite else None
        folder = options.out / f"cohort-{fingerprint(plan, data)[:12]}"
        cohort = train_cohort(plan, data, device, folder, judge, tensorboard=options.tensorboard, parameters=begin)
    saved = _saved(cohort, time.perf_counter() - begun)
    cohort = finished(cohort)
    judged = [evaluate_symbolic(trace, requirement) for trace in symbolic_traces(cohort, model)]
    which = "all" if options.demonstrations is None else "training"
    common = {
        "kind": "symbolic",
        "task": model.name,
        "model_sha256": model.digest,
        "N": options.demonstrations,
        "episodes": CodedEpisodes(which, ((0, data.episodes),)),
    }
    texts = {MODEL: model.to_json()} if keep_model else None
    paths = save_runs(cohort, options.out, [common | _facts(item) for item in judged], texts=texts)
    title = f"{model.name}: {options.learner}, {options.preset}"
    return Runs(title, model, tuple(paths), tuple(judged), time.perf_counter() - begun, device, saved)


def _train_recording(options: TrainOptions, demos: Demos) -> Runs:
    """On a recording, judged on the episodes that were not learned from."""
    task, closed = task_of(demos), ended(demos)
    usual = DEMONSTRATIONS if demos.episodes > DEMONSTRATIONS else max(1, 2 * demos.episodes // 3)
    learned, held_out = closed.split(options.demonstrations or usual)
    whole = Classes.of(closed.symbols, closed.choices)
    _warn_below(options.codes, fewest_codes(whole))
    classes = whole.take(slice(learned.episodes, None))  # classes as the whole recording certifies them
    prepared = prepare(learned, held_out, task)
    plan, device = _plan(options, len(task.decisions), BATCH), chosen_device(options.device)
    data = supervise(prepared.data, plan.learner, range(options.seeds), device, folder=options.out, how=plan.preset)
    folder = options.out / f"cohort-{fingerprint(plan, data)[:12]}"
    begun = time.perf_counter()
    by_code = memory_of(plan.carrier).measured in ("code", "readout")
    windows = {name: tuple(steps) for name, steps in task.windows.items()}
    windows |= {f"{name} decision": (t,) for name, t in task.decisions.items()}

    def evaluations(cohort: Cohort) -> list[Evaluation]:
        codes = until_the_end(held_out_codes(cohort, prepared.held_out), held_out.mask)
        return evaluate_codes(codes, classes, task_gate(task), windows)

    def judge(cohort: Cohort) -> list[bool]:
        return [item.sufficient for item in evaluations(cohort)]

    cohort = train_cohort(plan, data, device, folder, judge if by_code else None, tensorboard=options.tensorboard)
    saved = _saved(cohort, time.perf_counter() - begun)
    if plan.learner.forget:
        cohort = forgotten(cohort).cohort
    judged = evaluations(cohort) if by_code else [None] * options.seeds
    common = recording_facts(demos, learned.episodes)
    texts = {BINNER: Binner.fit(demos.convention, demos.observations, demos.latents).to_json()}
    paths = save_runs(cohort, options.out, [common | _facts(item) for item in judged], prepared.scale, texts)
    title, seconds = f"{demos.task}: {options.learner}, {options.preset}", time.perf_counter() - begun
    return Runs(title, demos, tuple(paths), tuple(judged), seconds, device, saved)


def _saved(cohort: Cohort, seconds: float) -> str:
    """How much earlier than planned a cohort stopped, and about how long the rest would have taken."""
    done, planned = cohort.step, cohort.plan.steps
    if not cohort.plan.until_sufficient or not 0 < done < planned:
        return ""
    return f"; stopped after {done:,} of {planned:,} updates, about {seconds * (planned / done - 1):.1f} s saved"


def _facts(evaluation: Evaluation | None) -> dict[str, Any]:
    """What the manifest of a run says of its evaluation."""
    if evaluation is None:
        return {}
    row = evaluation.row()
    facts = {name: row[name] for name in ("sufficient", "failures", "success", "scores")}
    required = [None if np.isnan(bits) else bits for bits in evaluation.requirement.tolist()]
    return facts | {"rate": evaluation.rate.tolist(), "requirement": required}


def fewest_codes(classes: Classes) -> int:
    """A code must distinguish the classes Γ_t that share a symbol Ō_t."""
    most = 1
    for memory, seen in zip(classes.memory, classes.symbols, strict=True):
        _, first = np.unique(joint(memory, seen), return_index=True)
        most = max(most, int(np.unique(seen[first], return_counts=True)[1].max()))
    return most
