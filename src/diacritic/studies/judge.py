"""The verdict on one run of a symbolic task, as fields of its ledger row; no torch, so that it runs in any process."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diacritic.measure.gates import SUCCESS, Symbolic, judge_scores
from diacritic.measure.plugin import conditional_entropy
from diacritic.measure.scores import content, scores
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine, packed
from diacritic.rollout.occupancy import teacher_forced
from diacritic.studies.tasks import Task, hidden_labels, model_of, requirement_of, windows

Row = dict[str, Any]


def judge_machine(task: Task, gate: Symbolic, move: NDArray[np.int64], act: NDArray[np.float64]) -> Row:
    """A code machine: exact scores and closed loop, the gate, and what the code tells of hidden values."""
    model = model_of(task)
    machine = CodeMachine(move, act).greedy()
    occupancy = teacher_forced(machine, model)
    steps = scores(occupancy, requirement_of(task))
    loop = closed_loop(machine, model)
    passed = judge_scores(gate, steps, loop.success).passed
    row: Row = {"sufficient": passed, "success": loop.success, "scores": {}, "rate": {}, "requirement": {}}
    row["surplus"], row["information"] = {}, {}
    known = {name: content(occupancy, labels) for name, labels in hidden_labels(task).items()}
    for name, window in windows(task).items():
        seen = [steps[t - 1] for t in window]
        memory = [s.sufficiency for s in seen if s.sufficiency is not None]
        now = [s.instantaneous for s in seen if s.instantaneous is not None]
        row["scores"][name] = {"S_Gamma": min(memory, default=None), "S_G": min(now, default=None)}
        row["rate"][name] = _mean([s.rate for s in seen])
        row["requirement"][name] = _mean([s.requirement for s in seen])
        row["surplus"][name] = _mean([s.surplus for s in seen])
        row["information"][name] = {hidden: _mean([bits[t - 1] for t in window]) for hidden, bits in known.items()}
    row["distortion"] = max(s.distortion for s in steps)
    if gate == "external":  # others ship these environments, so that the machine can be played there
        row["machine"] = packed(machine)
    return row


def judge_steps(
    task: Task,
    codes: NDArray[np.int64],
    right: NDArray[np.bool_],
    seen: NDArray[np.int64],
    weight: NDArray[np.float64],
    bound: list[float] | None = None,
) -> Row:
    """A policy that is no machine (bypass, GRU, full history, Gaussian), watched on the expert's episodes [T, N].

    Its actions are a function of the history, so an episode succeeds exactly if every action along it is one that the
    expert takes; the readout code's rate is reported for what it is. A Gaussian bottleneck has no code: what it carries
    at most at every step, in bits, becomes `kl_bits`.
    """
    success = float((right.all(0) * weight).sum())
    row: Row = {"sufficient": success >= SUCCESS, "success": success, "scores": {}, "rate": {}, "requirement": {}}
    bits = requirement_of(task).bits
    for name, window in windows(task).items():
        row["scores"][name] = {"S_Gamma": None, "S_G": None}
        row["rate"][name] = _mean([conditional_entropy(codes[t - 1], seen[t - 1], weight) for t in window])
        row["requirement"][name] = _mean([bits[t - 1] for t in window])
    if bound is not None:
        row["kl_bits"] = {name: _mean([bound[t - 1] for t in window]) for name, window in windows(task).items()}
    return row


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(float(np.mean(known)), 6) if len(known) == len(values) and known else None
