"""The one way from a memory to its row: teacher-forced trace → scores → gate → verdict → row.

A run is evaluated while the expert acts. Three kinds of trace lead to the same `Evaluation`: a finite machine on a
symbolic task (exact), the episodes of a symbolic task under a policy that is not a machine (judged by behaviour), and
the hard codes of many runs on recorded episodes. Nothing here needs torch, so that it runs in any process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diacritic.measure.flags import CORRECT
from diacritic.measure.gates import SUCCESS, Gate, Judgement, Symbolic, judge_scores, symbolic_gate
from diacritic.measure.plugin import Floats, Ints, conditional_entropy
from diacritic.measure.recorded import Classes, CohortScores, score_cohort
from diacritic.measure.scores import POSITIVE, Requirement, content, scores, variations
from diacritic.measure.windows import Steps
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import teacher_forced

Row = dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """One run while the expert acts: bits and scores at every step [T] (NaN where not defined), and the verdict."""

    judgement: Judgement
    windows: Mapping[str, Steps]
    """The steps, counted from 0, over which a row averages."""
    rate: Floats  # H(C_t|O_t)
    requirement: Floats  # R_t
    decision: Floats  # H(G_t|O_t)
    sufficiency: Floats  # S_Γ, or S_t by colouring
    instantaneous: Floats  # S_G
    conditional_surplus: Floats  # H(C_t|Γ_t,O_t)
    gate: Gate | None = None
    """The gate that looked at the scores; none where behaviour alone decides."""
    success: float | None = None
    """Share of closed-loop episodes that succeed; none where the run was not played."""
    error: tuple[float, ...] | None = None
    """Probability of a wrong action at each step, where it is known exactly."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the row."""

    @property
    def sufficient(self) -> bool:
        return self.judgement.passed

    def judge(self, threshold: float) -> Judgement:
        """The same scores at another threshold."""
        if self.gate is None:
            return self.judgement
        unproved = np.flatnonzero(np.isnan(self.requirement)).tolist()
        columns = self.sufficiency, self.instantaneous
        return self.gate.judge(*columns, threshold, self.error, self.success, unproved)

    def row(self) -> Row:
        """Fields of a ledger row and of a run's manifest; the same keys for every kind of run."""
        surplus = self.rate - self.requirement
        return {
            "sufficient": self.sufficient,
            "failures": list(self.judgement.failures[:3]),
            "success": self.success,
            "scores": {
                name: {"S_Gamma": _least(self.sufficiency, steps), "S_G": _least(self.instantaneous, steps)}
                for name, steps in self.windows.items()
            },
            "rate": self._means(self.rate),
            "requirement": self._means(self.requirement),
            "surplus": self._means(surplus),
            "conditional_surplus": self._means(self.conditional_surplus),
            "profile": _rounded(self.rate),
            "required_profile": _rounded(self.requirement),
            "decision_profile": _rounded(self.decision),
            **self.notes,
        }

    def _means(self, values: Floats) -> dict[str, float | None]:
        return {name: mean_over(values, steps) for name, steps in self.windows.items()}


@dataclass(frozen=True)
class EpisodeTrace:
    """A policy that is not a machine on the episodes of a symbolic task, while the expert acts; arrays are [T, N]."""

    codes: Ints  # what it reads out; zeros where it has no code
    right: NDArray[np.bool_]  # whether its action is one that the expert takes
    symbols: Ints
    weight: Floats  # [N]
    bound: tuple[float, ...] | None = None
    """What a Gaussian bottleneck carries at most at every step, in bits."""
    at_means: tuple[float, ...] | None = None
    """The same along the means that it takes where it plays, which bounds nothing."""
    variation: tuple[float, ...] | None = None
    """Mean total variation between its law and the expert's at every step."""


SymbolicTrace = CodeMachine | EpisodeTrace


def evaluate_symbolic(
    trace: SymbolicTrace,
    requirement: Requirement,
    gate: Symbolic = "external",
    windows: Mapping[str, Steps] | None = None,
    labels: Mapping[str, NDArray[np.int64]] | None = None,
) -> Evaluation:
    """One run on a symbolic task. The windows are by default the stretches of equal requirement.

    `labels` are hidden values of every episode; the row of a machine then says what its code tells of them.
    """
    if isinstance(trace, EpisodeTrace):
        return _behaviour(trace, requirement, plateaus(requirement.bits) if windows is None else windows)
    model, greedy = requirement.model, trace.greedy()
    occupancy = teacher_forced(greedy, model)
    steps = scores(occupancy, requirement)
    windows = plateaus([step.requirement for step in steps]) if windows is None else windows
    names = ("rate", "requirement", "decision", "sufficiency", "instantaneous", "surplus")
    columns = [np.array([getattr(step, name) for step in steps], np.float64) for name in names]
    hidden = {name: np.array(content(occupancy, values)) for name, values in (labels or {}).items()}
    told = {name: {label: mean_over(bits, at) for label, bits in hidden.items()} for name, at in windows.items()}
    success = closed_loop(greedy, model).success
    return Evaluation(
        judge_scores(gate, steps, success),
        windows,
        *columns,
        gate=symbolic_gate(gate, [step.requirement for step in steps], [step.decision for step in steps]),
        success=success,
        error=tuple(step.error for step in steps),
        notes={
            "information": told,
            "information_profile": {name: _rounded(bits) for name, bits in hidden.items()},
            "sufficiency_profile": _rounded(columns[3]),
            "surplus_profile": _rounded(columns[5]),
            "distortion": max(step.distortion for step in steps),
            "variation_profile": _rounded(np.array(variations(occupancy, trace))),
        },
    )


