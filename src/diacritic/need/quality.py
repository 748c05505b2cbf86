"""What is odd in a recording before any question is asked of it."""

import numpy as np

from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.need.ridge import EMPTY, Ints

FEWEST = 16  # episodes, below which nothing can be said
JUMP = 25.0  # times the median change of a frame, back to near the first frame: a reset


def sound_episodes(demos: Demos) -> tuple[Ints, list[str]]:
    """The numbers of all episodes but copies of others, and a note about everything odd."""
    if demos.steps < 2:
        raise UserError(demos.task, "has one step an episode, so nothing can be remembered; give whole episodes")
    if demos.episodes < 2:
        raise UserError(demos.task, "has one episode; give at least 16 of them")
    largest = max(float(np.abs(demos.observations).max()), float(np.abs(demos.actions).max()))
    if largest > 1e18:
        raise UserError(demos.task, f"holds the number {largest:.1e}; scale the channels, or record again")
    notes = []
    both = np.concatenate([demos.observations, demos.actions.reshape(*demos.actions.shape[:2], -1)], 2)
    rows = np.ascontiguousarray(both.transpose(1, 0, 2)).reshape(demos.episodes, -1)
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    if len(first) < demos.episodes:
        notes.append(f"{demos.episodes - len(first)} episodes are copies of others and were left out")
    flat = demos.observations.reshape(-1, demos.observations.shape[2]).astype(np.float64)
    constant = np.flatnonzero(flat.std(0) <= EMPTY * (1 + np.abs(flat).max(0)))
    if len(constant):
        notes.append(f"{len(constant)} of {flat.shape[1]} channels never vary ({_listed(constant)})")
    resets = _resets(demos)
    if len(resets):
        notes.append(f"{len(resets)} episodes seem to hold a reset ({_listed(resets)}); split them there")
    return first, notes


def _resets(demos: Demos) -> Ints:
    """Episodes that jump back to near their first frame."""
    seen = demos.observations.astype(np.float64)
    spread = seen.std((0, 1))
    seen = seen[:, :, spread > EMPTY] / spread[spread > EMPTY]
    change = np.linalg.norm(np.diff(seen, axis=0), axis=2)
    back = np.linalg.norm(seen[1:] - seen[:1], axis=2)
    typical = np.median(change) + 1e-12
    odd = (change > JUMP * typical) & (back < 3 * typical)
    if demos.mask is not None:
        odd &= demos.mask[1:]
    return np.flatnonzero(odd.any(0))


def _listed(numbers: Ints, most: int = 5) -> str:
    return ", ".join(map(str, numbers[:most].tolist())) + (", …" if len(numbers) > most else "")
