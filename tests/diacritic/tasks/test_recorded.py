"""What a recording answers for a task, and what it refuses."""

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos import from_arrays
from diacritic.tasks.protocol import Task
from diacritic.tasks.recorded import RecordedTask, decision_class, decision_steps, required_spans
from diacritic.tasks.registry import task_of

CUE = np.array([0, 1] * 4)
SYMBOLS = np.stack([CUE, np.full(8, 2), np.full(8, 3)])
CHOICES = np.stack([np.zeros(8, int), np.zeros(8, int), 1 + CUE])


def test_a_recording_answers_for_itself() -> None:
    demos = from_arrays(SYMBOLS, CHOICES, latents={"cue": CUE}, phase=np.array([[0] * 8, [0] * 8, [1] * 8]))
    task = task_of(demos)
    assert isinstance(task, RecordedTask)
    assert isinstance(task, Task)
    assert (task.name, task.horizon, list(task.phases)) == ("recording", 3, ["0", "0", "1"])
    assert (len(task.channels), len(task.action_names), task.latents) == (4, 3, {"cue": 2})
    assert (task.windows, task.decisions, task.levels) == ({"steps 2–3": range(1, 3)}, {"step 3": 2}, {"step 3": 2})
    assert task.reveals == [0]
    assert (task.gate.windows, task.gate.decisions) == (("steps 2–3",), ("step 3",))
    assert decision_class(demos, "step 3", 2).tolist() == (1 + CUE).tolist()
    assert decision_class(demos, "cue", 2).tolist() == CUE.tolist()


def test_nothing_can_be_played() -> None:
    task = task_of(from_arrays(SYMBOLS, CHOICES))
    for refused in (
        lambda: task.batch(4),
        lambda: task.demonstrate({}, 0),
        lambda: task.symbolic_actions({}),
        lambda: task.symbolic_observations({}),
        lambda: task.displayed(0, {}),
        lambda: task.executable(np.zeros((1, 3))),
        lambda: task.action_error(np.zeros(1), np.zeros(1)),
    ):
        with pytest.raises(UserError, match="recording: this recording has no simulator: register a task to roll out"):
            refused()


def test_a_constant_recording_requires_nothing() -> None:
    task = task_of(from_arrays(np.zeros((3, 8), int), np.zeros((3, 8), int)))
    assert (task.windows, task.decisions, task.reveals) == ({}, {}, [0])


def test_stretches_of_steps() -> None:
    assert required_spans([0, 1, None, 0, 2]) == {"steps 2–3": range(1, 3), "steps 5–5": range(4, 5)}
    assert decision_steps([0.0, 1.0, 0.0]) == {"step 2": 1}
