"""Saved runs on a recorded Franka task: held-out codes, estimator controls, and the probes in closed loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from certify.errors import ModelError
from diacritic.carrier.module import Carrier
from diacritic.carrier.shape import Shape
from diacritic.demos.leaks import failures
from diacritic.demos.storage import Demos
from diacritic.measure.body import body_memory, pending, previous_actions
from diacritic.measure.bootstrap import window_intervals
from diacritic.measure.content import hidden_labels, information, questions
from diacritic.measure.crossval import rate_bound
from diacritic.measure.flags import CORRECT, LOW_RATE, RULES, Evidence, class_error
from diacritic.measure.gates import THRESHOLDS, Gate, Judgement, full, kept, task_gate
from diacritic.measure.interventions import TOLD, Attribution, Episodes, attribute
from diacritic.measure.interventions_franka import attribute_franka
from diacritic.measure.own_occupancy import own_classes
from diacritic.measure.own_play import OwnPlay, own_play
from diacritic.measure.persistence import reset_leak
from diacritic.measure.recorded import Classes, CohortScores, score_cohort
from diacritic.measure.resolution import resolution_sweep
from diacritic.measure.symbolic_run import construction
from diacritic.measure.verdict import Control, Profile, Subject, Verdict, intervention_controls, judge
from diacritic.measure.windows import task_windows
from diacritic.rollout.policies import Policies
from diacritic.rollout.stored import Group, StoredRun
from diacritic.tasks.franka.pixels import pixel_channels
from diacritic.tasks.franka.task import Task
from diacritic.tasks.franka.tasks import make_task

Ints = NDArray[np.integer[Any]]
REPLICATES = 200  # of the bootstrap
PERMUTATIONS = 5  # of the permutation null
PAIRS = 512  # of histories that are intervened on while the expert acts
GRID = 0.02  # metres: the grid on which position in the code is looked for
NEGLIGIBLE = 0.1  # bits that the position may explain of the code beyond the null


@dataclass(frozen=True)
class Effort:
    """How much of the closed loop is played; 0 episodes leave its probes out."""

    episodes: int = 128
    interventions: int = 16
    seed: int = 0
    threads: int = 0


@dataclass(frozen=True)
class _Watched:
    """Policies on the judged episodes while the expert acts."""

    demos: Demos
    classes: Classes
    codes: Ints  # [S, T, N]
    actions: NDArray[np.floating[Any]]  # [S, T, N, A]
    scores: CohortScores


def examine_recorded(group: Group, demos: Demos, effort: Effort = Effort()) -> list[Verdict]:  # noqa: B008 (frozen)
    """The verdict on every run of a group, from the recording that it was trained on or an independent one."""
    _same_task(group, demos)
    whole = Classes.of(demos.symbols, demos.choices)
    own = (
        own_play(group.task, group.policies(), group.binner, effort.episodes, effort.seed, effort.threads)
        if effort.episodes
        else None
    )
    return [_examine(group, k, demos, whole, own, effort) for k in range(len(group.runs))]


def _examine(group: Group, k: int, demos: Demos, whole: Classes, own: OwnPlay | None, effort: Effort) -> Verdict:
    run, task = group.runs[k], group.task
    held, first = held_out(run, demos)
    watched = _watch(run, held, whole.take(slice(first, None)))
    gate, scores = task_gate(task), watched.scores
    by_code = gate.judge(scores.sufficiency[0], scores.instantaneous[0])
    errors, windows = _decision_errors(watched, task), task_windows(task)
    # where the code is a mere readout, behaviour alone can suffice
    reads_out = not run.architecture.sole_carrier and not run.architecture.identification
    judgement = _behaviour(errors) if reads_out else by_code
    controls = [
        *_sufficiency(gate, by_code, watched, errors, task),
        *_rate(watched, windows.reported(watched.classes.required)),
    ]
    controls += [construction(run.architecture), *_expert_attribution(run, watched, list(task.decisions.values()))]
    controls.append(_recorded_leaks(demos))
    if own is not None:
        controls += _own(group, k, own, gate, by_code, demos, whole)
    if effort.interventions and run.architecture.memory in ("code", "gaussian"):
        controls += intervention_controls(_closed(run, group, effort), "closed loop")
    occupancy = f"codes on {held.episodes} {'held-out' if first else 'fresh'} episodes, expert occupancy"
    seed = int(run.manifest["run"]["seed"])
    subject = Subject(run.path.name, _title(task), str(run.manifest["learner"]), seed, occupancy)
    profile = Profile(
        scores.rate[0].tolist(), list(watched.classes.required), list(watched.classes.decision), windows.memory
    )
    return judge(subject, judgement, profile, controls, run.architecture.sole_carrier)


def _title(task: Task) -> str:
    """The task with the parameters that are not its defaults."""
    usual = make_task(task.name).parameters
    return " ".join([task.name, *(f"{key}={value}" for key, value in task.parameters.items() if value != usual[key])])


def held_out(run: StoredRun, demos: Demos) -> tuple[Demos, int]:
    """The episodes that a run did not learn from: all of an independent recording."""
    first = int(run.manifest["N"]) if run.manifest.get("demos_sha256") == demos.digest else 0
    return demos.take(slice(first, None)), first


def _same_task(group: Group, demos: Demos) -> None:
    task = group.task
    if (demos.task, dict(demos.parameters), demos.task_version) != (task.name, task.parameters, task.version):
        said = f"is a recording of {demos.task} {dict(demos.parameters)}"
        raise ModelError("--task", f"{said}, but the runs learned {task.name} {task.parameters}; give that recording")


@torch.no_grad()
def _watch(run: StoredRun, demos: Demos, classes: Classes) -> _Watched:
    player = Policies({name: value[None] for name, value in run.weights.items()}, run.architecture, run.scale)
    player.begin(demos.episodes)
    codes, actions = [], []
    for t in range(demos.steps):
        seen = demos.observations[t] if demos.frames is None else pixel_channels(demos.observations[t])
        before = None if t == 0 else demos.actions[t - 1][None]
        frames = None if demos.frames is None else demos.frames[t][None]
        code, action = player.step(seen[None], before, demos.symbols[t][None], frames)
        codes.append(code)
        actions.append(action)
    table = np.stack(codes, 1)
    return _Watched(demos, classes, table, np.stack(actions, 1), score_cohort(table, classes, run.architecture.codes))


def _decision_errors(watched: _Watched, task: Task) -> dict[str, float]:
    """Share of held-out episodes whose action at a decision is nearest to the expert's mean of another class."""
    demos = watched.demos
    return {
        name: class_error(watched.actions[0, t], demos.actions[t], demos.latents[name])
        for name, t in task.decisions.items()
    }


