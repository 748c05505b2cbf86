"""The verdict on one run of a symbolic task, as fields of its ledger row; no torch, so that it runs in any process."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diacritic.measure.evaluate import EpisodeTrace, evaluate_symbolic
from diacritic.measure.gates import Symbolic
from diacritic.rollout.machine import CodeMachine, packed
from diacritic.studies.tasks import Task, hidden_labels, requirement_of, windows

Row = dict[str, Any]


def judge_machine(task: Task, gate: Symbolic, move: NDArray[np.int64], act: NDArray[np.float64]) -> Row:
    """A code machine: exact scores and closed loop, the gate, and what the code says of hidden values."""
    machine = CodeMachine(move, act).greedy()
    row = evaluate_symbolic(machine, requirement_of(task), gate, _steps(task), hidden_labels(task)).row()
    # others ship the environments of the external gate, so that the machine can be played there
    return row | ({"machine": packed(machine)} if gate == "external" else {})


def judge_steps(task: Task, trace: EpisodeTrace) -> Row:
    """A policy that is not a machine (bypass, GRU, full history, Gaussian), on the expert's episodes."""
    return evaluate_symbolic(trace, requirement_of(task), windows=_steps(task)).row()


def _steps(task: Task) -> dict[str, tuple[int, ...]]:
    """Windows, counted from 0."""
    return {name: tuple(t - 1 for t in window) for name, window in windows(task).items()}
