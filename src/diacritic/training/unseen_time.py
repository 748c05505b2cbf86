"""Which steps of a recording look alike to a policy, although they ask for different actions.

Two steps look alike where no channel's means are further apart than so many deviations of a single observation; they
ask for different actions where one action for both would cost more than the imitation loss may rise. A memory has to
keep the time there. Episodes with the same symbols at all steps are one history.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from certify.core.exact import Ints
from certify.errors import UserError
from diacritic.training.data import Data
from diacritic.training.revision import histories

RISE = 0.002  # largest rise of the squared error of standardised actions, beside the relative one
ALIKE = 6.0  # deviations within which two steps of one history look alike
DRIFT = 18.0  # … and two steps of any histories, once a policy's own actions led it astray; picked on weighing at gap 6
MOST_KINDS = 64  # histories that are compared with each other, the most frequent ones
Floats = NDArray[np.float64]


def unseen_clock(data: Data) -> tuple[Ints, Ints]:
    """Of every step and episode, [T, N], what the observations show of the time and what they hide.

    Steps of one symbol and history that look alike are one scene. Steps of one scene that ask for different actions
    have different colours; 0 where no other step is in the way.
    """
    symbols, seen, asked = _arrays(data)
    T, N = symbols.shape
    group, alike, apart = histories(symbols)[-1], np.eye(T, dtype=bool), np.zeros((T, T), bool)
    for one in np.unique(group):
        here = group == one
        look, spread, action = seen[:, here].mean(1), seen[:, here].std(1), asked[:, here].mean(1)
        shown = symbols[:, here][:, 0]
        close = (np.abs(look[:, None] - look) <= ALIKE * np.maximum(spread[:, None], spread) + 1e-3).all(-1)
        close &= shown[:, None] == shown
        alike |= close
        apart |= close & (np.square(action[:, None] - action).mean(-1) / 2 / T > RISE)
    return np.repeat(_components(alike)[:, None], N, 1), np.repeat(_colours(apart)[:, None], N, 1)


def drifting_clock(data: Data) -> tuple[Ints, Ints]:
    """The same for a policy that has drifted, whose pose may be that of another history at another time.

    A light load at one step may hang where a heavy one does at the next, where the expert turns back; its previous
    action distinguishes them in a recording, but not for a policy that made that action itself.
    """
    symbols, seen, asked = _arrays(data)
    T, N = symbols.shape
    kinds = _Kinds.of(histories(symbols)[-1], seen, asked)
    apart = np.zeros((T, T), bool)
    for t in range(T):
        for earlier in range(t):
            apart[t, earlier] = apart[earlier, t] = kinds.confused(t, earlier)
    return np.repeat(_components(apart)[:, None], N, 1), np.repeat(_colours(apart)[:, None], N, 1)


def sensor_noise(data: Data) -> Tensor:
    """The deviation of each channel's white noise, [channels]: what neighbouring steps of an episode do not share."""
    symbols, seen, _ = _arrays(data)
    noise = np.zeros(seen.shape[-1])
    group = histories(symbols)[-1]
    episodes, kinds = len(group), int(group.max()) + 1
    if len(seen) > 2 and episodes > kinds:
        rest = seen - _means(group, seen)[:, group]
        rough = rest[1:-1] - (rest[:-2] + rest[2:]) / 2
        noise = np.median(np.sqrt(np.square(rough).sum(1) / (episodes - kinds) / 1.5), 0)
    return torch.from_numpy(noise).to(data.observation)


@dataclass(frozen=True)
class _Kinds:
    """Episodes of the G most frequent histories."""

    look: Floats  # [T, G, channels]
    spread: Floats  # [T, channels]
    action: Floats  # [T, G, A]

    @staticmethod
    def of(group: Ints, seen: Floats, asked: Floats) -> "_Kinds":
        look = _means(group, seen)
        rest = max(1, len(group) - look.shape[1])
        frequent = np.sort(np.argsort(-np.bincount(group), kind="stable")[:MOST_KINDS])
        spread = np.sqrt(np.square(seen - look[:, group]).sum(1) / rest)
        return _Kinds(look[:, frequent], spread, _means(group, asked)[:, frequent])

    def confused(self, t: int, u: int) -> bool:
        """Whether episodes of some kind at step t look like some at step u, which ask for another action."""
        tolerance = DRIFT * np.maximum(self.spread[t], self.spread[u]) + 1e-3
        low, high = self.look.min(1), self.look.max(1)
        if (low[t] > high[u] + tolerance).any() or (low[u] > high[t] + tolerance).any():
            return False
        far = np.square(self.action[t, :, None] - self.action[u]).mean(-1) / 2 / len(self.look) > RISE
        for k in np.argsort(tolerance):
            far &= np.abs(self.look[t, :, None, k] - self.look[u, :, k]) <= tolerance[k]
            if not far.any():
                return False
        return True


def _arrays(data: Data) -> tuple[Ints, Floats, Floats]:
    """Symbols, observations and actions of every step and episode."""
    if data.symbol is None:
        raise UserError("data", "has no symbols; only recordings with them can be compressed")
    seen = data.observation[data.observation_index].double().cpu().numpy()
    return data.symbol.cpu().numpy(), seen, data.target.double().cpu().numpy()


def _means(group: Ints, values: Floats) -> Floats:
    """Means over the episodes of each group: [T, N, ·] gives [T, G, ·]."""
    return np.stack([values[:, group == one].mean(1) for one in range(int(group.max()) + 1)], 1)


def _components(linked: NDArray[np.bool_]) -> Ints:
    """The first of all steps that each one is linked with, directly or not."""
    T = len(linked)
    first, linked = np.arange(T), linked | np.eye(T, dtype=bool)
    for _ in range(T):
        first = np.where(linked, first, T).min(1)
    return first


def _colours(apart: NDArray[np.bool_]) -> Ints:
    """Different positive numbers for steps that are to be kept apart; 0 where there is no such step."""
    colour = np.zeros(len(apart), np.int64)
    for t in np.flatnonzero(apart.any(1)):
        taken = set(colour[:t][apart[t, :t]])
        colour[t] = next(k for k in range(1, t + 2) if k not in taken)
    return colour
