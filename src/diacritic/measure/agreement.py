"""Two verdicts on the same runs: expert against own occupancy, first against fresh recording, gate against gate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from certify.errors import UserError
from diacritic.measure.statistics import wilson


@dataclass(frozen=True)
class Agreement:
    """Runs by their two verdicts."""

    both: int
    neither: int
    first_only: tuple[int, ...]  # seeds that pass the first alone
    second_only: tuple[int, ...]

    @staticmethod
    def of(first: ArrayLike, second: ArrayLike, seeds: Sequence[int] | None = None) -> "Agreement":
        """From two verdicts of each run, in the same order."""
        one, two = np.asarray(first, np.bool_), np.asarray(second, np.bool_)
        names = list(range(len(one)) if seeds is None else seeds)
        if one.shape != two.shape or one.ndim != 1 or len(names) != len(one) or not len(one):
            raise UserError("verdicts", f"{one.size} and {two.size} of {len(names)} runs; each run needs both")
        return Agreement(
            int((one & two).sum()),
            int((~one & ~two).sum()),
            tuple(names[k] for k in np.flatnonzero(one & ~two)),
            tuple(names[k] for k in np.flatnonzero(~one & two)),
        )

    @property
    def runs(self) -> int:
        return self.both + self.neither + len(self.first_only) + len(self.second_only)

    @property
    def agree(self) -> int:
        return self.both + self.neither

    @property
    def share(self) -> float:
        return self.agree / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of the share, Wilson."""
        return wilson(self.agree, self.runs)

    def lines(self, first: str = "expert occupancy", second: str = "own occupancy") -> list[str]:
        """The table in words."""
        low, high = self.interval
        width = max(len(f"{first} passes"), len(f"{first} fails"))
        rows = (("passes", self.both, len(self.first_only)), ("fails", len(self.second_only), self.neither))
        head = f"{'':{width}}  {second} passes  fails"
        table = [f"{f'{first} {word}':{width}}  {a:>{len(second) + 7}}  {b:>5}" for word, a, b in rows]
        said = f"{self.agree}/{self.runs} verdicts agree ({self.share:.2f}, 95 % {low:.2f}–{high:.2f})"
        switched = sorted({*self.first_only, *self.second_only})
        return [head, *table, f"{said}; switched: {', '.join(map(str, switched)) or 'none'}"]
