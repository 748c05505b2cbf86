"""bsuite's tasks that show what they hide: their experts earn the reward, and need no memory."""

from typing import Any

import pytest

pytest.importorskip("bsuite")

from certify import UserError, certify
from certify.sources.adapter import Adapter, check_task, to_model
from certify.sources.bsuite_shown import bandit, catch, deep_sea


@pytest.mark.parametrize("adapter", [bandit(), catch(), catch(4, 3), deep_sea(6), deep_sea(5, windy=True)])
def test_nothing_needs_to_be_remembered(adapter: Adapter[Any]) -> None:
    check_task(adapter)
    answer = certify(to_model(adapter))
    assert [step.rate for step in answer.steps] == [0.0] * adapter.horizon
    assert answer.a2  # the expert acts on what is seen


def test_the_ball_is_caught() -> None:
    """Live, with the columns that the environment draws: every ball is worth 1."""
    from bsuite.environments.catch import Catch

    adapter = catch()
    env = Catch(seed=3)
    for _ in range(10):
        moment = env.reset()
        history, column = (adapter.symbol(moment.observation),), int(env._ball_x or 0)
        adapter.reset(column)  # the expert looks at the environment of the adapter
        while not moment.last():
            action = adapter.expert(column, history)
            adapter.step(str(action))
            moment = env.step(int(str(action)))
            history = (*history, str(action), adapter.symbol(moment.observation))
        assert moment.reward == 1


def test_the_diver_without_wind_reaches_the_treasure() -> None:
    from bsuite.environments.deep_sea import DeepSea

    env = DeepSea(8, seed=0, mapping_seed=42)
    model = to_model(deep_sea(8))
    assert model.episodes is not None
    moment, total = env.reset(), 0.0
    for number in model.episodes.action[0]:
        moment = env.step(int(model.graph.actions[number]))
        total += moment.reward
    assert moment.last()
    assert total == pytest.approx(0.99)


def test_the_wind_holds_back_with_its_probability() -> None:
    """Size 3: two steps that matter, each of which fails with probability 1/3."""
    model = to_model(deep_sea(3, windy=True))
    assert [level.size for level in model.graph.levels] == [1, 2, 4]
    assert sorted(level / model.graph.levels[2].total for level in model.graph.levels[2].mass) == pytest.approx(
        [1 / 9, 2 / 9, 2 / 9, 4 / 9]
    )


@pytest.mark.parametrize("make", [lambda: deep_sea(0), lambda: deep_sea(13, windy=True), lambda: catch(1)])
def test_sizes_are_checked(make: Any) -> None:
    with pytest.raises(UserError):
        make()
