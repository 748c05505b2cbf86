"""Estimates with their 95 % intervals."""

from typing import NamedTuple

from certify.errors import UserError
from certify.optional import import_optional


class Interval(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share: all p that a score test of the count does not reject."""
    if not 0 <= successes <= trials or not trials:
        raise UserError("trials", f"{successes} of {trials} is not a share")
    low, high = import_optional("statsmodels.stats.proportion", "measure").proportion_confint(
        successes, trials, method="wilson"
    )
    return float(low), float(high)
