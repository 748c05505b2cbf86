"""What survives an episode boundary is found by playing other episodes first."""

import numpy as np
import pytest
from measure_twin import Bypassed, Keeper, Memory, cue_episodes

from certify.errors import UserError
from diacritic.measure.persistence import ResetLeak, reset_leak

EPISODES = cue_episodes()


class Haunted(Keeper):
    """Keeps the codes of the last episode and begins with them; its waiting is not touched by it."""

    last: np.ndarray | None = None

    def begin(self, batch: int) -> Memory:
        return super().begin(batch) if self.last is None else Memory(self.last)

    def look(self, state: Memory, observation: np.ndarray) -> Memory:
        lit = (observation[:, 0] < 4) & (state.code == 2)  # only an empty memory takes up a cue
        after = Memory(np.where(lit, observation[:, 0] % 2, state.code))
        self.last = after.code
        return after


@pytest.mark.parametrize("kind", [Keeper, Bypassed])
def test_a_memory_that_ends_with_the_episode_is_cleared(kind: type[Keeper]) -> None:
    leak = reset_leak(kind(), EPISODES.observations, EPISODES.previous)
    assert leak == ResetLeak(0.0, 0.0)
    assert not leak.detected
    assert "bit by bit" in leak.line()


def test_a_memory_that_survives_is_found() -> None:
    policy = Haunted()
    leak = reset_leak(policy, EPISODES.observations, EPISODES.previous)
    assert leak.detected
    assert (leak.codes, leak.actions) == (1.0, 1.0)  # every cue is that of the neighbour
    assert "100.0% of the codes differ" in leak.line()
    assert policy.last is None  # the policy itself was not played


def test_one_episode_has_no_boundary() -> None:
    with pytest.raises(UserError, match="observations: 1 episode"):
        reset_leak(Keeper(), EPISODES.observations[:, :1], EPISODES.previous[:, :1])
