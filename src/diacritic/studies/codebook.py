"""How many codes: raise K from the certified bound until the gate is first met and the rate settles, then freeze."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean

from diacritic.files.ledger import Row

LADDER = tuple(map(Fraction, ("1", "5/4", "3/2", "2", "3", "4", "6", "8")))
"""Multiples of the bound that are tried in turn."""
MET = 0.5  # share of sufficient seeds from which the gate counts as met
SETTLED = 0.1  # bits by which the mean rate of no window may change from one K to the next


@dataclass(frozen=True)
class Tried:
    """What K codes gave."""

    codes: int
    passed: int
    of: int
    rate: dict[str, float]
    """Mean bits of the sufficient seeds, by window."""

    @property
    def met(self) -> bool:
        return self.passed >= MET * self.of

    def settled(self, before: "Tried") -> bool:
        """Whether the rate is that of the K before."""
        return all(abs(bits - before.rate.get(name, bits)) < SETTLED for name, bits in self.rate.items())

    @staticmethod
    def of_rows(codes: int, rows: Sequence[Row]) -> "Tried":
        good = [row for row in rows if row["sufficient"]]
        names = good[0]["rate"] if good else {}
        rates = {name: [row["rate"][name] for row in good] for name in names}
        rate = {name: mean(bits) for name, bits in rates.items() if None not in bits}
        return Tried(codes, len(good), len(rows), rate)


def ladder(bound: int) -> list[int]:
    """Codebook sizes from the bound up, each once."""
    return list(dict.fromkeys(-(-bound * step.numerator // step.denominator) for step in LADDER))


def select(bound: int, run: Callable[[int], Sequence[Row]]) -> tuple[int | None, list[Tried]]:
    """The frozen K, or none if the ladder ends first, and everything that was tried.

    K is frozen where the gate is met and the next K, meeting it too, changes no window's rate by 0.1 bit.
    """
    tried: list[Tried] = []
    for codes in ladder(bound):
        tried.append(Tried.of_rows(codes, run(codes)))
        if len(tried) > 1 and tried[-2].met and tried[-1].met and tried[-1].settled(tried[-2]):
            return tried[-2].codes, tried
    return None, tried
