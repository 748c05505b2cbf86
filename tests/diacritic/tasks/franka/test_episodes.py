"""A recording holds what was seen before each action, and that action."""

import numpy as np
from franka_episodes import expert_episodes

from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.layout import SLICES
from diacritic.tasks.franka.tasks import TwoCues
from diacritic.tasks.franka.timeline import PHASES


def test_shapes_and_symbols() -> None:
    task = TwoCues(gap=1, first_gap=1)
    played = expert_episodes(FrankaBatch(task, 3, seed=1), {"theta": [0, 1, 2]})
    assert played.observations.shape == (task.horizon, 3, 27)
    assert played.actions.shape == (task.horizon, 3, 4)
    assert played.frames is None
    assert [PHASES[p] for p in played.phase[:, 0]] == [step.phase for step in task.steps]
    shown = played.observations[..., SLICES["display"]]
    assert ((played.probe >= 0) == shown.any(axis=2)).all()
    assert played.probe[3].tolist() == [0, 1, 2]


def test_replaying_the_actions_gives_the_observations() -> None:
    """The recorded float32 actions are the ones that were executed."""
    task = TwoCues(gap=1, first_gap=1)
    played = expert_episodes(FrankaBatch(task, 2, seed=4))
    core = FrankaBatch(task, 2, seed=4)
    seen = core.reset()
    for t in range(task.horizon):
        assert np.array_equal(seen, played.observations[t])
        seen = core.step(played.actions[t])
