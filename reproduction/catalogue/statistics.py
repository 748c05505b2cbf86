"""Intervals, contrasts and regressions on the distance from reveal to use, over the runs of all studies."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from numpy.typing import ArrayLike

from certify.errors import UserError
from diacritic.files.ledger import Row
from diacritic.measure.gates import THRESHOLD
from diacritic.measure.statistics import wilson
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue import cue_corridor, plain_trajectories, signpost_corridor
from reproduction.catalogue._declare import franka, range_of
from reproduction.catalogue._figures import derived, measured, study
from reproduction.derive import Derived, gathered, tally
from reproduction.figure import Figure
from reproduction.reference import block, figure
from reproduction.statistics import Coefficient, contrasts, indicators, logistic
from reproduction.verdicts import LEVEL, NO_ESTIMATE, Count, Profile, Range, Value, value

NAME, _SWEEP, _DISTANCE = "statistics", "stats.distance_sweeps", "stats.distance"
_KEYS = {"plain": "plain_place", "plain+bfs": "plain_bfs_place", "scaffold+bfs": "scaffold_RF_place"}
_TABLE = block(_SWEEP)
_GRASP = 10  # steps of the grasp
_REPLICATES = 200  # of a bootstrap: pages compute it again


def _cells() -> Iterator[Cell]:
    """The full gradient, as in the paper: our default carries classes over any of these distances."""
    for learner in _KEYS:
        for gap in _TABLE["gap"]:
            yield franka(NAME, task("two-cues", gap=gap), learner, preset="release", beta=2e-3, seeds=_TABLE["of"])
        for first in (10, 20):
            instance = task("two-cues", first_gap=first, gap=6)
            yield franka(NAME, instance, learner, preset="release", beta=2e-3, seeds=_TABLE["gap1_sweep_seeds"])


CELLS = tuple(_cells())
POOL = (*CELLS, *(cell for cell in plain_trajectories.STUDY.cells if cell.preset == "release"))
"""The sweeps, and the plain runs of another N and β: sole carriers on one task, trained with the full gradient."""


class Observed(NamedTuple):
    """One row of a regression: a class in one run, and whether the code still told it when it was used."""

    cell: Cell
    run: str
    distance: float
    kept: float
    second: bool
    """Whether it is the class that is used last."""


Rows = Callable[[Results], list[Observed]]
Factors = Callable[[Sequence[Observed]], dict[str, ArrayLike]]
Unit = Literal["run", "configuration"]
"""What is one cluster: the two rows of a run, or all rows of a configuration."""
Told = Callable[[Coefficient], Value | None]


def _kept(row: Row, window: str) -> float:
    """1 where the class that is decided in this phase is still in the code."""
    score = row["scores"][window]["S_G"]
    return float(score is None or score > THRESHOLD)


def _gaps(cell: Cell) -> tuple[int, int]:
    given = dict(cell.task.parameters)
    return given.get("first_gap", 2), given.get("gap", 6)


def both_classes(cells: Sequence[Cell]) -> Rows:
    """Two rows a run: the class of the grasp and that of the place; none while a cell lacks runs."""

    def rows(results: Results) -> list[Observed]:
        observed: list[Observed] = []
        for cell in cells if gathered(results, cells) else ():
            first, second = _gaps(cell)
            for row in results.complete(cell):
                steps = {"grasp": first + 1.0, "place": first + 1.0 + _GRASP + second}
                observed += [
                    Observed(cell, _run(row), far, _kept(row, window), window == "place")
                    for window, far in steps.items()
                ]
        return observed

    return rows


def _one_class(cells: Sequence[Cell], distance: Callable[[Cell], float], kept: Callable[[Row], bool]) -> Rows:
    """One row a run; none while a cell lacks runs."""

    def rows(results: Results) -> list[Observed]:
        complete = cells if gathered(results, cells) else ()
        runs = [(cell, row) for cell in complete for row in results.complete(cell)]
        return [Observed(cell, _run(row), distance(cell), float(kept(row)), False) for cell, row in runs]

    return rows


def _run(row: Row) -> str:
    return f"{row['configuration']} {row['seed']}"


def distance_alone(rows: Sequence[Observed]) -> dict[str, ArrayLike]:
    return {"distance": [row.distance for row in rows]}


def _and_learner(rows: Sequence[Observed]) -> dict[str, ArrayLike]:
    return {**distance_alone(rows), **indicators("learner", [row.cell.learner for row in rows])}


def _and_settings(rows: Sequence[Observed]) -> dict[str, ArrayLike]:
    """Also β in thousandths, N in thousands, and whether the first gap is what varies."""
    return {
        **_and_learner(rows),
        "β": [1e3 * row.cell.beta for row in rows],
        "N": [(row.cell.demonstrations or 0) / 1e3 for row in rows],
        "first gap": [float(_gaps(row.cell)[0] != 2) for row in rows],
    }


def estimate(
    rows: Sequence[Observed], factors: Factors, name: str, by: Unit = "run", replicates: int = 0
) -> Coefficient | None:
    """One factor of a logistic regression of `kept`; none without rows, or where no estimate is finite.

    That is so where all runs keep their class, or none does, or where the factors tell those that do. A bootstrap
    counts if half of its samples have an estimate.
    """
    if not rows:
        return None
    clusters = [row.run if by == "run" else row.run.partition(" ")[0] for row in rows]
    try:
        fit = logistic([row.kept for row in rows], factors(rows), clusters, replicates)
    except UserError as error:
        if error.where in ("success", "factors"):
            return None
        raise
    return None if name in fit.unbounded or 2 * fit.failed > replicates else fit[name]


def point(coefficient: Coefficient) -> Value:
    return value(coefficient.value)


def p_value(coefficient: Coefficient) -> Value:
    return value(coefficient.p)


def robust(coefficient: Coefficient) -> Value:
    """The 95 % interval whose errors are robust to clusters."""
    return Range(coefficient.low, coefficient.high)


def redrawn(coefficient: Coefficient) -> Value | None:
    """The 95 % interval over redrawn clusters."""
    return None if coefficient.redrawn is None else Range(*coefficient.redrawn)


def regression(
    rows: Rows, factors: Factors, name: str, tell: Told = point, by: Unit = "run", replicates: int = 0
) -> Derived:
    """What a regression tells of one factor; nothing while runs are missing."""

    def derive(results: Results) -> Value | None:
        seen = rows(results)
        coefficient = estimate(seen, factors, name, by, replicates)
        told = None if coefficient is None else tell(coefficient)
        return NO_ESTIMATE if seen and told is None else told

    return derive


def same_side(p: float) -> float:
    """How far from the paper's p ours may be: no further than the level is."""
    return abs(LEVEL - p)


