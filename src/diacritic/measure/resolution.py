"""Does the code carry observation detail that the symbol omits? Rates on ever finer grids, against fragmentation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from certify.errors import UserError
from diacritic.measure.plugin import conditional_entropy, joint, shuffled_within

GRIDS = (0.10, 0.05, 0.02, 0.01, 0.005)  # metres
PERMUTATIONS = 20


@dataclass(frozen=True)
class Resolution:
    """One cell size, averaged over the steps of a window; bits.

    Small cells hold few episodes, which lowers any plug-in entropy. The null permutes the codes inside each symbol: it
    keeps H(C|Ō), knows nothing of the position, and fragments alike. A rate below the null is position in the code.
    """

    metres: float | None  # None: the symbol alone
    rate: float  # Ĥ(C | Ō, grid cell)
    null: float  # mean over the permutations

    @property
    def excess(self) -> float:
        """What the position explains of the code beyond fragmentation."""
        return self.null - self.rate


def resolution_sweep(
    codes: ArrayLike,
    symbols: ArrayLike,
    positions: ArrayLike,
    steps: Sequence[int],
    grids: Sequence[float] = GRIDS,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Resolution]:
    """One run's codes [T, N] given symbols [T, N] and raw positions [T, N, axes] in metres, over the chosen steps."""
    code, seen, coordinates = np.asarray(codes), np.asarray(symbols), np.asarray(positions, np.float64)
    if code.shape != seen.shape or coordinates.shape[:2] != seen.shape or coordinates.ndim != 3:
        reason = f"shape {coordinates.shape} beside symbols {seen.shape} and codes {code.shape}"
        raise UserError("positions", f"{reason}; expected [steps, episodes, axes]")
    if not len(steps) or min(steps) < 0 or max(steps) >= len(seen):
        raise UserError("steps", f"expected some of the steps 0…{len(seen) - 1}, not {list(steps)}")
    if not np.isfinite(coordinates).all() or not coordinates[list(steps)].std(1).any():
        raise UserError("positions", "they never vary or are not finite; give the raw end-effector positions")
    if any(metres <= 0 for metres in grids):
        raise UserError("grids", "a cell size must be positive, in metres")
    shuffles = np.random.default_rng(seed).spawn(permutations)
    resolutions = []
    for metres in (None, *grids):
        rows = []
        for t in steps:
            given = joint(seen[t], *([] if metres is None else np.floor(coordinates[t] / metres).astype(np.int64).T))
            null = [conditional_entropy(shuffled_within(code[t], seen[t], shuffle), given) for shuffle in shuffles]
            rows.append((conditional_entropy(code[t], given), np.mean(null)))
        resolutions.append(Resolution(metres, *(float(value) for value in np.mean(rows, axis=0))))
    return resolutions
