"""Own play shows what the closed loop of `rollout` shows, with the actions beside it."""

import numpy as np
from expert_carrier import expert_carrier, odd_scale, short_task

from diacritic.demos.record import record
from diacritic.measure.own_play import own_play
from diacritic.rollout.closed_loop import play
from diacritic.rollout.policies import Policies


def test_it_is_the_closed_loop() -> None:
    task, scale = short_task(), odd_scale()
    weights, architecture = expert_carrier(task, scale, swapped=True)
    player = Policies({name: value[None] for name, value in weights.items()}, architecture, scale)
    _, binner = record(task, 16, seed=1)
    found = own_play(task, player, binner, 3, seed=5, threads=1)
    wanted = play(task, player, 3, 5, binner, 1, observations=True)
    assert wanted.observations is not None
    assert wanted.symbols is not None
    np.testing.assert_array_equal(found.codes, wanted.codes)
    np.testing.assert_array_equal(found.symbols, wanted.symbols)
    np.testing.assert_array_equal(found.seen, wanted.observations)
    np.testing.assert_array_equal(found.success, wanted.success)
    assert {name: values.tolist() for name, values in found.latents.items()} == {
        name: values.tolist() for name, values in wanted.latents.items()
    }
    assert found.choices["slot"].tolist() == (found.latents["theta"] // 2 % 2).tolist()
    assert found.executed.shape == (1, task.horizon, 3, 4)
    assert set(np.unique(found.executed[..., 3])) == {-1.0, 1.0}
    np.testing.assert_array_equal(found.positions, found.seen[..., :3])
