"""Hidden mass over the number of masses: the plain carrier, identification with growing codebooks, inverse models."""

from collections.abc import Iterator
from math import log2

from diacritic.measure.content import Question
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import MANY, PRESETS, franka, from_paper
from reproduction.catalogue._figures import derived, study
from reproduction.derive import mean_rate, most_information, rate_range, success_range, tally
from reproduction.reference import block, figure
from reproduction.statistics import line
from reproduction.verdicts import Count, Value, value

NAME = "hidden-mass"
_RATE = {"grasp": "grasp_bits"}
_LEARNERS = {
    "plain": "plain",
    "system-id": "sysid",
    "inverse-only": "inverse-only",
    "inverse+imitation+rate": "inverse+imitation",
}


def _cells() -> Iterator[Cell]:
    for entry in block("table.sysK")["rows"]:
        instance, learner = task("hidden-mass", modes=entry["M"]), _LEARNERS[entry["learner"]]
        match = {key: entry[key] for key in ("learner", "K", "M") if key in entry}
        paper, codes = from_paper("table.sysK", _RATE, **match), entry.get("K", 16)
        yield from (
            franka(NAME, instance, learner, paper, codes=codes, preset=preset, seeds=MANY) for preset in PRESETS
        )
    for entry in block("table.bigM")["rows"]:
        instance, learner = task("hidden-mass", modes=entry["M"]), _LEARNERS[entry["learner"]]
        match = {key: entry[key] for key in ("M", "learner", "K", "beta", "N") if key in entry}
        changes = {"codes": entry["K"], "beta": entry.get("beta", 1e-3), "demonstrations": entry["N"]}
        paper = from_paper("table.bigM", _RATE, **match)
        yield from (franka(NAME, instance, learner, paper, preset=preset, seeds=MANY, **changes) for preset in PRESETS)


CELLS = tuple(_cells())
_PLAIN = [
    cell
    for cell in CELLS
    if (cell.learner, cell.preset, cell.codes, cell.beta, cell.demonstrations) == ("plain", "carousel", 16, 1e-3, 448)
]


def _modes(cell: Cell) -> int:
    return dict(cell.task.parameters)["modes"]


def widest(cells: tuple[Cell, ...] = CELLS) -> list[Cell]:
    """Of each number of masses the identification with the largest codebook, N = 448."""
    asked = [c for c in cells if (c.learner, c.preset, c.demonstrations) == ("sysid", "carousel", 448)]
    return [max((c for c in asked if _modes(c) == modes), key=lambda c: c.codes) for modes in (4, 8, 16, 32, 128, 512)]


def slope(results: Results) -> Value | None:
    """Slope of the identified rate in log₂ M."""
    rates = [mean_rate(results.complete(cell), "grasp", over_all=True) for cell in widest()]
    points = [(log2(_modes(cell)), bits) for cell, bits in zip(widest(), rates, strict=True) if bits is not None]
    if len(points) < len(rates):
        return None
    x, y = zip(*points, strict=True)
    return value(line(x, y).slope.value)


STUDY = study(
    NAME,
    CELLS,
    {
        "plain: bits during the grasp": rate_range(_PLAIN, "grasp", over_all=True),
        "plain: most bits on the mass during the grasp": most_information(_PLAIN, Question("mass").title, "grasp"),
        "plain: closed loop": success_range(_PLAIN),
        "identification, largest codebooks: slope in log₂ M": slope,
    },
    (
        derived(
            "plain, all numbers of masses: sufficient runs",
            "table.task_a_summary",
            Count(*(len(_PLAIN) * figure("table.task_a_summary", key) for key in ("sufficient", "of"))),
            tally(_PLAIN),
            better="higher",
        ),
    ),
)
