"""Saved runs on a recorded task: held-out codes, estimator controls, and the probes in closed loop."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certify.errors import UserError
from diacritic.demos.leaks import failures
from diacritic.files.demos import Demos
from diacritic.measure.body import body_memory, pending, previous_actions
from diacritic.measure.evaluate import Evaluation, evaluation_of
from diacritic.measure.flags import CORRECT, LOW_RATE, RULES, Evidence
from diacritic.measure.gates import THRESHOLD, Gate, full, kept, task_gate
from diacritic.measure.interventions_closed_loop import attribute_closed_loop
from diacritic.measure.interventions_recorded import recorded_interventions
from diacritic.measure.own_occupancy import own_classes
from diacritic.measure.rate_controls import rate_controls
from diacritic.measure.recorded import Classes, CohortScores, score_cohort
from diacritic.measure.symbolic_run import construction, thresholds
from diacritic.measure.trace import RecordedTrace, teacher_forced
from diacritic.measure.verdict import Control, Profile, Subject, Verdict, intervention_controls, judge, same_verdict
from diacritic.measure.windows import task_windows
from diacritic.memory.kinds import is_sole_carrier, memory_of
from diacritic.rollout.closed_loop import Rollouts, play
from diacritic.rollout.run_loading import Group, StoredRun
from diacritic.tasks.protocol import Task
from diacritic.tasks.recorded import RecordedTask, ended


@dataclass(frozen=True)
class Effort:
    """How much of the closed loop is played; 0 episodes leave its probes out."""

    episodes: int = 128
    interventions: int = 16
    seed: int = 0
    threads: int = 0


@dataclass(frozen=True)
class _Judged:
    """A run on the judged episodes while the expert acts."""

    trace: RecordedTrace
    classes: Classes
    scores: CohortScores
    errors: Mapping[str, float]
    """Share of wrong classes at each decision."""


def examine_recorded(
    group: Group,
    demos: Demos,
    effort: Effort = Effort(),  # noqa: B008 (frozen)
    probe: Mapping[str, Any] | None = None,
    fresh: Demos | None = None,
) -> list[Verdict]:
    """The verdict on every run of a group, from the recording that it was trained on or an independent one.

    `probe` is what `diacritic probe` found in the recording; without it the acceptance checks decide. On `fresh`,
    an independent recording, every verdict is asked for again. Where no task made the recording, the closed loop is
    left out.
    """
    _same_task(group, demos, "--task")
    if isinstance(group.task, RecordedTask):  # nothing can be played
        effort = replace(effort, episodes=0, interventions=0)
    again = None if fresh is None else _fresh(group, demos, fresh)
    first = [learned_from(run, demos) for run in group.runs]
    demos = ended(demos)
    whole = Classes.of(demos.symbols, demos.choices)
    own = None
    if effort.episodes:
        own = play(group.task, group.policies(), effort.episodes, effort.seed, group.binner, effort.threads)
    leaks = _recorded_leaks(demos) if probe is None else _probed_leaks(probe)
    verdicts = []
    for k, run in enumerate(group.runs):
        held = demos.take(slice(first[k], None))
        judged = _judged(run, held, whole.take(slice(first[k], None)))
        more = [leaks] if own is None else [leaks, *_own(group, k, own, judged, demos, whole)]
        if again is not None:
            more.append(_replicated(run, judged, *again))
        if effort.interventions and memory_of(run.architecture).state == "carrier":
            how = effort.interventions, effort.seed, effort.threads
            attribution = attribute_closed_loop(run.task, run.policies(), group.binner, *how)
            more += intervention_controls(attribution, "closed loop")
        verdicts.append(_examine(run, judged, more, f"{held.episodes} {'held-out' if first[k] else 'fresh'} episodes"))
    return verdicts


def _examine(run: StoredRun, judged: _Judged, more: list[Control], episodes: str) -> Verdict:
    task, demos, classes, windows = run.task, judged.trace.demos, judged.classes, task_windows(run.task)
    reported = windows.reported(classes.required)
    # where the code is a mere readout, behaviour alone can suffice
    reads_out = not memory_of(run.architecture).finite(run.architecture)
    gate = task_gate(task)
    evaluation = evaluation_of(judged.scores, 0, gate, reported, judged.errors if reads_out else None)
    controls = [
        *_sufficiency(evaluation, judged, task),
        *rate_controls(judged.trace.codes[0], classes, demos, task, reported),
        construction(run.architecture),
        *recorded_interventions(run, demos, classes.action, list(task.decisions.values())),
        *more,
    ]
    occupancy = f"codes on {episodes}, expert occupancy"
    seed = run.manifest.seed
    subject = Subject(run.path.name, task.title, run.manifest.learner, seed, occupancy)
    profile = Profile(evaluation.rate.tolist(), list(classes.required), list(classes.decision), windows.memory)
    return judge(subject, evaluation.judgement, profile, controls, is_sole_carrier(run.architecture))


def learned_from(run: StoredRun, demos: Demos) -> int:
    """From how many episodes of a recording a run learned, the first ones; from none of an independent recording."""
    return (run.manifest.N or 0) if run.manifest.demos_sha256 == demos.digest else 0


def _same_task(group: Group, demos: Demos, option: str) -> None:
    task = group.task
    if (demos.task, dict(demos.parameters), demos.task_version) != (task.name, task.parameters, task.version):
        said = f"is a recording of {demos.task} {dict(demos.parameters)}"
        raise UserError(option, f"{said}, but the runs learned {task.name} {task.parameters}; give that recording")


def _judged(run: StoredRun, demos: Demos, classes: Classes) -> _Judged:
    trace = teacher_forced(run.policies(), demos, run.task)
    errors = {name: float(error[0]) for name, error in trace.decision_errors(run.task).items()}
    return _Judged(trace, classes, score_cohort(trace.codes, classes, run.architecture.codes), errors)


def _sufficiency(evaluation: Evaluation, judged: _Judged, task: Task) -> list[Control]:
    scores, errors = judged.scores, judged.errors
    both = np.where(np.isnan(scores.corrected_sufficiency[0]), scores.sufficiency[0], scores.corrected_sufficiency[0])
    bias = float(np.nan_to_num(np.abs(both - scores.sufficiency[0])).max())
    rates = float((scores.corrected_rate[0] - scores.rate[0]).max())
    judgement = evaluation.judge(THRESHOLD)
    parts = ", ".join(f"{name} {'—' if s is None else format(s, '.3f')}" for name, s in judgement.parts.items())
    corrected = task_gate(task).judge(both, scores.instantaneous[0])
    controls = [
        Control("sufficiency", "gate", judgement.passed, parts, judgement.parts),
        thresholds(evaluation),
        Control(
            "sufficiency",
            "Miller–Madow",
            corrected.passed == judgement.passed,
            f"corrected scores move by at most {bias:.3f}, rates by {rates:.3f} bit",
        ),
    ]
    said = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
    right = all(error < CORRECT for error in errors.values())
    controls.append(Control("sufficiency", "decision errors", right, f"share of wrong classes: {said}", dict(errors)))
    # the flags are defined where the second gap requires a bit
    second = list(task.windows)[1:2]
    if errors and second and scores.required[list(task.windows[second[0]])].mean() > LOW_RATE:
        last = max(task.decisions, key=lambda name: task.decisions[name])
        controls.append(_flags(errors[last], scores, task, second[0]))
    return controls


def _flags(error: float, scores: CohortScores, task: Task, window: str) -> Control:
    """The audit: decided correctly, with a memory that looks too small for it."""
    windows = task_windows(task)
    rate = float(scores.rate[0, list(task.windows[window])].mean())
    passes = [
        bool(g.passes(scores.sufficiency, scores.instantaneous)[0]) for g in (full(windows), kept(windows, window))
    ]
    raised = Evidence(error, rate, *passes).flags
    said = "; ".join(f"flag {name}, an alarm and no proof: {RULES[name]}" for name in raised) or "no flag is raised"
    return Control("sufficiency", "audit flags", not raised, said, list(raised))


def _own(group: Group, k: int, own: Rollouts, judged: _Judged, demos: Demos, whole: Classes) -> list[Control]:
    """What is seen while the policy acts itself."""
    task = group.task
    success = float(own.success[k].mean())
    text = f"success {success:.2f} in {own.success.shape[1]} episodes"
    controls = [Control("sufficiency", "closed loop", None, text, success)]
    controls.append(_own_gate(own, k, judged, task_gate(task), demos, whole))
    positions = own.observations[k][..., list(group.binner.convention.position_columns)]
    assert own.symbols is not None  # a stored run brings its binner
    for window, names in pending(task).items():
        for name in names:
            body = body_memory(positions, own.choices[name], task.windows[window], name, window, own.symbols[k])
            title = f"body memory, {name} in {window}"
            controls.append(Control("attribution", title, not body.detected, body.line(), body.to_dict()))
    cells = previous_actions(own.executed[k], own.choices, task.windows, pending(task))
    bad = failures(cells)
    worst = max(cells, key=lambda cell: cell.accuracy - cell.chance, default=None)
    said = "nothing is pending in any gap"
    if worst is not None:
        odds = f"chance {worst.chance:.2f}, Holm p {worst.adjusted:.2g}"
        said = f"at best {worst.accuracy:.2f} for {worst.variable} in {worst.phase} ({odds})"
    controls.append(Control("attribution", "previous actions", not bad, said, [cell.to_dict() for cell in cells]))
    return controls


def _own_gate(own: Rollouts, k: int, judged: _Judged, gate: Gate, demos: Demos, whole: Classes) -> Control:
    """Whether the same gate says the same of the histories that the policy itself brings about."""
    strata = list(demos.convention.strata)
    assert own.symbols is not None
    try:
        classes = own_classes(whole, demos.latents, own.symbols[k], {**own.latents, **own.choices}, strata)
    except UserError as problem:
        return Control("sufficiency", "own occupancy", None, str(problem))
    scores = score_cohort(own.codes[k : k + 1], classes)
    both = [bool(gate.passes(scored.sufficiency, scored.instantaneous)[0]) for scored in (judged.scores, scores)]
    return same_verdict("own occupancy", both, "under own occupancy")


def _fresh(group: Group, demos: Demos, fresh: Demos) -> tuple[Demos, Classes]:
    """An independent recording with its own classes."""
    _same_task(group, fresh, "--fresh")
    if fresh.digest == demos.digest:
        raise UserError("--fresh", "is the recording of --task itself; record another one with another seed")
    fresh = ended(fresh)
    return fresh, Classes.of(fresh.symbols, fresh.choices)


def _replicated(run: StoredRun, judged: _Judged, fresh: Demos, classes: Classes) -> Control:
    """Whether the same gate says the same of episodes that were recorded again."""
    again = _judged(run, fresh, classes)
    windows = task_windows(run.task).reported(judged.classes.required)
    gate, scores = task_gate(run.task), (judged.scores, again.scores)
    both = [bool(gate.passes(one.sufficiency, one.instantaneous)[0]) for one in scores]
    first, second = (float(gate.least(one.sufficiency, one.instantaneous)[0]) for one in scores)
    change = again.scores.rate[0] - judged.scores.rate[0]
    moved = max(abs(float(change[list(steps)].mean())) for steps in windows.values())
    said = f"least score moves by {abs(second - first):.3f}, rates by at most {moved:.3f} bit"
    return same_verdict("fresh recording", both, f"on {fresh.episodes} fresh episodes", said)


def _recorded_leaks(demos: Demos) -> Control:
    """What the acceptance checks of the recording found."""
    checks = (demos.acceptance or {}).get("checks", {})
    recorded = [checks[name] for name in ("leaks", "pixel leaks") if name in checks]
    if not recorded:
        return Control("attribution", "raw observations", None, "not probed; run `diacritic probe` on the recording")
    passed = all(check["passed"] for check in recorded)
    first = recorded[0]["text"].splitlines()[0]
    return Control("attribution", "raw observations", passed, f"leak probes of the recording: {first}")


def _probed_leaks(probe: Mapping[str, Any]) -> Control:
    """What `diacritic probe` found: every hidden variable that some probe tells."""
    best: dict[str, tuple[float, float]] = {}  # accuracy and chance; several classifiers were asked the same
    for name, table in probe["probes"].items():
        for cell in table["cells"]:
            if cell["status"] == "hidden" and not cell["passed"]:
                what = f"{cell['variable']} in {cell['phase']} from {name}"
                best[what] = max(best.get(what, (0.0, 0.0)), (cell["accuracy"], cell["chance"]))
    told = [f"{what} ({accuracy:.2f}, chance {chance:.2f})" for what, (accuracy, chance) in best.items()]
    said = f"told: {'; '.join(told)}" if told else f"{', '.join(probe['probes'])} tell nothing that must stay hidden"
    return Control("attribution", "raw observations", not told, said)