def _behaviour(errors: Mapping[str, float]) -> Judgement:
    failures = tuple(f"{name}: {error:.3f} of the classes wrong" for name, error in errors.items() if error >= CORRECT)
    right = {name: 1 - error for name, error in errors.items()}
    return Judgement("behavioural", not failures, min(right.values(), default=1.0), dict(right), failures)


def _sufficiency(
    gate: Gate, judgement: Judgement, watched: _Watched, errors: Mapping[str, float], task: Task
) -> list[Control]:
    scores = watched.scores
    levels = {level: gate.judge(scores.sufficiency[0], scores.instantaneous[0], level).passed for level in THRESHOLDS}
    alike = len(set(levels.values())) == 1
    said = "the same verdict at thresholds" if alike else "the verdict depends on the threshold among"
    both = np.where(np.isnan(scores.corrected_sufficiency[0]), scores.sufficiency[0], scores.corrected_sufficiency[0])
    bias = float(np.nan_to_num(np.abs(both - scores.sufficiency[0])).max())
    corrected = gate.judge(both, scores.instantaneous[0])
    controls = [
        Control("sufficiency", "gate", judgement.passed, _parts(judgement), judgement.parts),
        Control("sufficiency", "threshold", alike, f"{said} {', '.join(map(str, THRESHOLDS))}", levels),
        Control(
            "sufficiency",
            "Miller–Madow",
            corrected.passed == judgement.passed,
            f"corrected scores move by at most {bias:.3f}",
        ),
    ]
    said = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
    right = all(error < CORRECT for error in errors.values())
    controls.append(Control("sufficiency", "decision errors", right, f"share of wrong classes: {said}", dict(errors)))
    # the flags are defined where the second gap requires a bit
    if "slot" in errors and "gap2" in task.windows and scores.required[list(task.windows["gap2"])].mean() > LOW_RATE:
        controls.append(_flags(errors["slot"], scores, task))
    return controls


