"""Recordings as data: scale, labels and reveals."""

import numpy as np
import pytest

from diacritic.demos.record import record
from diacritic.files.demos import Demos
from diacritic.tasks.registry import make as make_task
from diacritic.training.demonstrations import Prepared, fitted, pending_classes, prepare
from diacritic.training.learner import learner
from diacritic.training.objectives.decisions import PendingDecisions

TASK = make_task("two-cues", gap=1, first_gap=1)


@pytest.fixture(scope="module")
def demos() -> Demos:
    return record(TASK, 12, seed=4)[0]


@pytest.fixture(scope="module")
def prepared(demos: Demos) -> Prepared:
    return prepare(*demos.split(8), TASK)


def test_both_parts_share_the_scale_of_the_first(demos: Demos, prepared: Prepared) -> None:
    for data, part in ((prepared.data, slice(0, 8)), (prepared.held_out, slice(8, None))):
        seen = data.observation[data.observation_index]
        raw = seen * prepared.scale.observation_deviation + prepared.scale.observation_mean
        np.testing.assert_allclose(raw.numpy(), demos.observations[:, part], atol=1e-4)
        np.testing.assert_allclose(prepared.scale.act(data.target).numpy(), demos.actions[:, part], atol=1e-5)
        assert not data.previous[data.previous_index[0]].any()
        assert data.symbol is not None
        np.testing.assert_array_equal(data.symbol.numpy(), demos.symbols[:, part])
    assert abs(prepared.data.observation.mean(0)).max() < 1e-4


def test_sizes_and_events_come_from_the_recording_and_its_task(demos: Demos, prepared: Prepared) -> None:
    shape = prepared.data.shape
    assert (shape.symbols, shape.classes, shape.labels) == (len(demos.symbol_names), len(demos.choice_names), 32)
    assert prepared.held_out.shape == shape
    assert prepared.data.decisions == tuple(TASK.decisions.values())
    assert prepared.data.label is not None
    assert prepared.data.label.tolist() == demos.latents["theta"][:8].tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    # two bits at 4 and 5, or three steps of display; of hidden-mass the slot, in the last two steps before placing
    [("two-cues", 5), ("readout-3", 6), ("hidden-mass", 26), ("weighing", 14)],
)
def test_the_last_reveal(name: str, expected: int) -> None:
    assert make_task(name).reveals[-1] == expected


def test_learners_fit_the_number_of_decisions() -> None:
    terms = fitted(learner("task-informed"), 1).terms
    assert [term.decisions for term in terms if isinstance(term, PendingDecisions)] == [1]
    assert fitted(learner("plain"), 1) == learner("plain")


def test_the_pending_class_names_what_is_still_to_be_decided(demos: Demos, prepared: Prepared) -> None:
    label, values = pending_classes(demos, TASK)
    assert values == 4 + 2
    names: dict[int, tuple[tuple[str, int], ...]] = {}
    for t in range(demos.steps):
        for n in range(demos.episodes):
            pending = tuple(
                (name, int(demos.latents[name][n]))
                for name, step in TASK.decisions.items()
                if TASK.reveals[-1] <= t < step
            )
            assert (label[t, n] < 0) == (not pending)
            if pending:
                assert names.setdefault(int(label[t, n]), pending) == pending
    assert len(set(names.values())) == len(names) <= values
    assert prepared.data.shape.joint == values
    assert prepared.data.joint is not None
    np.testing.assert_array_equal(prepared.data.joint.numpy(), label[:, :8])