def _ends(paper: Range) -> float:
    """How far out the ends of our interval may lie: half the width of the paper's, and never beyond 0."""
    return min((paper.high - paper.low) / 2, -paper.high)


def _falling(results: Results) -> Value | None:
    """Learners whose own slope is negative; own slopes are those of a regression with all interactions."""
    rows = both_classes(CELLS)(results)
    own = [[row for row in rows if row.cell.learner == learner] for learner in _KEYS]
    slopes = [estimate(mine, distance_alone, "distance") for mine in own]
    values = [slope.value for slope in slopes if slope is not None]
    if len(values) < len(slopes):
        return NO_ESTIMATE if rows else None
    return value(sum(slope < 0 for slope in values))


def _corridor(*learners: str) -> Rows:
    """Both classes of the release's runs at W = 1, M = 16, by the steps from the last sign to their use; none while a
    cell lacks runs.

    As the release counts them: the first is kept if hall 1 has it all, the second if both halls have.
    """
    chosen = [
        cell
        for cell in signpost_corridor.CELLS
        if (cell.preset, cell.codes, cell.rate) == ("release-corridor", 16, None)
        and cell.learner in learners
        and ("M", 16) in cell.task.parameters
        and "W" not in dict(cell.task.parameters)
    ]

    def rows(results: Results) -> list[Observed]:
        observed: list[Observed] = []
        for cell in chosen if gathered(results, chosen) else ():
            given = dict(cell.task.parameters)
            first, second = given["hall1"] + 1.0, given["hall1"] + given["hall2"] + 2.0
            for row in results.complete(cell):
                in_first, in_second = (row["scores"][hall]["S_Gamma"] > THRESHOLD for hall in ("hall 1", "hall 2"))
                observed.append(Observed(cell, _run(row), first, float(in_first), False))
                observed.append(Observed(cell, _run(row), second, float(in_first and in_second), True))
        return observed

    return rows


def _maze(cues: int, *learners: str) -> Rows:
    """Sufficient runs of the cue corridor by its length."""
    chosen = [
        cell
        for cell in cue_corridor.STUDY.cells
        if cell.preset == "release-corridor" and cell.learner in learners and dict(cell.task.parameters)["R"] == cues
    ]
    return _one_class(chosen, lambda cell: dict(cell.task.parameters)["L"], lambda row: bool(row["sufficient"]))


