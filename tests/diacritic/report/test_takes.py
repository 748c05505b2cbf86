"""Episodes for a film: the expert's, a policy's with what its codes stand for, and one with a code swapped."""

import numpy as np
import pytest
from expert_carrier import expert_carrier, odd_scale, short_task

from certify.errors import UserError
from diacritic.demos.record import record
from diacritic.report.takes import Colours, _pair, one_take, swapped_takes
from diacritic.rollout.policies import Policies
from diacritic.tasks.franka.tasks import make_task
from diacritic.tasks.pointmass import PointMass

POINT = PointMass(first_wait=1, wait=1)


@pytest.fixture(scope="module")
def copy() -> Policies:
    task, scale = short_task(), odd_scale()
    weights, architecture = expert_carrier(task, scale)
    return Policies({name: value[None] for name, value in weights.items()}, architecture, scale)


def test_the_expert_carries_no_code() -> None:
    (take,) = one_take(POINT, POINT.batch(1, 0), None, None, {"gate": 1, "goal": 0})
    assert take.codes is None
    assert take.ending == "success"
    assert take.poses.shape == (POINT.horizon + 1, 2)
    assert (take.shown >= 0).nonzero()[0].tolist() == list(POINT.reveals)


def test_codes_stand_for_the_classes_of_the_report(copy: Policies) -> None:
    task = short_task()
    colours = Colours.of(task, copy, None, 0)
    (take,) = one_take(task, task.batch(1, 0), copy, None, {"theta": 0})
    assert take.codes is not None
    looks = [colours.look(t, code) for t, code in enumerate(take.codes.tolist())]
    before = looks[task.decisions["slot"] - 1]
    assert before is not None
    assert colours.names[before.number].startswith("slot=")
    assert colours.look(0, 10**6) is None


def test_a_pair_differs_in_one_class_alone() -> None:
    hidden = _pair(POINT, "goal", {"goal": 1}, seed=3)
    choices = POINT.choices(hidden)
    assert choices["goal"].tolist() == [1, 0]
    assert len(set(choices["gate"].tolist())) == 1


def test_without_a_second_value_there_is_no_pair() -> None:
    task = make_task("weighing")  # the mass decides both classes
    with pytest.raises(UserError, match="no other episode differs in slot alone"):
        _pair(task, "slot", {"mass": 0}, 0)


def test_a_swapped_code_swaps_the_decision(copy: Policies) -> None:
    task = short_task()
    _, binner = record(task, 64, seed=1)
    batch, (own, changed), at = swapped_takes(task, copy, binner, {"theta": 0}, seed=0)
    batch.close()
    assert own.codes is not None
    assert changed.codes is not None
    np.testing.assert_array_equal(own.codes[:at], changed.codes[:at])
    assert own.codes[at] != changed.codes[at]
    assert (own.ending, changed.ending) == ("success", "the other slot")
    np.testing.assert_array_equal(own.poses[: at + 1], changed.poses[: at + 1])
    assert (own.poses[-1] != changed.poses[-1]).any()
