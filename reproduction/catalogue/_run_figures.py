"""Figures of a cell's sufficient runs, from their folders: resolution, held-out bounds, content of a surplus."""

from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING

from diacritic.measure.resolution import GRIDS
from diacritic.studies.cell import Cell
from reproduction.catalogue._figures import measured
from reproduction.figure import Figure
from reproduction.reference import figure
from reproduction.verdicts import Profile, Range, Value, value

if TYPE_CHECKING:
    from reproduction.surplus_content import RunCodes


def of_runs(cell: Cell, told: "Callable[[RunCodes], Value | None]") -> Callable[[], Value | None]:
    """A figure of the runs, or nothing where there are none."""

    def measure() -> Value | None:
        from reproduction.surplus_content import run_codes

        runs = run_codes(cell)
        return None if runs is None else told(runs)

    return measure


def refined(window: str, runs: "RunCodes") -> Value:
    """Mean bits over the runs, given the symbol and the tool's cell on every grid."""
    sweeps = runs.sweep(window)
    return Profile(tuple(mean(run[k].rate for run in sweeps) for k in range(1, len(GRIDS) + 1)))


def beyond_null(window: str, runs: "RunCodes") -> Value:
    """The largest distance, over the grids, of the runs' mean rate from that of permuted codes."""
    sweeps = runs.sweep(window)
    return value(max(abs(mean(run[k].excess for run in sweeps)) for k in range(1, len(GRIDS) + 1)))


def bound(window: str, runs: "RunCodes") -> Value:
    """The runs' mean upper bound of H(C|O)."""
    return value(mean(runs.bound(window)))


def explained(history: bool, share: bool, runs: "RunCodes") -> Value | None:
    """Mean bits of the surplus at the midpoint that are explained at least, or their share of it in per cent."""
    parts = runs.explained(figure("surplus", "midpoint_step"), history)
    least, whole = sum(part.least for part in parts), sum(part.surplus for part in parts)
    if not share:
        return value(least / len(parts))
    return value(100 * least / whole) if whole > 0 else None


def resolution(cell: Cell, name: str) -> tuple[Figure, ...]:
    """The sweep over grids, its permutation null and the held-out bound, in both gaps; the paper's are of plain runs at
    gap 6, so that none of ours is better or worse."""
    block, said = "resolution_sweep", partial(figure, "resolution_sweep")
    gap = f"{name}: largest distance in the {{}} gap between a rate and its permutation null, bits"
    most = f"{name}: held-out upper bound of the rate in the {{}} gap, given all that is seen, bits"
    grids = f"{name}: bits in the first gap, given the position on grids of 10, 5, 2, 1 and 0.5 cm"
    first, second = said("permutation_null_max_gap_bits"), Range(*said("second_gap_excess_over_null_bits"))
    once, later = said("cross_validated_logistic_bits"), said("second_gap_cross_validated_bits")

    def ours(told: "Callable[[str, RunCodes], Value | None]", window: str) -> Callable[[], Value | None]:
        return of_runs(cell, partial(told, window))

    return (
        measured(grids, block, value(said("first_gap_bits")), ours(refined, "gap1"), 0.1),
        measured(gap.format("first"), block, value(first), ours(beyond_null, "gap1"), 0.02),
        measured(gap.format("second"), block, second, ours(beyond_null, "gap2"), 0.02),
        measured(most.format("first"), block, value(once), ours(bound, "gap1"), 0.1),
        measured(most.format("second"), block, value(later), ours(bound, "gap2"), 0.1),
    )


def decomposition(kept: Cell, annealed: Cell) -> tuple[Figure, ...]:
    """What explains the surplus at the midpoint of the second gap at least.

    The paper has targets that are never annealed; of annealed ones only the share can be compared.
    """
    figures = []
    for history, said, key in (
        (False, "the object's place explains at least", "midpoint_position"),
        (True, "the place and the noisy path explain at least", "midpoint_position_and_history"),
    ):
        bits, share = value(figure("surplus", f"{key}_bits_min")), value(figure("surplus", f"{key}_percent"))
        name = f"of the surplus at the midpoint that {said}"
        never, faded = (partial(explained, history, per_cent) for per_cent in (False, True))
        figures += [
            measured(f"never annealed: bits {name}", "surplus", bits, of_runs(kept, never), 0.1),
            measured(f"annealed: per cent {name}", "surplus", share, of_runs(annealed, faded), 10),
        ]
    return tuple(figures)