def _intervals() -> Value:
    lines = figure("stats.intervals", "wilson95_of_8")
    return Profile(tuple(end for line in lines for end in wilson(line["sufficient"], 8)))


def _below(results: Results) -> Value | None:
    """Pairwise Fisher contrasts between the cells of the sweep that fall below 0.05."""
    if not gathered(results, CELLS):
        return None
    counts = {}
    for cell in CELLS:
        rows = results.complete(cell)
        counts[f"{cell.name} {cell.learner}"] = (sum(int(_kept(row, "place")) for row in rows), len(rows))
    pairs = contrasts(counts)
    return Count(sum(pair.p < 0.05 for pair in pairs), len(pairs))


def _slopes() -> Iterator[Figure]:
    yield from _two_cues()
    yield from _corridors()
    for cues, key, learners in (
        (2, "one_bit_pooled", ("plain",)),
        (2, "one_bit_pooled", ("plain", "scaffold+bfs")),
        (4, "two_bit", ("plain",)),
    ):
        factors = distance_alone if len(learners) == 1 else _and_learner
        slope = range_of("table.tmaze", f"slope_per_step.{key}")
        yield derived(
            f"cue corridor, {cues} cues, {' and '.join(learners)}: log-odds per cell",
            _DISTANCE,
            slope,
            regression(_maze(cues, *learners), factors, "distance"),
            min(0.1, -slope.high),
        )


def _two_cues() -> Iterator[Figure]:
    rows, paper, said = both_classes(POOL), range_of(_DISTANCE, "ci95"), "two cues: log-odds per step of distance"
    specifications = {"": _and_learner, ", no other factor": distance_alone, ", given β, N and sweep": _and_settings}
    for name, factors in specifications.items():
        yield derived(said + name, _DISTANCE, paper, regression(rows, factors, "distance"))
    units: tuple[Unit, ...] = ("run", "configuration")
    for by in units:
        for name, tell, replicates in ((f"errors by {by}", robust, 0), (f"{by}s redrawn", redrawn, _REPLICATES)):
            yield derived(
                f"{said}, 95 %: {name}",
                _DISTANCE,
                paper,
                regression(rows, _and_learner, "distance", tell, by, replicates),
                _ends(paper),
            )
    yield derived("two cues: learners whose own slope is negative", _DISTANCE, value(len(_KEYS)), _falling)


def _corridors() -> Iterator[Figure]:
    """The paper pools its plain realizations, with BFS and without."""
    where, said = "corridor.horizon", "log-odds per step of distance"
    rows, paper, p = _corridor("plain", "plain+bfs"), range_of(where, "plain_ci95"), figure(where, "plain_p")
    pooled = f"corridor, plain and plain+bfs: {said}"
    yield derived(pooled, _DISTANCE, paper, regression(rows, distance_alone, "distance"))
    yield derived(
        f"{pooled}, 95 %: configurations redrawn",
        _DISTANCE,
        paper,
        regression(rows, distance_alone, "distance", redrawn, "configuration", _REPLICATES),
        _ends(paper),
    )
    yield derived(
        f"corridor, plain and plain+bfs: p of the {said}",
        _DISTANCE,
        value(p),
        regression(rows, distance_alone, "distance", p_value, "configuration"),
        same_side(p),
    )
    yield derived(
        f"corridor, scaffold: {said}",
        _DISTANCE,
        range_of(where, "scaffold_slope"),
        regression(_corridor("scaffold+bfs"), distance_alone, "distance"),
        -paper.high,
    )


STUDY = study(
    NAME,
    CELLS,
    {
        "pairwise contrasts of the sweep below 0.05": _below,
    },
    (
        measured(
            "Wilson intervals of 0, 4 and 8 of 8",
            "stats.intervals",
            value([end for line in figure("stats.intervals", "wilson95_of_8") for end in line["ci"]]),
            _intervals,
            0.006,
        ),
        *(
            derived(
                f"gap {gap}, {learner}: runs that keep the place class until its use",
                _SWEEP,
                Count(_TABLE[key][k], _TABLE["of"]),
                tally(
                    [c for c in CELLS if (c.task, c.learner) == (task("two-cues", gap=gap), learner)],
                    lambda row: bool(_kept(row, "place")),
                ),
                better="higher",
            )
            for learner, key in _KEYS.items()
            for k, gap in enumerate(_TABLE["gap"])
        ),
        *_slopes(),
    ),
)
