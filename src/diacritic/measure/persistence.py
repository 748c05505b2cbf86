"""Reset leak: does anything survive an episode boundary? Play A and then B, and compare with B alone."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.measure.interventions import Policy


@dataclass(frozen=True)
class ResetLeak:
    """How B differs after A from B alone; a policy that forgets at the boundary differs nowhere."""

    codes: float  # share of steps and episodes with another code
    actions: float  # largest difference of an action

    @property
    def detected(self) -> bool:
        return self.codes > 0 or self.actions > 0

    def line(self) -> str:
        if not self.detected:
            return "episodes played after others give the same codes and actions, bit by bit"
        return f"after other episodes {self.codes:.1%} of the codes differ, and actions by up to {self.actions:.3g}"


def reset_leak(policy: Policy, observations: Any, previous: Any) -> ResetLeak:
    """Episodes B [T, N, …], alone and after the episodes A: the same ones, each in the place of its neighbour.

    Each time a copy of the policy is taken, so that neither play knows of the other.
    """
    episodes = observations.shape[1]
    if episodes < 2:
        raise UserError("observations", f"{episodes} episode; a boundary needs another one before it, give 2 or more")
    own = np.arange(episodes)
    alone = play_episodes(deepcopy(policy), observations, previous, own)
    used = deepcopy(policy)
    play_episodes(used, observations, previous, np.roll(own, 1))
    after = play_episodes(used, observations, previous, own)
    different = float((alone[0] != after[0]).mean())
    return ResetLeak(different, float(np.abs(alone[1] - after[1]).max()))


def play_episodes(
    policy: Policy, observations: Any, previous: Any, rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes [T, N] and actions [T, N, …] of whole episodes."""
    state, codes, actions = policy.begin(len(rows)), [], []
    for seen, before in zip(observations, previous, strict=True):
        state, code, action = policy.step(state, seen[rows], before[rows])
        codes.append(np.asarray(code))
        actions.append(np.asarray(action, np.float64))
    return np.stack(codes), np.stack(actions)
