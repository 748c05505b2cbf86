"""How near to the requirement a sufficient code comes, which controls fall off which side, and what the rate costs."""

from collections.abc import Iterator

from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.catalogue._declare import franka, mean_of, range_of, reported
from reproduction.catalogue.plain_trajectories import EPISODES, PLACE
from reproduction.catalogue.toys import kl_bound
from reproduction.derive import Derived, gathered, rate_range, spread, success_range
from reproduction.figure import Figure
from reproduction.paper import PaperStudy
from reproduction.reference import figure, row
from reproduction.verdicts import RATE_TOLERANCE, Value, value

NAME = "lower-boundary"
_RATE = {"gap2": "post_use_bits"}


def _swept() -> Iterator[Cell]:
    for beta in (0.0, 3e-4, 1e-3, 2e-3, 3e-3):
        variant = {0.0: "beta=0", 1e-3: "DIACRITIC"}.get(beta)
        paper = reported("table.quadrant", row("table.quadrant", variant=variant), _RATE) if variant else None
        yield franka(NAME, PLACE, "plain", paper, beta=beta, demonstrations=EPISODES)


PLAIN = tuple(_swept())
_SCAFFOLD = franka(NAME, PLACE, "scaffold+bfs", beta=2e-3, demonstrations=4000, preset="textbook")
_BYPASS = franka(NAME, PLACE, "bypass", demonstrations=EPISODES, preset="textbook")
_GAUSSIAN = franka(NAME, PLACE, "gaussian", demonstrations=EPISODES, preset="textbook")


def _passing(row_: dict[str, object]) -> bool:
    return bool(row_["sufficient"])


def _each(cells: tuple[Cell, ...], passes: bool) -> Derived:
    """The stretch of the successes of single policies."""

    def derive(results: Results) -> Value | None:
        rows = [row_ for row_ in gathered(results, cells) if row_["success"] is not None]
        return spread([row_["success"] for row_ in rows if bool(row_["sufficient"]) == passes], rows)

    return derive


STUDY = PaperStudy(
    NAME,
    "Lower boundary",
    "Two cues at gap 6 over β, and the controls: scaffold, continuous bottleneck, bypass.",
    inventory=(137,),
    blocks=("table.quadrant", "lower_boundary", "rate_fidelity"),
    cells=(*PLAIN, _SCAFFOLD, _BYPASS, _GAUSSIAN),
    order=4,
)
FIGURES = (
    Figure(
        "plain, β=0.001: bits after the first use, sufficient seeds",
        "lower_boundary",
        range_of("lower_boundary", "plain_beta_1e3.post_use_bits"),
        derived=rate_range(PLAIN[2:3], "gap2"),
        within=0.1,
        better="lower",
    ),
    Figure(
        "scaffold: bits after the first use, sufficient seeds",
        "lower_boundary",
        range_of("lower_boundary", "scaffold.post_use_bits"),
        derived=rate_range([_SCAFFOLD], "gap2"),
        within=0.1,
        better="lower",
    ),
    Figure(
        "bypass: bits that its readout code shows in the first gap, where two are needed",
        "table.quadrant",
        value(row("table.quadrant", variant="gru-bypass")["readout_bits"]),
        derived=rate_range([_BYPASS], "gap1", over_all=True),
        within=0.2,
    ),
    Figure(
        "β up to 0.0003: closed loop of the sufficient policies",
        "rate_fidelity",
        range_of("rate_fidelity", "sufficient_closed_loop_beta_le_3e4"),
        derived=success_range(PLAIN[:2], _passing),
        within=0.05,
        better="higher",
    ),
    Figure(
        "sufficient policies, one by one: closed loop",
        "rate_fidelity",
        range_of("rate_fidelity", "sufficient_closed_loop"),
        derived=_each(PLAIN, True),
        within=0.05,
        better="higher",
    ),
    Figure(
        "insufficient policies, one by one: closed loop",
        "rate_fidelity",
        range_of("rate_fidelity", "insufficient_closed_loop"),
        derived=_each(PLAIN, False),
        within=0.05,
    ),
    Figure(
        "continuous bottleneck: bound on its bits in the first gap, sufficient seeds",
        "table.quadrant",
        value(row("table.quadrant", variant="continuous bottleneck")["kl_bound_bits"]),
        derived=mean_of([_GAUSSIAN], kl_bound("gap1")),
        within=RATE_TOLERANCE,
    ),
    Figure(
        "stronger β: bits after the first use",
        "lower_boundary",
        value(figure("lower_boundary", "plain_stronger_beta.post_use_bits")),
        derived=rate_range(PLAIN[3:], "gap2"),
        within=0.1,
        better="lower",
    ),
)
