"""Which episodes are computed, and that no draw is lost."""

from collections import Counter

import numpy as np
import pytest
import torch

from diacritic.memory.layers import Weight
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.kernels import drawn
from diacritic.training.learner import learner
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


class Unasking:
    """A term of somebody else, which may read all episodes."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return {}

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> torch.Tensor:
        return trace.mean(data.target.flatten(0, 1).sum(-1))


def test_drawn_episodes_come_first_and_nothing_is_lost() -> None:
    made = torch.Generator().manual_seed(0)
    weight = torch.randint(3, (5, 40), generator=made) / 40
    weight[1] = 0
    weight[2, ::2], weight[2, 1::2] = 1, 0
    episodes, share = drawn.choose(weight, 32)
    order = (weight <= 0).sort(dim=1, stable=True).indices[:, :32]
    assert torch.equal(episodes, order)
    assert torch.equal(share, weight.gather(1, order))
    torch.testing.assert_close(share.sum(1), weight.sum(1))


def test_a_run_that_draws_too_many_has_no_loss_and_harms_no_other() -> None:
    weight = torch.zeros(3, 40)
    weight[0, :16], weight[1, :17], weight[2, 5:9] = 1, 1, 1
    _, share = drawn.choose(weight, 16)
    assert share[1].isnan().all()
    assert torch.equal(share[[0, 2]].sum(1), torch.tensor([16.0, 4.0]))


@pytest.mark.parametrize(("batch", "episodes"), [(7, 30), (40, 60)])
def test_places_are_exceeded_as_rarely_as_promised(monkeypatch: pytest.MonkeyPatch, batch: int, episodes: int) -> None:
    """Against draws, with a chance that can be seen."""
    monkeypatch.setattr(drawn, "RARE", 0.02)
    monkeypatch.setattr(drawn, "STEP", 1)
    room = drawn.slots(batch, episodes, ())
    assert room is not None
    rng = np.random.default_rng(0)
    distinct = Counter(len(set(rng.integers(episodes, size=batch))) for _ in range(20_000))
    above = sum(count for number, count in distinct.items() if number > room) / 20_000
    least = sum(count for number, count in distinct.items() if number > room - 1) / 20_000
    assert above < 0.025
    assert least > 0.015


def test_all_episodes_are_computed_where_that_is_as_well() -> None:
    terms = learner("event-agnostic").terms
    room = drawn.slots(512, 448, terms)
    assert room is not None
    assert room % 16 == 0
    assert 305 < room < 448
    assert drawn.slots(None, 448, terms) is None
    assert drawn.slots(2000, 448, terms) is None
    assert drawn.slots(512, 448, [*terms, Unasking()]) is None
    names = "sysid", "task-informed", "teacher-state", "inverse-only+rate", "open-loop-world", "join", "plain+bfs"
    for name in (*names, "hierarchical", "intent+task-informed"):
        assert drawn.slots(512, 448, learner(name).terms) == room
