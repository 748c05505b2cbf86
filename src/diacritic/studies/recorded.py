"""Trained policies of recorded tasks: measured while the expert acts, on held-out, all and fresh episodes; played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.demos.binner import Binner
from diacritic.files.demos import Demos
from diacritic.files.ledger import Row
from diacritic.measure.content import hidden_labels, information, questions
from diacritic.measure.evaluate import evaluation_of, mean_over
from diacritic.measure.flags import CORRECT
from diacritic.measure.gates import Gate, full, relaxed, task_gate
from diacritic.measure.own_occupancy import own_classes
from diacritic.measure.recorded import Classes, CohortScores, score_cohort
from diacritic.measure.resolution import GRIDS, resolution_sweep
from diacritic.measure.trace import RecordedTrace, teacher_forced
from diacritic.measure.windows import Steps, task_windows
from diacritic.memory.kinds import memory_of
from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture
from diacritic.rollout.closed_loop import SEED, Rollouts, play, takeover
from diacritic.rollout.policies import Policies
from diacritic.studies.cell import GateName
from diacritic.tasks.protocol import Task
from diacritic.tasks.registry import task_of
from diacritic.training.worker import Result

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ScoredTrace:
    """A cohort on episodes of a recording while the expert acts."""

    demos: Demos
    task: Task
    codes: Ints  # [S, T, N]
    scores: CohortScores
    errors: Mapping[str, Floats]
    """Share of episodes in which a decision is that of another class, by decision, [S]."""
    imitation: Floats
    """Mean squared error of the standardised actions at each step, [S, T]."""

    def passes(self, gate: Gate, by_behaviour: bool) -> NDArray[np.bool_]:
        """Which runs are sufficient; where the code is a mere readout of a larger memory, by behaviour alone."""
        if by_behaviour:
            return np.all([error < CORRECT for error in self.errors.values()], axis=0)
        return gate.passes(self.scores.sufficiency, self.scores.instantaneous)

    def content(self) -> dict[str, Floats]:
        """Bits of hidden values that the codes encode, by question, [S, T]."""
        labels = hidden_labels(self.demos, self.task)
        asked = questions(self.task, labels)
        return {question.title: information(self.codes, self.demos.symbols, question, labels) for question in asked}


@dataclass(frozen=True)
class Measured:
    """All measurements of the runs of one result; `row` gives those of one run."""

    task: Task
    result: Result
    held_out: ScoredTrace
    recorded: ScoredTrace
    """All episodes of the recording, those that were learned from among them."""
    fresh: ScoredTrace
    on_the_way: Mapping[int, CohortScores]
    """Scores on the held-out episodes by step of training."""
    content: Mapping[str, Floats]
    same_codes: Floats
    """Share of the trainer's codes that the policies show again here, [S]."""
    loop: Rollouts | None
    learned: Mapping[str, Floats]
    """Share of the episodes that were learned from in which each decision is wrong, [S]."""
    own: Sequence[CohortScores] = ()
    """Of every run the scores under its own occupancy; none where it was not played or left what was recorded."""
    hybrid: Rollouts | None = None
    """Where nothing is displayed: the expert drives until the memory has seen what it needs, then the policy acts."""

    def row(self, k: int, name: GateName) -> Row:
        """Fields of the ledger row of run k, judged by a gate."""
        gate, scores, by_behaviour = gate_of(self.task, name), self.held_out.scores, not sole_carrier(self.result)
        windows = reported(self.task, scores.required.tolist())
        errors = {key: float(error[k]) for key, error in self.held_out.errors.items()}
        played = {} if self.loop is None else self.loop.summary(k)
        first = (step for step, scored in self.on_the_way.items() if gate.passes(*_gated(scored))[k])
        return evaluation_of(scores, k, gate, windows, errors if by_behaviour else None).row() | {
            "recorded_sufficient": bool(self.recorded.passes(gate, by_behaviour)[k]),
            "fresh_sufficient": bool(self.fresh.passes(gate, by_behaviour)[k]),
            "own_sufficient": bool(gate.passes(*_gated(self.own[k]))[0]) if self.own and not by_behaviour else None,
            "first_sufficient_step": None if by_behaviour else next(first, None),
            **self._resolution(k),
            **{
                key: {window: mean_over(trace.scores.rate[k], steps) for window, steps in windows.items()}
                for key, trace in (("recorded_rate", self.recorded), ("fresh_rate", self.fresh))
            },
            "information": {
                key: {title: mean_over(bits[k], steps) for title, bits in self.content.items()}
                for key, steps in windows.items()
            },
            "decision_error": errors,
            "decision_error_learned": {key: float(error[k]) for key, error in self.learned.items()},
            "imitation_error": self._imitation(k),
            **{key: played.get(key) for key in (*self._played, "episodes")},
            "hybrid": None if self.hybrid is None else {key: self.hybrid.summary(k)[key] for key in self._played},
            "same_codes": float(self.same_codes[k]),
        }

    @property
    def _played(self) -> tuple[str, ...]:
        """The numbers of the closed loop that a row reports."""
        return ("success", *self.task.levels, "action_error_cm")

    def _resolution(self, k: int) -> Row:
        """Bits in the first gap given symbol and position, on the grids `GRIDS`, and how far below a null of permuted
        codes; none where the body stands still."""
        demos, steps = self.held_out.demos, next(iter(self.task.windows.values()), None)
        positions = demos.observations[..., list(demos.convention.position_columns)].astype(np.float64)
        if not steps or not positions[list(steps)].std(1).any():
            return {"resolution": None, "resolution_excess": None}
        sweep = resolution_sweep(self.held_out.codes[k], demos.symbols, positions, steps, GRIDS, permutations=1)
        return {
            "resolution": [round(grid.rate, 6) for grid in sweep[1:]],
            "resolution_excess": [round(grid.excess, 6) for grid in sweep[1:]],
        }

    def _imitation(self, k: int) -> dict[str, float | None]:
        """Squared error of the standardised actions on held-out episodes, by phase and over all steps."""
        error = self.held_out.imitation[k]
        steps = {"all": range(len(error))} | {phase: self.task.phase_steps(phase) for phase in self.task.phases}
        return {name: mean_over(error, tuple(window)) for name, window in steps.items() if window}


