"""The gates: which scores of a run must exceed the threshold before its rate means anything.

A gate turns the scores of a run into one number, the least of those that it looks at, and the run passes where that
exceeds the threshold. Sensitivity to the threshold and bimodality are then properties of these numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from diacritic.measure.scores import Floats, StepScore
from diacritic.measure.windows import Steps, Windows, derived_windows, task_windows
from diacritic.tasks.protocol import Task

THRESHOLD = 0.9  # a score must exceed it
THRESHOLDS = (0.8, 0.9, 0.95)
SUCCESS = 0.99  # closed-loop success of the external gate
VARIATION = 0.05  # from the expert's law, by which the authors' release counts runs on the gap toy

Symbolic = Literal["t-maze", "external", "full"]
"""The gates of symbolic tasks, by name."""


@dataclass(frozen=True)
class Judgement:
    """Whether one run passed, and what it failed on."""

    gate: str
    passed: bool
    least: float  # the least score; 1 where nothing is required
    parts: dict[str, float | None]  # of each window and decision; None where nothing is required
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Gate:
    """S_Γ in windows and S_G at decisions: every step of positive requirement, or the mean over a window."""

    name: str
    memory: Mapping[str, Steps]
    decisions: Mapping[str, Steps]
    averaged: bool = False
    success: float | None = None  # closed-loop success that is needed besides
    exact: bool = False  # decisions must be right with certainty; S_G is not asked

    @staticmethod
    def of(
        name: str, memory: Mapping[str, Sequence[int]], decisions: Mapping[str, int | Sequence[int]], **more: Any
    ) -> "Gate":
        """A gate whose windows hold a step each."""
        windows = {key: tuple(steps) for key, steps in memory.items()}
        decided = {key: (steps,) if isinstance(steps, int) else tuple(steps) for key, steps in decisions.items()}
        for key, steps in (*windows.items(), *decided.items()):
            if not steps:
                raise UserError(f"{name} gate", f"the window {key!r} has no steps; name the steps to look at")
        return Gate(name, windows, decided, **more)

    def parts(self, sufficiency: ArrayLike, instantaneous: ArrayLike) -> dict[str, Floats]:
        """The score of every window and decision, from scores [..., T]; NaN where nothing is required."""
        memory, now = np.asarray(sufficiency, np.float64), np.asarray(instantaneous, np.float64)
        if memory.shape != now.shape or not memory.ndim:
            raise UserError("scores", f"shapes {memory.shape} and {now.shape}; each step needs both scores")
        parts = {name: self._part(name, memory, steps) for name, steps in self.memory.items()}
        if not self.exact:
            parts |= {f"{name} decision": self._part(name, now, steps) for name, steps in self.decisions.items()}
        return parts

    def least(self, sufficiency: ArrayLike, instantaneous: ArrayLike) -> Floats:
        """The least score of each run [...]; 1 where nothing is required of it."""
        shape = np.shape(sufficiency)[:-1]
        smallest = np.full(shape, np.nan)
        for part in self.parts(sufficiency, instantaneous).values():
            smallest = np.fmin(smallest, part)
        return np.where(np.isnan(smallest), 1.0, smallest)

    def passes(
        self, sufficiency: ArrayLike, instantaneous: ArrayLike, threshold: float = THRESHOLD
    ) -> NDArray[np.bool_]:
        """Which runs pass, by their scores alone; a gate that asks for more than scores is refused here."""
        if self.exact or self.success is not None:
            raise UserError(f"{self.name} gate", "it asks for actions or success too; judge the runs one by one")
        return self.least(sufficiency, instantaneous) > threshold

    def judge(
        self,
        sufficiency: ArrayLike,
        instantaneous: ArrayLike,
        threshold: float = THRESHOLD,
        error: Sequence[float] | None = None,
        success: float | None = None,
        unproved: Sequence[int] = (),
    ) -> Judgement:
        """One run in words; `error` is the probability of a wrong action at each step, `success` that of an episode.

        At the steps `unproved` (from 0) the requirement is not proved, so that they score 0.
        """
        if unproved:
            sufficiency = np.array(sufficiency, np.float64)
            sufficiency[list(unproved)] = 0.0
        parts = {name: float(value) for name, value in self.parts(sufficiency, instantaneous).items()}
        failures = [f"step {t + 1}: the requirement is not proved" for t in unproved]
        failures += [f"{name}: score {value:.3f}" for name, value in parts.items() if value <= threshold]
        if self.exact:
            failures += self._wrong(error)
        if self.success is not None:
            if success is None:
                raise UserError(f"{self.name} gate", "it needs the closed-loop success; roll the policy out first")
            failures += [f"success {success:.3f}"] if success < self.success else []
        reported = {name: None if np.isnan(value) else value for name, value in parts.items()}
        least = float(self.least(sufficiency, instantaneous))
        return Judgement(self.name, not failures, least, reported, tuple(failures))

    def _part(self, name: str, scores: Floats, steps: Steps) -> Floats:
        if min(steps) < 0 or max(steps) >= scores.shape[-1]:
            raise UserError(f"{self.name} gate", f"the window {name!r} leaves the {scores.shape[-1]} steps of the run")
        chosen = scores[..., list(steps)]
        if not self.averaged:
            return np.fmin.reduce(chosen, axis=-1)
        defined = ~np.isnan(chosen)
        count = defined.sum(-1)
        return np.where(count > 0, np.where(defined, chosen, 0).sum(-1) / np.maximum(count, 1), np.nan)

    def _wrong(self, error: Sequence[float] | None) -> list[str]:
        if error is None:
            raise UserError(f"{self.name} gate", "it needs the probability of a wrong action at each step")
        chosen = [t for steps in self.decisions.values() for t in steps]
        return [f"step {t + 1}: wrong action with probability {error[t]:.3g}" for t in chosen if error[t] > 0]


def full(windows: Windows) -> Gate:
    """S_Γ at every positive-requirement step of all gaps, S_G at the first step of every decision."""
    return Gate.of("full", windows.memory, windows.decisions)


def relaxed(windows: Windows) -> Gate:
    """Mean S_Γ over the last window and mean S_G over the last acting phase: what survives the first decision."""
    if len(windows.memory) < 2 or not windows.acting:
        raise UserError("relaxed gate", "the task has no second window or no phase that acts; use the full gate")
    window, phase = list(windows.memory)[-1], list(windows.acting)[-1]
    return Gate.of("relaxed", {window: windows.memory[window]}, {phase: windows.acting[phase]}, averaged=True)


def kept(windows: Windows, window: str) -> Gate:
    """S_Γ at every positive-requirement step of one window alone."""
    if window not in windows.memory:
        raise UserError("window", f"{window!r} is unknown; there are {', '.join(windows.memory) or 'none'}")
    return Gate.of(f"{window} memory", {window: windows.memory[window]}, {})


def t_maze(windows: Windows) -> Gate:
    """S_Γ at every corridor step and the exact action at the junction."""
    return Gate.of("t-maze", windows.memory, windows.decisions, exact=True)


def external(windows: Windows) -> Gate:
    """S_Γ at every positive-requirement step and closed-loop success of at least 0.99."""
    return Gate.of("external", windows.memory, {}, success=SUCCESS)


def task_gate(task: Task) -> Gate:
    """The gate by which a task says that it is judged."""
    gate, windows = task.gate, task_windows(task)
    memory = {name: windows.memory[name] for name in gate.windows}
    decisions = {name: windows.decisions[name] for name in gate.decisions}
    return Gate.of(gate.name, memory, decisions, averaged=gate.averaged)


def imitates(variation: float) -> bool:
    """Success on the gap toy as the authors' release counts it, by behaviour at the second decision alone: the mean
    total variation between the policy's law and the expert's is below 0.05."""
    return variation < VARIATION


def judge_scores(
    name: Symbolic, steps: Sequence[StepScore], success: float | None = None, threshold: float = THRESHOLD
) -> Judgement:
    """A run on a symbolic task, by the gate of that name; windows and decisions are those that its scores imply."""
    gate = symbolic_gate(name, [step.requirement for step in steps], [step.decision for step in steps])
    unproved = [t for t, step in enumerate(steps) if step.requirement is None]
    return gate.judge(*score_arrays(steps), threshold, [step.error for step in steps], success, unproved)


def symbolic_gate(name: Symbolic, requirement: Sequence[float | None], decision: Sequence[float]) -> Gate:
    """The gate of that name on the windows and decisions that requirement and decisions imply."""
    if name not in get_args(Symbolic):
        raise UserError("gate", f"unknown gate {name!r}; expected {', '.join(get_args(Symbolic))}")
    return {"t-maze": t_maze, "external": external, "full": full}[name](derived_windows(requirement, decision))


def score_arrays(scores: Sequence[StepScore]) -> tuple[Floats, Floats]:
    """S_Γ and S_G of every step, NaN where nothing is required; a requirement that is not proved scores 0."""
    memory = [0.0 if score.requirement is None else score.sufficiency for score in scores]
    return np.array(memory, np.float64), np.array([score.instantaneous for score in scores], np.float64)
