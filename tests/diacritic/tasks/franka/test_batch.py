"""The core: reproducible, independent of the batch, strict about its input, and clean in the gaps."""

from dataclasses import replace

import numpy as np
import pytest
from franka_episodes import expert_episodes

from certify import UserError
from diacritic.tasks.franka import scene
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.layout import SLICES
from diacritic.tasks.franka.tasks import TwoCues, Weighing, make_task

SHORT = TwoCues(gap=1, first_gap=1)
SENSED = slice(0, SLICES["distractor"].start)


def test_same_seed_same_episodes_whatever_the_batch() -> None:
    wide = expert_episodes(FrankaBatch(SHORT, 4, seed=7, threads=2))
    narrow = FrankaBatch(SHORT, 2, seed=7, threads=1)
    parts = [expert_episodes(narrow), expert_episodes(narrow)]
    joined = np.concatenate([part.observations for part in parts], axis=1)
    assert joined.tobytes() == wide.observations.tobytes()
    assert np.concatenate([part.latents["theta"] for part in parts]).tolist() == wide.latents["theta"].tolist()
    other = expert_episodes(FrankaBatch(SHORT, 4, seed=8))
    assert (other.observations != wide.observations).any()


def test_reseed_begins_again() -> None:
    core = FrankaBatch(SHORT, 2, seed=3)
    first, second = core.reset(), core.reset()
    core.reseed(3)
    assert (core.reset() == first).all()
    assert (second != first).any()


def test_replaying_the_actions_gives_the_observations() -> None:
    """The recorded float32 actions are the ones that were executed."""
    played = expert_episodes(FrankaBatch(SHORT, 2, seed=4))
    core = FrankaBatch(SHORT, 2, seed=4)
    seen = core.reset()
    for t in range(SHORT.horizon):
        assert np.array_equal(seen, played.observations[t])
        seen = core.step(played.actions[t])


def test_given_latents_are_used_and_the_rest_is_drawn() -> None:
    core = FrankaBatch(SHORT, 3)
    core.reset({"theta": [1, 2, 3], "hover": 1})
    assert core.latents["theta"].tolist() == [1, 2, 3]
    assert core.latents["hover"].tolist() == [1, 1, 1]
    assert core.choices["side"].tolist() == [1, 0, 1]
    assert core.choices["slot"].tolist() == [0, 1, 1]
    assert set(core.latents) == set(SHORT.latents)


@pytest.mark.parametrize(
    ("latents", "where"),
    [
        ({"colour": 1}, "latents.colour"),
        ({"theta": 32}, "latents.theta"),
        ({"theta": -1}, "latents.theta"),
        ({"theta": [1, 2, 3, 4]}, "latents.theta"),
        ({"theta": 0.5}, "latents.theta"),
    ],
)
def test_impossible_latents_are_refused(latents: dict, where: str) -> None:
    with pytest.raises(UserError) as refused:
        FrankaBatch(SHORT, 3).reset(latents)
    assert refused.value.where == where


def test_bad_actions_are_refused() -> None:
    core = FrankaBatch(SHORT, 2)
    core.reset()
    for bad in (np.zeros((2, 3)), np.zeros(4), np.full((2, 4), np.nan)):
        with pytest.raises(UserError, match="actions"):
            core.step(bad)


def test_bad_beginnings_are_refused() -> None:
    with pytest.raises(UserError, match="episodes"):
        FrankaBatch(SHORT, 0)
    with pytest.raises(UserError, match="seed"):
        FrankaBatch(SHORT, 1, seed=-1)
    with pytest.raises(UserError, match="reset"):
        FrankaBatch(SHORT, 1).step(np.zeros((1, 4)))


def test_steps_end_with_the_horizon() -> None:
    core = FrankaBatch(SHORT, 1)
    core.reset()
    for t in range(SHORT.horizon):
        core.step(core.expert())
        info = core.info()
        assert info["done"] == (t == SHORT.horizon - 1)
        assert ("success" in info) == info["done"]
    with pytest.raises(UserError, match="reset"):
        core.step(np.zeros((1, 4)))


