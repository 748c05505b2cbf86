"""Interventions on learning that add no target: curriculum, refinement, a double budget, the prior; full history."""

from collections.abc import Iterator, Sequence
from math import log
from statistics import NormalDist
from typing import Any

from numpy.typing import ArrayLike

from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.catalogue import statistics
from reproduction.catalogue._declare import SETTINGS, counted, franka, from_paper, reported
from reproduction.catalogue._figures import derived, study
from reproduction.catalogue.plain_trajectories import EPISODES, PLACE
from reproduction.catalogue.statistics import Observed, both_classes, distance_alone, p_value, regression
from reproduction.derive import gathered, success_range, sufficient
from reproduction.figure import Figure
from reproduction.reference import figure
from reproduction.statistics import fisher
from reproduction.verdicts import Value, value

NAME, _BLOCK = "interventions", "stats.interventions"
_RELEASE: dict[str, Any] = {"preset": "release", "beta": 2e-3}  # as the authors ran them
_CURRICULUM = 6000  # updates after those at gap 6


def _cells() -> Iterator[Cell]:
    for entry in figure(_BLOCK, "double_budget"):
        paper = from_paper(_BLOCK, rows="double_budget", setting=entry["setting"])
        yield franka(NAME, SETTINGS[entry["setting"]], "scaffold+bfs", paper, steps=entry["steps"], **_RELEASE)
    for setting in ("gap 6", "gap 10", "gap 20"):
        for learner in ("refinement", "plain+bfs", "scaffold+bfs"):
            yield franka(NAME, SETTINGS[setting], learner, **_RELEASE)
    easier = franka(NAME, SETTINGS["gap 6"], "scaffold+bfs", **_RELEASE)
    for entry in figure(_BLOCK, "curriculum_sufficient"):
        task, paper = SETTINGS[entry["setting"]], reported(_BLOCK, entry)
        yield franka(NAME, task, "scaffold+bfs", paper, **_RELEASE, steps=_CURRICULUM, after=easier)
    prior = figure(_BLOCK, "prior_unconditional_vs_conditional")
    paper = counted(_BLOCK, prior["unconditional"], prior["of"])
    yield franka(NAME, PLACE, "unconditional", paper, demonstrations=EPISODES)
    none = figure(_BLOCK, "non_persistent")
    yield franka(
        NAME, PLACE, "non-persistent", counted(_BLOCK, none["sufficient"], none["of"]), demonstrations=EPISODES
    )


_OWN = tuple(_cells())
_HISTORY = tuple(franka(NAME, task, "full-history", **_RELEASE) for task in SETTINGS.values())


def _pool() -> tuple[Cell, ...]:
    """Sole carriers on two cues under the full gradient: the sweeps and the interventions."""
    own = [cell for cell in _OWN if cell.preset == "release" and cell.task.name == "two-cues"]
    pooled = [*statistics.POOL, *own]
    return tuple({cell.digest: cell for cell in reversed(pooled)}.values())  # of a shared cell the one with more seeds


POOL = _pool()


def factors(rows: Sequence[Observed]) -> dict[str, ArrayLike]:
    """The release's: the distance, the logarithm of N, β in thousandths, what the learner has, and which class."""
    cells = [row.cell for row in rows]
    return {
        **distance_alone(rows),
        "log N": [log(cell.demonstrations or 1) for cell in cells],
        "β": [1e3 * cell.beta for cell in cells],
        "bfs": [float("bfs" in cell.learner) for cell in cells],
        "scaffold": [float("scaffold" in cell.learner) for cell in cells],
        "refinement": [float(cell.learner == "refinement") for cell in cells],
        "curriculum": [float(cell.after is not None) for cell in cells],
        "second class": [float(row.second) for row in rows],
    }


def _half(coefficient: float, p: float) -> float:
    """Half the 95 % interval of a coefficient that a normal test gives this p."""
    normal = NormalDist()
    return abs(coefficient) * normal.inv_cdf(0.975) / normal.inv_cdf(1 - p / 2)


def _least_p(results: Results) -> Value | None:
    """Fisher's p of refinement against plain runs, at the gap where they differ most."""
    ps: list[float] = []
    for refined in (cell for cell in _OWN if cell.learner == "refinement"):
        plain = [cell for cell in statistics.CELLS if (cell.task, cell.learner) == (refined.task, "plain")]
        counts = [sufficient(gathered(results, cells)) for cells in ([refined], plain)]
        if not all(count.of for count in counts):
            return None
        ps.append(fisher(counts[0], counts[1]))
    return value(min(ps))


def _coefficients() -> Iterator[Figure]:
    rows = both_classes(POOL)
    for name in ("refinement", "curriculum", "bfs"):
        coefficient, p = (figure(_BLOCK, f"{name}.{key}") for key in ("coefficient", "p"))
        yield derived(
            f"{name}: log-odds in the pooled regression",
            _BLOCK,
            value(coefficient),
            regression(rows, factors, name),
            _half(coefficient, p),
        )
        yield derived(
            f"{name}: p in the pooled regression",
            _BLOCK,
            value(p),
            regression(rows, factors, name, p_value),
            statistics.same_side(p),
        )


STUDY = study(
    NAME,
    (*_OWN, *_HISTORY),
    {
        "full history: closed loop": success_range(_HISTORY),
        "refinement against plain: least Fisher p over the gaps": _least_p,
    },
    (*_coefficients(),),
)