def _behaviour(trace: EpisodeTrace, requirement: Requirement, windows: Mapping[str, Steps]) -> Evaluation:
    """Actions are a function of the history, so an episode succeeds exactly if every action along it is right.

    The readout code's rate is reported for what it is; no score is claimed.
    """
    weight = trace.weight
    success = float((trace.right.all(0) * weight).sum())
    rate = np.array([conditional_entropy(c, o, weight) for c, o in zip(trace.codes, trace.symbols, strict=True)])
    failures = () if success >= SUCCESS else (f"success {success:.3f}",)
    judgement = Judgement("behavioural", not failures, success, {"success": success}, failures)
    undefined = np.full(len(rate), np.nan)
    notes: Row = {}
    for key, bits in (("kl_bits", trace.bound), ("kl_bits_at_means", trace.at_means)):
        if bits is not None:
            notes[key] = {name: mean_over(np.array(bits), steps) for name, steps in windows.items()}
    if trace.variation is not None:
        notes["variation_profile"] = _rounded(np.array(trace.variation))
    need = np.array(requirement.bits, np.float64)
    columns = (undefined, undefined, undefined, undefined)
    return Evaluation(judgement, windows, rate, need, *columns, success=success, notes=notes)


def evaluate_codes(codes: Ints, classes: Classes, gate: Gate, windows: Mapping[str, Steps]) -> list[Evaluation]:
    """Many runs' hard codes [S, T, N] on recorded episodes."""
    scored = score_cohort(codes, classes)
    return [evaluation_of(scored, k, gate, windows) for k in range(len(scored.rate))]


def evaluation_of(
    scores: CohortScores,
    k: int,
    gate: Gate,
    windows: Mapping[str, Steps],
    errors: Mapping[str, float] | None = None,
) -> Evaluation:
    """Run k of a scored cohort, by its scores, or with `errors` by its behaviour."""
    columns = (scores.sufficiency[k], scores.instantaneous[k])
    judgement = gate.judge(*columns) if errors is None else behavioural(errors)
    return Evaluation(
        judgement,
        windows,
        scores.rate[k],
        scores.required,
        scores.decision,
        *columns,
        scores.surplus[k],
        gate=gate,
        notes={"corrected_rate": {name: mean_over(scores.corrected_rate[k], steps) for name, steps in windows.items()}},
    )


def behavioural(errors: Mapping[str, float]) -> Judgement:
    """By behaviour alone: every decision is right in all but a few episodes."""
    failures = tuple(f"{name}: {error:.3f} of the classes wrong" for name, error in errors.items() if error >= CORRECT)
    right = {name: 1 - error for name, error in errors.items()}
    return Judgement("behavioural", not failures, min(right.values(), default=1.0), dict(right), failures)


def plateaus(bits: Sequence[float | None]) -> dict[str, Steps]:
    """Stretches of steps (from 0) with the same positive requirement."""
    runs: list[tuple[float, list[int]]] = []
    for t, need in enumerate(bits):
        if need is None or need <= POSITIVE:
            continue
        if runs and runs[-1][1][-1] == t - 1 and abs(runs[-1][0] - need) < POSITIVE:
            runs[-1][1].append(t)
        else:
            runs.append((need, [t]))
    return {
        f"steps {steps[0] + 1}–{steps[-1] + 1}" if len(steps) > 1 else f"step {steps[0] + 1}": tuple(steps)
        for _, steps in runs
    }


def mean_over(values: NDArray[np.floating[Any]], steps: Sequence[int]) -> float | None:
    """The mean over some steps; none where a value is not defined, or where there are no steps."""
    chosen = values[list(steps)]
    return None if not len(chosen) or np.isnan(chosen).any() else round(float(chosen.mean()), 6)


def _least(values: Floats, steps: Sequence[int]) -> float | None:
    least = np.fmin.reduce(values[list(steps)]) if len(steps) else np.nan
    return None if np.isnan(least) else float(least)


def _rounded(values: Floats) -> list[float | None]:
    return [None if np.isnan(bits) else round(bits, 3) for bits in values.tolist()]