def test_a_wrong_decision_is_reported_and_the_object_is_judged_where_it_lies() -> None:
    core = FrankaBatch(SHORT, 2)
    core.reset()
    while core.t < SHORT.horizon:
        core.step(np.zeros((2, 4)))
    assert not core.outcome()["success"].any()
    core.reset({"theta": [0, 3]})
    assert {name: values.tolist() for name, values in core.decided().items()} == {"side": [-1, -1], "slot": [-1, -1]}
    while core.t < SHORT.horizon:
        action = core.expert()
        core.step(action if core.t < core.task.decisions["slot"] else action[::-1])
    outcome = core.outcome()
    assert outcome["side"].all()
    assert not outcome["slot"].any()
    assert not outcome["success"].any()
    assert core.decided()["slot"].tolist() == [1, 0]


def test_success_asks_for_the_place_and_the_height_alone() -> None:
    """The object within 3 cm of its slot and 2 cm of its rest: not the side, and not an open gripper."""
    core = FrankaBatch(SHORT, 4)
    core.reset({"theta": 0})
    x, y = scene.SLOTS[0]
    core.object.position = np.array([[x, y, 0.025], [x + 0.029, y, 0.044], [x + 0.031, y, 0.025], [x, y, 0.046]])
    assert core.outcome()["success"].tolist() == [True, True, False, False]


def test_object_out_of_reach_is_not_attached() -> None:
    core = FrankaBatch(replace(SHORT, jitter=0.0), 1)
    core.reset()
    before = core.object.position.copy()
    for _ in range(2):
        core.step(np.array([[0.0, 0.0, 0.0, 1.0]]))
    assert (core.object.position == before).all()


@pytest.mark.parametrize("name", ["two-cues", "readout-3"])
def test_gaps_of_attached_tasks_hold_no_trace(name: str) -> None:
    """Without noise and jitter, what is sensed in a gap is the same for every mode; only the last gap's first steps
    still settle from the side that was taken."""
    task = make_task(name, no_noise=True, jitter=0.0)
    played = expert_episodes(FrankaBatch(task, 16), {"theta": np.arange(0, 48, 3) % 32, "hover": 0, "distractor": 0})
    spread = {gap: np.ptp(played.observations[list(steps)][..., SENSED], axis=1) for gap, steps in task.windows.items()}
    assert spread["gap1"].max() < 1e-6
    assert spread["gap2"].max() < 1e-3
    assert np.ptp(played.observations[task.decisions["side"] + 1, :, SENSED], axis=0).max() > 0.05


def test_weight_is_felt_while_held_and_the_fixture_removes_its_trace() -> None:
    """Adjacent classes sag 8 to 15 mm apart; in the gap only the flawed variant remembers the mass."""
    heights, gaps = {}, {}
    for fixture in (True, False):
        task = Weighing(no_noise=True, no_fixture=not fixture, jitter=0.0)
        played = expert_episodes(FrankaBatch(task, 4), {"mass": np.arange(4), "hover": 0, "distractor": 0})
        assert played.outcome["success"].all()
        heights[fixture] = played.observations[task.reveals[-1], :, 2]
        gap = played.observations[list(task.windows["gap1"])][..., SENSED]
        gaps[fixture] = np.ptp(gap, axis=1).max()
    drops = -np.diff(heights[True])
    assert 0.008 < drops.min() < drops.max() < 0.015
    assert gaps[True] < 1e-3 < 2e-3 < gaps[False]


def test_contact_leaves_a_trace_of_the_mass() -> None:
    """Held by friction, masses that differ by 80 g differ by about a millimetre."""
    task = TwoCues(contact=True, no_noise=True, jitter=0.0)
    played = expert_episodes(FrankaBatch(task, 4), {"theta": [0, 8, 16, 24], "hover": 0})
    height = played.observations[task.windows["gap2"][3], :, SLICES["tool position"]][:, 2]
    drops = -np.diff(height)
    assert 2e-4 < drops.min() < drops.max() < 3e-3
