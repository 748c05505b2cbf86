"""The verdict on one figure: ours beside the paper's, never rounded in our favour.

Counts of seeds are contrasted by Fisher's exact test, two-sided at 0.05. A mean over seeds is held against the spread
of our seeds, a number against a tolerance that its figure declares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from statistics import mean, stdev
from typing import Literal, NamedTuple

from certify.optional import import_optional
from diacritic.measure.statistics import fisher, wilson

Verdict = Literal["agrees", "better", "differs", "not run", "ours alone"]
VERDICTS: tuple[Verdict, ...] = ("agrees", "better", "differs", "not run", "ours alone")
Better = Literal["higher", "lower"] | None
"""Which way is better; none where nothing is: then a departure differs, whichever way it goes."""
LEVEL = 0.05  # two-sided
SUCCESS_TOLERANCE = 0.05  # of a mean success, where our seeds hardly spread
RATE_TOLERANCE = 0.1  # bits; what the paper allows its own predictions


class Count(NamedTuple):
    """So many of so many."""

    passed: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, at 95 %."""
        return wilson(*self)

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


def contrast(ours: Count, paper: Count, better: Better = "higher") -> Verdict:
    """Fisher's exact test of two counts; more is better only where the figure says so."""
    if fisher(ours, paper) >= LEVEL:
        return "agrees"
    above = ours.passed * paper.of > paper.passed * ours.of
    return "better" if (better == "higher" and above) or (better == "lower" and not above) else "differs"


def near(ours: Range | Profile, paper: Range | Profile, within: float, better: Better = None) -> Verdict:
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


def judge(ours: Value | None, paper: Value, within: float, better: Better) -> Verdict:
    """The verdict on any figure; a count stands beside counts only."""
    if ours is None:
        return "not run"
    if isinstance(ours, Count) and isinstance(paper, Count):
        return contrast(ours, paper, better)
    if isinstance(ours, Count) or isinstance(paper, Count):
        return "differs"
    return near(ours, paper, within, better)


def success_verdict(ours: Sequence[float], paper: float, better: Better = "higher") -> Verdict:
    """Mean success over seeds: the paper's seeds are taken to spread as ours do."""
    within = SUCCESS_TOLERANCE
    if len(ours) > 1:
        quantile = float(import_optional("scipy.stats", "measure").t.ppf(1 - LEVEL / 2, len(ours) - 1))
        within = max(within, quantile * sqrt(2 / len(ours)) * stdev(ours))
    return near(Range(mean(ours), mean(ours)), Range(paper, paper), within, better)
