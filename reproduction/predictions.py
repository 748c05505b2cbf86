"""What the paper predicted before it ran, and whether it held there and here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from diacritic.measure.content import Question
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.catalogue import community, hidden_mass, leak_audit, side_information, surplus, toys, weighing
from reproduction.derive import gathered, mean_rate, most_information, success_range
from reproduction.reference import block, figure
from reproduction.verdicts import Range, Value


@dataclass(frozen=True)
class Prediction:
    """A statement made before the runs that test it."""

    said: str
    paper: bool
    """Whether it held in the paper."""
    holds: Callable[[Results], bool | None]
    """Whether it holds in our ledgers; nothing while the runs are missing."""


@dataclass(frozen=True)
class Outcome:
    """A prediction and what our runs say of it."""

    prediction: Prediction
    ours: bool | None


def predictions(results: Results) -> list[Outcome]:
    """Every prediction with its outcome."""
    return [Outcome(prediction, prediction.holds(results)) for prediction in PREDICTIONS]


_FIXED = figure("table.bigM", "predictions_fixed_before_runs")
_LARGE = [
    cell
    for cell in hidden_mass.CELLS
    if (cell.learner, cell.preset, cell.beta) == ("plain", "carousel", 1e-3)
    and dict(cell.task.parameters)["modes"] in (128, 512)
]


def _high(value: Value | None) -> float | None:
    return value.high if isinstance(value, Range) else None


def _large(results: Results) -> bool | None:
    """Many masses: hardly any rate, none of it on the mass, and a working policy."""
    rates = [mean_rate(results.complete(cell), "grasp", over_all=True) for cell in _LARGE]
    mass = _high(most_information(_LARGE, Question("mass").title, "grasp")(results))
    success = success_range(_LARGE)(results)
    if None in rates or mass is None or not isinstance(success, Range):
        return None
    low_rate = max(rate for rate in rates if rate is not None) <= _FIXED["rate_bits_max"]
    return low_rate and mass <= _FIXED["mass_bits_max"] and success.low >= _FIXED["closed_loop_min"]


def _paper_large() -> bool:
    rows = [row for row in block("table.bigM")["rows"] if row["learner"] == "plain" and row["beta"] > 0]
    return all(
        row["grasp_bits"] <= _FIXED["rate_bits_max"]
        and row["mass_bits"] <= _FIXED["mass_bits_max"]
        and row["closed_loop"] >= _FIXED["closed_loop_min"]
        for row in rows
    )


_JITTER = figure("jitter_intervention", "prediction_surplus_below_bits")
_NEAR = figure("table.cert", "prediction_mid_delay_tolerance_bits")
_STOCHASTIC = figure("stochastic_expert", "predicted_rate_tolerance_bits")
_HYBRID = figure("weigh.hybrid", "prediction_side_accuracy_above")


def _without_jitter(results: Results) -> bool | None:
    bits = _high(surplus.surplus(surplus.STILL)(results))
    return None if bits is None else bits < _JITTER


def _mid_delay(results: Results) -> bool | None:
    bits = _high(community.worst(results))
    return None if bits is None else bits <= _NEAR


def _experts() -> list[Cell]:
    return [
        cell
        for cell in toys.CELLS
        if cell.task.name == "stochastic-expert" and cell.preset == "carousel" and cell.beta > 0
    ]


def _merged(results: Results) -> bool | None:
    """All runs with a price on the rate are sufficient and carry 0.918 bit to a tenth."""
    rows = gathered(results, _experts())
    near = [abs(row["rate"]["decision"] - row["requirement"]["decision"]) <= _STOCHASTIC for row in rows]
    return all(near) and all(row["sufficient"] for row in rows) if rows else None


def _flag(results: Results) -> bool | None:
    """Flag A is raised by most correct runs with a leak of at least the noise, and by none without."""
    rows = {cell: results.complete(cell) for cell in leak_audit.CELLS}
    if not all(rows.values()):
        return None
    raised = {cell: [("A" in leak_audit.evidence(row).flags) for row in listed] for cell, listed in rows.items()}
    leaking = [flag for cell in leak_audit.CELLS[3:] for flag in raised[cell]]
    return not any(raised[leak_audit.CELLS[0]]) and sum(leaking) > len(leaking) / 2


def _strict(results: Results) -> bool | None:
    """Every strict readout with pending decisions passes."""
    cells = [cell for cell in side_information.STUDY.cells if cell.learner.endswith("+task-informed")]
    rows = gathered(results, cells)
    return all(row["sufficient"] for row in rows) if rows else None


def _weighed(results: Results) -> bool | None:
    """The sufficient policies from the first step take the right side after the expert has weighed for them."""
    sides = [weighing.hybrid(row["gap"], "side")(results) for row in figure("weigh.hybrid", "rows")]
    measured = [_high(side) for side in sides]
    return None if None in measured else all(side > _HYBRID for side in measured if side is not None)


def _listed() -> Iterator[Prediction]:
    yield Prediction(
        f"hidden mass, M = 128 and 512: at most {_FIXED['rate_bits_max']} bit, {_FIXED['mass_bits_max']} on the mass, "
        f"success at least {_FIXED['closed_loop_min']}",
        _paper_large(),
        _large,
    )
    yield Prediction(
        f"without jitter the surplus stays below {_JITTER} bit",
        figure("jitter_intervention", "no_jitter.surplus_bits") < _JITTER,
        _without_jitter,
    )
    yield Prediction(
        f"community benchmarks: every sufficient run within {_NEAR} bit of the requirement at mid-delay",
        figure("table.cert", "max_mid_delay_deviation_bits") <= _NEAR,
        _mid_delay,
    )
    yield Prediction(
        f"stochastic expert: with a price on the rate, runs within {_STOCHASTIC} bit of 0.918",
        figure("stochastic_expert", "prediction_held"),
        _merged,
    )
    yield Prediction(
        "flag A gives an injected leak away",
        figure("table.audit", "flag_A_total.flagged") > figure("table.audit", "flag_A_total.of") / 2,
        _flag,
    )
    yield Prediction(
        "strict readouts with pending decisions: every run passes",
        all(row["sufficient"] == row["of"] for row in block("table.e1e4")["rows"]),
        _strict,
    )
    yield Prediction(
        f"weighing, hybrid rollout: side accuracy above {_HYBRID}",
        all(row["side_accuracy_after"] > _HYBRID for row in figure("weigh.hybrid", "rows")),
        _weighed,
    )


PREDICTIONS = tuple(_listed())