def _flags(error: float, scores: CohortScores, task: Task) -> Control:
    """The audit: decided correctly, with a memory that looks too small for it."""
    windows = task_windows(task)
    rate = float(scores.rate[0, list(task.windows["gap2"])].mean())
    passes = [
        bool(g.passes(scores.sufficiency, scores.instantaneous)[0]) for g in (full(windows), kept(windows, "gap2"))
    ]
    raised = Evidence(error, rate, *passes).flags
    said = "; ".join(f"flag {name}: {RULES[name]}" for name in raised) or "no flag is raised"
    return Control("sufficiency", "audit flags", not raised, said, list(raised))


def _rate(watched: _Watched, windows: Mapping[str, Sequence[int]]) -> list[Control]:
    controls, demos, codes = [], watched.demos, watched.codes[0]
    labels = hidden_labels(demos)
    positions = demos.observations[..., list(demos.convention.position_columns)].astype(np.float64)
    for name, steps in windows.items():
        found = window_intervals(codes, watched.classes, steps, REPLICATES)
        said = f"{found.rate.value:.2f} bit (95 % {found.rate.low:.2f}–{found.rate.high:.2f})"
        if found.surplus is not None:
            said += f", of these H(C|Γ,Ō) {found.surplus.value:.2f} ({found.surplus.low:.2f}–{found.surplus.high:.2f})"
        controls.append(Control("rate", f"interval, {name}", None, said, [*found.rate]))
        middle = steps[len(steps) // 2]
        if positions[list(steps)].std(1).any():  # without noise a waiting arm stands still
            fine = resolution_sweep(codes, demos.symbols, positions, steps, (GRID,), PERMUTATIONS)[-1]
            more = max(0.0, fine.excess)
            said = f"position on a {100 * GRID:g} cm grid explains {more:.3f} bit beyond the permutation null"
            controls.append(Control("rate", f"resolution, {name}", fine.excess < NEGLIGIBLE, said, fine.rate))
            bound = rate_bound(codes[middle], demos.symbols[middle], demos.observations[middle])
            said = f"cross-validated upper bound of H(C|O) at step {middle + 1}: {bound:.2f} bit"
            controls.append(Control("rate", f"held-out bound, {name}", None, said, bound))
        bits = {
            question.title: float(information(codes[None], demos.symbols, question, labels)[0, list(steps)].mean())
            for question in questions(demos.task, labels)
        }
        told = ", ".join(f"{title} {value:.2f}" for title, value in bits.items())
        controls.append(Control("rate", f"content, {name}", None, told or "no hidden value is recorded", bits))
    return controls


@torch.no_grad()
def _expert_attribution(run: StoredRun, watched: _Watched, decisions: list[int]) -> list[Control]:
    """Interventions and episode boundary on the held-out episodes; pixel policies are asked in closed loop alone."""
    if run.architecture.memory not in ("code", "gaussian") or watched.demos.frames is not None:
        return []
    demos, policy = watched.demos, _Scaled(run)
    symbols = torch.from_numpy(demos.symbols.astype(np.int64))
    number = policy.symbols
    hot = torch.nn.functional.one_hot(symbols.clamp(max=number), number + 1)[..., :number].float()
    seen = torch.cat([run.scale.see(torch.from_numpy(demos.observations)), hot], -1)
    acted = run.scale.shrink(torch.from_numpy(demos.actions))
    before = torch.cat([torch.zeros_like(acted[:1]), acted[:-1]])
    weights = np.full(demos.episodes, 1 / demos.episodes)
    episodes = Episodes(seen, before, demos.symbols, demos.choices, watched.classes.action, weights)

    def decide(actions: Any, step: int) -> Ints:
        kinds = np.unique(demos.choices[step])
        means = torch.stack([acted[step][torch.from_numpy(demos.choices[step] == kind)].mean(0) for kind in kinds])
        return torch.cdist(actions, means).argmin(1).numpy()

    found = attribute(policy, episodes, decisions, decide, most=PAIRS, least=TOLD)
    leak = reset_leak(policy, seen, before)
    boundary = Control("attribution", "episode boundary", not leak.found, leak.line())
    return [*intervention_controls(found, "expert occupancy"), boundary]


class _Scaled:
    """A stored carrier that reads standardised observations, with the one-hot symbol behind them."""

    def __init__(self, run: StoredRun) -> None:
        weights, architecture = run.weights, run.architecture
        self.width = weights["observe.first.weight"].shape[0]
        self.symbols = weights["symbol.weight"].shape[0] if architecture.side == "symbol" else 0
        shape = Shape(self.width, weights["previous.weight"].shape[0], symbols=self.symbols)
        self.carrier = Carrier(shape, architecture, weights)

    def begin(self, batch: int) -> Any:
        return self.carrier.begin(batch)

    def step(self, state: Any, observation: torch.Tensor, previous_action: torch.Tensor) -> tuple[Any, Any, Any]:
        symbol = observation[:, self.width :] if self.symbols else None
        return self.carrier.step(state, observation[:, : self.width], previous_action, symbol)


def _closed(run: StoredRun, group: Group, effort: Effort) -> Attribution:
    parameters = {name: value[None] for name, value in run.weights.items()}
    return attribute_franka(
        group.task,
        parameters,
        run.architecture,
        run.scale,
        group.binner,
        effort.interventions,
        effort.seed,
        effort.threads,
    )


def _own(
    group: Group, k: int, own: OwnPlay, gate: Gate, judgement: Judgement, demos: Demos, whole: Classes
) -> list[Control]:
    """What is seen while the policy acts itself."""
    task = group.task
    success = float(own.success[k].mean())
    controls = [
        Control(
            "sufficiency", "closed loop", None, f"success {success:.2f} in {own.success.shape[1]} episodes", success
        )
    ]
    controls.append(_own_gate(own, k, gate, judgement, demos, whole))
    for window, names in pending(task).items():
        for name in names:
            found = body_memory(own.positions[k], own.choices[name], task.windows[window], name, window, own.symbols[k])
            controls.append(
                Control(
                    "attribution", f"body memory, {name} in {window}", not found.found, found.line(), found.to_dict()
                )
            )
    cells = previous_actions(own.executed[k], own.choices, task.windows, pending(task))
    bad = failures(cells)
    worst = max(cells, key=lambda cell: cell.accuracy - cell.chance, default=None)
    said = "nothing is pending in any gap"
    if worst is not None:
        odds = f"chance {worst.chance:.2f}, Holm p {worst.adjusted:.2g}"
        said = f"at best {worst.accuracy:.2f} for {worst.variable} in {worst.phase} ({odds})"
    controls.append(Control("attribution", "previous actions", not bad, said, [cell.to_dict() for cell in cells]))
    return controls


def _own_gate(own: OwnPlay, k: int, gate: Gate, judgement: Judgement, demos: Demos, whole: Classes) -> Control:
    """Whether the same gate says the same of the histories that the policy itself brings about."""
    strata = list(demos.convention.strata)
    try:
        classes = own_classes(whole, demos.latents, own.symbols[k], {**own.latents, **own.choices}, strata)
    except ModelError as problem:
        return Control("sufficiency", "own occupancy", None, str(problem))
    scores = score_cohort(own.codes[k : k + 1], classes)
    passed = bool(gate.passes(scores.sufficiency, scores.instantaneous)[0])
    said = f"under own occupancy the gate {'passes' if passed else 'fails'}"
    return Control("sufficiency", "own occupancy", passed == judgement.passed, said)


def _recorded_leaks(demos: Demos) -> Control:
    """What the acceptance checks of the recording found."""
    checks = (demos.acceptance or {}).get("checks", {})
    known = [checks[name] for name in ("leaks", "pixel leaks") if name in checks]
    if not known:
        return Control("attribution", "raw observations", None, "not probed; run `diacritic probe` on the recording")
    passed = all(check["passed"] for check in known)
    first = known[0]["text"].splitlines()[0]
    return Control("attribution", "raw observations", passed, f"leak probes of the recording: {first}")


def _parts(judgement: Judgement) -> str:
    return ", ".join(
        f"{name} {'—' if value is None else format(value, '.3f')}" for name, value in judgement.parts.items()
    )
