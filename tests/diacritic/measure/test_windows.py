"""Windows of the Franka tasks, and those that a certificate implies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollout_twin import random_machine

from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.scores import scores
from diacritic.measure.windows import derived_windows, task_windows
from diacritic.rollout.occupancy import teacher_forced
from diacritic.tasks.registry import make as make_task


def test_two_cues_waits_twice_and_decides_twice() -> None:
    windows = task_windows(make_task("two-cues", gap=6, first_gap=2))
    assert windows.memory == {"gap1": (6, 7), "gap2": (18, 19, 20, 21, 22, 23)}
    assert windows.decisions == {"side": 8, "slot": 24}
    assert windows.acting["place"][0] == 24


def test_a_rate_is_averaged_to_the_decision_where_memory_is_required_there() -> None:
    windows = task_windows(make_task("two-cues", gap=6, first_gap=2))
    required = np.zeros(33)
    required[:9] = 2
    assert windows.reported(required.tolist()) == {"gap1": (6, 7, 8), "gap2": (18, 19, 20, 21, 22, 23)}


@given(st.lists(st.tuples(st.sampled_from([None, 0.0, 1e-12, 0.5, 2.0]), st.sampled_from([0.0, 1.0])), min_size=1))
def test_derived_windows_are_the_runs_of_positive_steps(steps: list[tuple[float | None, float]]) -> None:
    required, decision = zip(*steps, strict=True)
    windows = derived_windows(required, decision)
    inside = [t for run in windows.memory.values() for t in run]
    assert inside == [t for t, bits in enumerate(required) if bits is None or bits > 1e-9]
    for run in windows.memory.values():
        assert list(run) == list(range(run[0], run[-1] + 1))
        assert run[0] - 1 not in inside
        assert run[-1] + 1 not in inside
    assert list(windows.decisions.values()) == [t for t, bits in enumerate(decision) if bits]


def test_the_windows_of_the_gap_toy_come_from_its_certificate() -> None:
    model = build("gap")
    step_scores = scores(teacher_forced(random_machine(model, 2, 0), model))
    windows = derived_windows([s.requirement for s in step_scores], [s.decision for s in step_scores])
    assert {t for run in windows.memory.values() for t in run} >= set(windows.decisions.values())
    assert len(windows.decisions) == 2


def test_lengths_must_agree() -> None:
    with pytest.raises(UserError, match="decision: 1 steps, but the requirement has 2"):
        derived_windows([1.0, 1.0], [0.0])
