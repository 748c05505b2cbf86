"""The verdict on one line: ours beside the paper's, never rounded in our favour.

A cell compares up to three things. Counts of sufficient seeds are contrasted by Fisher's exact test, two-sided at 0.05.
Rates differ where means are more than 0.1 bit apart and the ranges of seeds do not overlap; success likewise, with 0.1.
A line *agrees* only if nothing differs and nothing is far apart. It is *better* only where the contrast of counts
survives Holm's correction over all contrasts of its table; to our disadvantage the uncorrected p is enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from statistics import mean
from typing import Literal, NamedTuple

from diacritic.measure.statistics import wilson
from reproduction.statistics import fisher

Kind = Literal["agrees", "no difference shown", "better", "differs", "not run", "not in the paper"]
KINDS: tuple[Kind, ...] = ("agrees", "no difference shown", "better", "differs", "not run", "not in the paper")
Better = Literal["higher", "lower"] | None
"""Which way is better; none where neither is: then a departure differs, whichever way it goes."""
LEVEL = 0.05  # two-sided
SHARE_TOLERANCE = 0.2  # of sufficient seeds: one of eight, or three of sixteen
SUCCESS_TOLERANCE = 0.1
RATE_TOLERANCE = 0.1  # bits; what the paper allows its own predictions


class Count(NamedTuple):
    """So many of so many."""

    passed: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, at 95 %."""
        return wilson(*self)

    @property
    def share(self) -> float:
        return self.passed / self.of

    def __str__(self) -> str:
        return f"{self.passed}/{self.of}"


@dataclass(frozen=True)
class Range:
    """A number or a stretch of numbers."""

    low: float
    high: float

    def __str__(self) -> str:
        if isnan(self.low):
            return "no estimate"
        return f"{self.low:.4g}" if self.low == self.high else f"{self.low:.4g}–{self.high:.4g}"


NO_ESTIMATE = Range(nan, nan)
"""All runs are there, and yet the number does not exist, a slope of what always fails say; it agrees with none."""


@dataclass(frozen=True)
class Profile:
    """One number for each step or setting."""

    values: tuple[float, ...]

    def __str__(self) -> str:
        return ", ".join(f"{value:.4g}" for value in self.values)


Value = Count | Range | Profile


def value(given: float | bool | Sequence[float]) -> Range | Profile:
    """A figure as written: one number, or one for each step."""
    if isinstance(given, Sequence):
        return Profile(tuple(float(item) for item in given))
    return Range(float(given), float(given))


class P(NamedTuple):
    """Of Fisher's test: as it is, and after Holm's correction over the table."""

    raw: float
    adjusted: float


class Part(NamedTuple):
    """One thing that was compared."""

    name: str
    state: Literal["near", "unclear", "differs", "above", "better"]
    """`above`: apart, in our favour, but no test says so; `better`: the test does."""


@dataclass(frozen=True)
class Verdict:
    """What a comparison of one line comes to."""

    kind: Kind
    parts: tuple[str, ...] = ()
    """Of a line that differs: in what."""
    seeds: int = 0
    p: P | None = None

    def __str__(self) -> str:
        if self.kind == "no difference shown":
            return f"{self.kind} (n={self.seeds})"
        return f"differs in {', '.join(self.parts)}" if self.parts else self.kind


NOT_RUN, NOT_IN_PAPER = Verdict("not run"), Verdict("not in the paper")


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p of tests that are made together."""
    adjusted, least = [0.0] * len(ps), 0.0
    for rank, k in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = adjusted[k] = max(least, min(1.0, (len(ps) - rank) * ps[k]))
    return adjusted


def count_part(ours: Count, paper: Count, better: Better, p: P) -> Part:
    """Sufficient seeds; counts that are far apart without a significant difference are not an agreement."""
    if p.raw >= LEVEL:
        return Part("count", "near" if abs(ours.share - paper.share) <= SHARE_TOLERANCE else "unclear")
    if better != ("higher" if ours.share > paper.share else "lower"):
        return Part("count", "differs")
    return Part("count", "better" if p.adjusted < LEVEL else "unclear")


def spread_part(name: str, ours: Sequence[float], paper: Sequence[float], within: float, better: Better = None) -> Part:
    """Numbers of seeds beside the paper's mean, which comes first, and what single runs of its release gave."""
    if not ours:
        return Part(name, "unclear")
    apart = mean(ours) - paper[0]
    if abs(apart) <= within + 1e-12 or (min(ours) <= max(paper) and min(paper) <= max(ours)):
        return Part(name, "near")
    favourable = better == ("higher" if apart > 0 else "lower")
    return Part(f"{name} ({apart:+.2f})", "above" if favourable else "differs")


def combined(parts: Sequence[Part], seeds: int, p: P | None = None) -> Verdict:
    """What differs decides; then what is better; then what is unclear."""
    states = {part.state for part in parts}
    if "differs" in states or ("above" in states and "better" not in states):
        return Verdict("differs", tuple(part.name for part in parts if part.state in ("differs", "above")), seeds, p)
    if "better" in states:
        return Verdict("better", (), seeds, p)
    return Verdict("no difference shown" if "unclear" in states else "agrees", (), seeds, p)


def near(ours: Range | Profile, paper: Range | Profile, within: float, better: Better = None) -> Kind:
    """Numbers to a tolerance; ours may lie beyond it on the better side."""
    if isinstance(ours, Profile) and isinstance(paper, Profile):
        pairs = zip(ours.values, paper.values, strict=False)
        same = len(ours.values) == len(paper.values) and all(abs(a - b) <= within + 1e-12 for a, b in pairs)
        return "agrees" if same else "differs"
    if isinstance(ours, Profile) or isinstance(paper, Profile):
        return "differs"
    if paper.low - within <= ours.low + 1e-12 and ours.high - 1e-12 <= paper.high + within:
        return "agrees"
    beyond = {"higher": ours.low > paper.low - within, "lower": ours.high < paper.high + within}
    return "better" if better is not None and beyond[better] else "differs"


def contrast(ours: Value | None, paper: Value | None) -> float | None:
    """Fisher's p of two counts; none of other values."""
    return fisher(ours, paper) if isinstance(ours, Count) and isinstance(paper, Count) else None


def judge(
    ours: Value | None, paper: Value, within: float, better: Better, p: P | None = None, tested: bool = True
) -> Verdict:
    """The verdict on a figure; a count stands beside counts only.

    `tested`: it comes from seeds, so that only a test can call it better; seconds and proofs are what they are.
    """
    if ours is None:
        return NOT_RUN
    if isinstance(ours, Count) and isinstance(paper, Count):
        alone = p or P(*[fisher(ours, paper)] * 2)
        return combined([count_part(ours, paper, better, alone)], min(ours.of, paper.of), alone)
    if isinstance(ours, Count) or isinstance(paper, Count):
        return Verdict("differs", ("kind",))
    kind = near(ours, paper, within, better)
    if kind == "better" and tested:
        return Verdict("differs", (f"value, to the better side ({better})",))
    return Verdict(kind, ("value",) if kind == "differs" else ())
