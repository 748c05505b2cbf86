"""Closed loop: a carrier that copies the expert succeeds, one that swaps the slots fails there and only there."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from carrier_twin import lively
from expert_carrier import code_of, expert_carrier, odd_scale, short_task

from certify.errors import UserError
from diacritic.demos.binner import UNSEEN
from diacritic.demos.record import record
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.rollout.closed_loop import Rollouts, play, takeover
from diacritic.rollout.policies import Policies
from diacritic.tasks.protocol import Simulation, policy_view
from diacritic.tasks.registry import make as make_task
from diacritic.training.cohort import Cohort, Plan, Run, initial_weights
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.recorded import from_recording

TASK, SCALE, EPISODES = short_task(), odd_scale(), 6
HIDDEN = {"theta": np.arange(EPISODES), "hover": np.zeros(EPISODES, int)}  # the copy always takes 0 of the coin


@pytest.fixture(scope="module")
def pair() -> tuple[Parameters, Architecture]:
    """Two runs: the expert's copy, and one that takes each slot for the other."""
    (right, shape), (wrong, _) = (expert_carrier(TASK, SCALE, swapped) for swapped in (False, True))
    return {name: torch.stack([right[name], wrong[name]]) for name in right}, shape


@pytest.fixture(scope="module")
def played(pair: tuple[Parameters, Architecture]) -> Rollouts:
    return play(TASK, Policies(*pair, SCALE), EPISODES, seed=3, threads=1, latents=HIDDEN)


def test_a_copy_of_the_expert_succeeds_and_swapped_slots_fail(played: Rollouts) -> None:
    assert played.success.tolist() == [[True] * EPISODES, [False] * EPISODES]
    assert played.outcome["side"].all()
    assert played.outcome["slot"].tolist() == [[True] * EPISODES, [False] * EPISODES]
    assert played.action_error[0] < 0.01
    step = TASK.decisions["slot"]
    assert played.error[1, :step].max() < 0.01
    assert (played.error[1, step] > 3).all()  # a third of the way between two slots
    assert played.summary(0) == {
        "success": 1.0,
        "side": 1.0,
        "slot": 1.0,
        "action_error_cm": float(played.action_error[0]),
        "unseen_symbols": None,
        "episodes": EPISODES,
        "takeover": 0,
    }


def test_codes_are_those_of_the_episodes(played: Rollouts) -> None:
    cue = played.latents["theta"] % 4
    assert len(np.unique(cue)) == 4
    for t in range(TASK.horizon):
        assert played.codes[0, t].tolist() == [code_of(t, c) for c in cue]
        assert played.codes[1, t].tolist() == [code_of(t, c ^ 2) for c in cue]