def measure(result: Result, demos: Demos, fresh: Demos, episodes: int, threads: int = 0) -> Measured:
    """Judge all runs of a result, and play so many episodes with each (0: none)."""
    if demos.digest != result.train_job.demos_sha256:
        said = "is not the recording that these runs learned from; record it with the version of then"
        raise UserError(result.train_job.recording, said)
    task, player = task_of(demos), player_of(result)
    held = demos.take(slice(result.train_job.demonstrations, None))
    whole = Classes.of(demos.symbols, demos.choices)
    classes = whole.take(slice(result.train_job.demonstrations, None))
    trace, again = (teacher_forced(player, shown, task, demos.symbol_names) for shown in (demos, fresh))
    later = np.s_[:, :, result.train_job.demonstrations :]
    *way, (_, last) = zip(result.steps, result.codes, strict=True)
    own = scored(RecordedTrace(held, last, trace.actions[later]), classes, task, player.scale)
    recorded = scored(trace, whole, task, player.scale)
    before = np.s_[:, :, : result.train_job.demonstrations]
    met = demos.take(slice(None, result.train_job.demonstrations))
    learned = RecordedTrace(met, trace.codes[before], trace.actions[before]).decision_errors(task)
    other = scored(again, Classes.of(fresh.symbols, fresh.choices), task, player.scale)
    binner = binner_of(demos)
    loop = play(task, player, episodes, binner=binner, threads=threads) if episodes else None
    led = None
    if episodes and task.handover is not None:
        led = play(task, player, episodes, SEED, binner, threads, takeover(task, task.handover))
    on_the_way = {step: score_cohort(table, classes) for step, table in way} | {result.steps[-1]: own.scores}
    same = (trace.codes[later] == last).mean((1, 2))
    played = () if loop is None else own_scores(loop, demos, whole)
    beside = own.content(), same, loop, learned
    return Measured(task, result, own, recorded, other, on_the_way, *beside, played, led)


def own_scores(loop: Rollouts, demos: Demos, whole: Classes) -> list[CohortScores]:
    """Of every run under its own occupancy; none where its episodes have no counterpart in the recording."""
    if loop.symbols is None:
        return []
    strata = list(demos.convention.strata)
    try:
        met = [own_classes(whole, demos.latents, symbols, loop.latents, strata) for symbols in loop.symbols]
    except UserError:
        return []
    return [score_cohort(codes[None], classes) for codes, classes in zip(loop.codes, met, strict=True)]


def scored(trace: RecordedTrace, classes: Classes, task: Task, scale: Scale) -> ScoredTrace:
    """A trace against the classes of its episodes; errors of actions in standard deviations, as imitation has them."""
    apart = (trace.actions - trace.demos.actions) / scale.action_deviation.numpy()
    scores, errors = score_cohort(trace.codes, classes), trace.decision_errors(task)
    return ScoredTrace(trace.demos, task, trace.codes, scores, errors, np.square(apart).mean((2, 3)))


def player_of(result: Result) -> Policies:
    """All runs of a result as one player."""
    weights = {name: value.float() for name, value in result.weights.items() if not name.startswith("scale.")}
    return Policies(weights, Architecture(**result.notes["architecture"]), Scale.from_tensors(result.weights))


def sole_carrier(result: Result) -> bool:
    """Whether the policies remember nothing but the code (a second carrier reads, but never acts)."""
    architecture = Architecture(**result.notes["architecture"])
    return memory_of(architecture).finite(architecture)


def gate_of(task: Task, name: GateName) -> Gate:
    """The gate of that name."""
    if name == "task":
        return task_gate(task)
    if name not in ("full", "relaxed"):
        raise UserError("gate", f"{name!r} judges symbolic tasks; recorded ones have task, full and relaxed")
    return (full if name == "full" else relaxed)(task_windows(task))


def reported(task: Task, required: Sequence[float]) -> dict[str, Steps]:
    """The windows whose rates a row reports: the gaps with the decisions that end them, and the acting phases."""
    windows = task_windows(task)
    return windows.reported(required) | dict(windows.acting)


def binner_of(demos: Demos) -> Binner:
    """The frozen observation convention of a recording."""
    return Binner.fit(demos.convention, demos.observations, demos.latents)


def _gated(scores: CohortScores) -> tuple[Floats, Floats]:
    return scores.sufficiency, scores.instantaneous
