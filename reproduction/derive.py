"""Figures that are derived from the rows of trained runs."""

from collections.abc import Callable, Iterable, Sequence
from statistics import mean

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.verdicts import NO_ESTIMATE, Count, Range, Value

Derived = Callable[[Results], Value | None]


def declared(results: Results) -> list[Row]:
    """Every run of a cell of the catalogue, once, though several studies may share it."""
    from reproduction.catalogue import CELLS  # whose figures are derived from this

    return list({id(row): row for cell in CELLS for row in results.shown(cell)}.values())


def passed(row: Row) -> bool:
    """Whether a run is sufficient on all recorded episodes, as the paper judges; older rows have held-out ones."""
    return bool(row.get("recorded_sufficient", row["sufficient"])) and not row["diverged"]


def sufficient(rows: Iterable[Row]) -> Count:
    """Sufficient seeds of all."""
    verdicts = [passed(row) for row in rows]
    return Count(sum(verdicts), len(verdicts))


def rates_of(rows: Iterable[Row], window: str, over_all: bool = False) -> list[float]:
    """Bits in a window over the sufficient runs, or over all, by the paper's convention; empty where one has none."""
    bits = [row.get("recorded_rate", row["rate"]).get(window) for row in rows if over_all or passed(row)]
    return [] if None in bits else bits


def mean_rate(rows: Iterable[Row], window: str, over_all: bool = False) -> float | None:
    """Their mean; none where there are none."""
    bits = rates_of(rows, window, over_all)
    return mean(bits) if bits else None


def tally(cells: Sequence[Cell], passes: Callable[[Row], bool] = passed) -> Derived:
    """How many runs of all these cells pass; nothing while one of them lacks runs."""

    def derive(results: Results) -> Value | None:
        rows = gathered(results, cells)
        return Count(sum(passes(row) for row in rows), len(rows)) if rows else None

    return derive


def rate_range(cells: Sequence[Cell], window: str, over_all: bool = False) -> Derived:
    """The stretch in which the mean rates of these cells lie; no estimate where no run is sufficient."""

    def derive(results: Results) -> Value | None:
        if not gathered(results, cells):
            return None
        rates = [mean_rate(results.complete(cell), window, over_all) for cell in cells]
        measured = [bits for bits in rates if bits is not None]
        return Range(min(measured), max(measured)) if measured else NO_ESTIMATE

    return derive


def success_range(cells: Sequence[Cell], passes: Callable[[Row], bool] = lambda row: True) -> Derived:
    """The stretch in which the mean successes of these cells lie, over the runs that pass."""

    def derive(results: Results) -> Value | None:
        if not gathered(results, cells):
            return None
        by_cell = [[row["success"] for row in results.complete(cell) if passes(row)] for cell in cells]
        means = [mean(values) for values in by_cell if values and None not in values]
        if not means and any(None in values for values in by_cell):
            return None  # not played
        return Range(min(means), max(means)) if means else NO_ESTIMATE

    return derive


def most_information(cells: Sequence[Cell], hidden: str, window: str | None = None) -> Derived:
    """The most that the code tells of a hidden value: mean bits over a cell's seeds, in the worst cell and window."""

    def derive(results: Results) -> Value | None:
        means, runs = list[float](), gathered(results, cells)
        for cell in cells if runs else ():
            rows = results.complete(cell)
            for name in [window] if window else rows[0].get("information", {}):
                bits = [row.get("information", {}).get(name, {}).get(hidden) for row in rows]
                means += [mean(bits)] if None not in bits else []
        return spread([max(means)] if means else [], runs)

    return derive


def spread(values: Sequence[float], rows: Sequence[Row]) -> Value | None:
    """The stretch of numbers that come from rows; no estimate where the rows give none, nothing without rows."""
    if not values:
        return NO_ESTIMATE if rows else None
    return Range(min(values), max(values))


def gathered(results: Results, cells: Sequence[Cell]) -> list[Row]:
    """The runs of all these cells, or none while one of them lacks runs."""
    by_cell = [results.complete(cell) for cell in cells]
    return [row for rows in by_cell for row in rows] if all(by_cell) else []