def test_every_policy_plays_the_same_episodes(played: Rollouts) -> None:
    assert played.choices["slot"].tolist() == (played.latents["theta"] // 2 % 2).tolist()
    assert set(np.unique(played.executed[..., 3])) == {0.0, 1.0}
    np.testing.assert_array_equal(played.observations[0, 0], played.observations[1, 0])
    assert np.abs(played.observations[0, -1] - played.observations[1, -1]).max() > 0.05


def test_the_same_numbers_again_and_on_two_threads(pair: tuple[Parameters, Architecture], played: Rollouts) -> None:
    again = play(TASK, Policies(*pair, SCALE), EPISODES, seed=3, threads=2, latents=HIDDEN)
    for name in ("codes", "error", "observations"):
        np.testing.assert_array_equal(getattr(again, name), getattr(played, name))
    np.testing.assert_array_equal(again.outcome["distance"], played.outcome["distance"])
    other = play(TASK, Policies(*pair, SCALE), EPISODES, seed=4, threads=2)
    assert (other.codes != played.codes).any()


def test_hybrid_lets_the_expert_drive_while_memories_watch(
    pair: tuple[Parameters, Architecture], played: Rollouts
) -> None:
    rollout = play(
        TASK, Policies(*pair, SCALE), EPISODES, seed=3, threads=1, takeover=takeover(TASK, "place"), latents=HIDDEN
    )
    first = TASK.phase_steps("place")[0]
    assert rollout.takeover == first
    assert not rollout.error[:, :first].any()
    np.testing.assert_array_equal(rollout.codes, played.codes)
    assert rollout.success.tolist() == [[True] * EPISODES, [False] * EPISODES]
    assert rollout.action_error[1] == pytest.approx(rollout.error[1, first:].mean())


def test_a_policy_that_only_watches_has_no_error_of_its_own(played: Rollouts) -> None:
    watched = replace(played, takeover=TASK.horizon)
    assert np.isnan(watched.action_error).all()
    assert watched.summary(0)["action_error_cm"] is None


def test_a_phase_that_the_task_lacks_is_refused() -> None:
    assert takeover(TASK, "grasp") == TASK.phase_steps("grasp")[0]
    with pytest.raises(UserError, match=r"until: .*'landing'; there are home, to_scan"):
        takeover(TASK, "landing")


def test_symbols_are_read_online_and_unseen_ones_counted(pair: tuple[Parameters, Architecture]) -> None:
    _, binner = record(make_task("two-cues", gap=1, first_gap=1), 64, seed=1)
    rollout = play(TASK, Policies(*pair, SCALE), EPISODES, seed=3, binner=binner, threads=1, latents=HIDDEN)
    assert rollout.symbols is not None
    assert rollout.unseen is not None
    assert rollout.unseen.tolist() == [0, 0]
    lit = next(k for k, name in enumerate(binner.names) if name.startswith("scan"))
    less = replace(binner, keys=np.delete(binner.keys, lit), names=tuple(np.delete(binner.names, lit)))
    fewer = play(TASK, Policies(*pair, SCALE), EPISODES, seed=3, binner=less, threads=1, latents=HIDDEN)
    assert fewer.unseen is not None
    assert fewer.symbols is not None
    assert fewer.unseen.tolist() == (rollout.symbols == lit).sum((1, 2)).tolist()
    assert fewer.unseen[0] > 0
    np.testing.assert_array_equal(fewer.symbols == UNSEEN, rollout.symbols == lit)


@pytest.mark.parametrize("pixels", [False, pytest.param(True, marks=pytest.mark.system)])
def test_memories_that_watch_the_expert_hold_the_codes_of_training(pixels: bool) -> None:
    """In the episodes of a recording the loop shows every memory what training showed it."""
    raw = TASK.demonstrate({"theta": np.array([1, 6], np.int32)}, 8, Simulation(1, pixels))
    seen = policy_view(TASK, raw.observations, raw.frames)
    data, scale = from_recording(seen, raw.actions, frames=raw.frames)
    plan = Plan(learner("plain"), preset("carousel"), (Run(0), Run(1)), 1, Architecture(6, 3, 8))
    cohort = Cohort(plan, data, parameters=lively(initial_weights(plan, data), (0, 1), torch.float32))
    player = Policies({name: value.detach() for name, value in cohort.parameters.items()}, plan.carrier, scale)
    rollout = play(TASK, player, 2, 8, None, 1, TASK.horizon, latents={"theta": np.array([1, 6])})
    np.testing.assert_array_equal(rollout.observations[1], raw.observations)
    assert len(np.unique(rollout.codes)) > 2
    with torch.no_grad():
        np.testing.assert_array_equal(rollout.codes, cohort.trace().step_code.numpy())


def test_a_policy_remembers_what_it_wanted(pair: tuple[Parameters, Architecture]) -> None:
    """The gripper that it wanted, not the one that closed; until it takes over, the expert's action."""

    class Witness(Policies):
        previous: list[np.ndarray | None]

        def begin(self, episodes: int) -> None:
            self.previous, self.wanted = [], []
            super().begin(episodes)

        def step(self, seen, previous, symbols=None, frames=None):
            self.previous.append(previous)
            codes, wanted = super().step(seen, previous, symbols, frames)
            self.wanted.append(wanted - [0, 0, 0, 0.25])
            return codes, self.wanted[-1]

    player = Witness(*pair, SCALE)
    rollout = play(TASK, player, EPISODES, 3, threads=1, takeover=2, latents=HIDDEN)
    assert player.previous[0] is None
    np.testing.assert_array_equal(player.previous[2], rollout.executed[:, 1])
    for t in range(3, TASK.horizon):
        np.testing.assert_array_equal(player.previous[t], player.wanted[t - 1])
    assert set(np.unique(rollout.executed[..., 3])) == {0.0, 1.0}


def test_seconds_in_the_simulator_are_counted(played: Rollouts) -> None:
    assert 0 < played.simulated <= played.seconds
