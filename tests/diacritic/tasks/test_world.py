"""Worlds answer as their models say, and urns draw by exact weight."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from rollout_twin import names_of

from certify import Model
from certify.zoo.registry import find
from diacritic.tasks.world import LivingWorld, RecordedWorld, Urn, World, world_of


def test_a_living_world_answers_any_action() -> None:
    model = find("signpost-corridor").make(M=4, W=1)
    world = world_of(model)
    assert isinstance(world, LivingWorld)
    seen, done = names_of(model.graph.observations), names_of(model.graph.actions)
    starts = world.starts()
    assert len(starts) == 8
    assert len({weight for _, weight in starts}) == 1
    state = starts[0][0]
    for word in ["turn 0", "turn 0", "turn 0", "right"]:  # nothing but the sidestep matters on the way
        [(state, _)] = world.answer(state, done.index(word))
    view = world.look(state)
    assert view.observation == seen.index("hall1 +1")
    assert view.correct == {done.index("forward")}
    [(state, _)] = world.answer(state, done.index("right"))
    assert world.look(state).observation is None  # the expert never gets to hall1 +2


def test_a_recorded_world_answers_what_the_expert_does() -> None:
    model = find("signpost-corridor").make(M=4, W=1)
    world = world_of(replace(model, dynamics=None))
    assert isinstance(world, RecordedWorld)
    done = names_of(model.graph.actions)
    state = world.starts()[0][0]
    assert world.answer(state, done.index("left")) == []
    for _ in range(3):
        answers = world.answer(state, done.index("forward"))
        state = answers[0][0]
        assert len({weight for _, weight in answers}) == 1
    assert world.look(state).correct == {done.index("left"), done.index("right")}


@pytest.mark.parametrize("name", ["gap", "three-histories", "stochastic-expert", "cue-corridor"])
def test_both_worlds_agree_along_the_experts_histories(name: str) -> None:
    model = find(name).make()
    assert _laws(world_of(model), model.horizon) == _laws(world_of(replace(model, dynamics=None)), model.horizon)


def _laws(world: World, horizon: int) -> dict[tuple[tuple[object, ...], ...], Fraction]:
    """P(O_1, A_1, …) of a policy that takes each correct action with equal probability."""
    starts = world.starts()
    total = sum(weight for _, weight in starts)
    walks = [((), state, Fraction(weight, total)) for state, weight in starts]
    for _ in range(horizon):
        following = []
        for story, state, p in walks:
            observation, correct = world.look(state)
            for action in correct:
                answers = world.answer(state, action) or [(state, 1)]
                whole = sum(weight for _, weight in answers)
                for target, weight in answers:
                    share = p * Fraction(weight, whole * len(correct))
                    following.append(((*story, (observation, action)), target, share))
        walks = following
    laws: dict[tuple[tuple[object, ...], ...], Fraction] = {}
    for story, _, p in walks:
        laws[story] = laws.get(story, Fraction(0)) + p
    return laws


def test_a_model_without_dynamics_is_no_living_world() -> None:
    model = Model.from_arrays([[0, 1]], [[0, 0]])
    with pytest.raises(ValueError, match="model: it has no dynamics"):
        LivingWorld(model)


@pytest.mark.parametrize("scale", [1, 3**200])
def test_urns_draw_by_weight(scale: int) -> None:
    urn = Urn([((0, "a"), 2 * scale), ((1, "b"), scale), ((2, "c"), 5 * scale)])
    random = np.random.default_rng(5)
    count = np.bincount([urn.draw(random)[0] for _ in range(8_000)], minlength=3)
    assert abs(count - [2_000, 1_000, 5_000]).max() < 200
