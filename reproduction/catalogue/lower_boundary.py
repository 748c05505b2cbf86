"""How near to the requirement a sufficient code comes, which controls fall off which side, and what the rate costs."""

from collections.abc import Iterator

from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.catalogue._declare import franka, reported
from reproduction.catalogue._figures import study
from reproduction.catalogue.plain_trajectories import EPISODES, PLACE
from reproduction.derive import Derived, gathered, rate_range, spread, success_range
from reproduction.reference import row
from reproduction.verdicts import Value

NAME = "lower-boundary"
_RATE = {"gap2": "post_use_bits"}


def _swept() -> Iterator[Cell]:
    for beta in (0.0, 3e-4, 1e-3, 2e-3, 3e-3):
        variant = {0.0: "beta=0", 1e-3: "DIACRITIC"}.get(beta)
        paper = reported("table.quadrant", row("table.quadrant", variant=variant), _RATE) if variant else None
        yield franka(NAME, PLACE, "plain", paper, beta=beta, demonstrations=EPISODES)


PLAIN = tuple(_swept())
_SCAFFOLD = franka(NAME, PLACE, "scaffold+bfs", beta=2e-3, demonstrations=4000, preset="release")
_BYPASS = franka(NAME, PLACE, "bypass", beta=2e-3, demonstrations=EPISODES, preset="release")


def _passing(row_: dict[str, object]) -> bool:
    return bool(row_["sufficient"])


def _each(cells: tuple[Cell, ...], passes: bool) -> Derived:
    """The stretch of the successes of single policies."""

    def derive(results: Results) -> Value | None:
        rows = [row_ for row_ in gathered(results, cells) if row_["success"] is not None]
        return spread([row_["success"] for row_ in rows if bool(row_["sufficient"]) == passes], rows)

    return derive


STUDY = study(
    NAME,
    (*PLAIN, _SCAFFOLD, _BYPASS),
    {
        "plain, β=0.001: bits after the first use, sufficient seeds": rate_range(PLAIN[2:3], "gap2"),
        "scaffold: bits after the first use, sufficient seeds": rate_range([_SCAFFOLD], "gap2"),
        "β up to 0.0003: closed loop of the sufficient policies": success_range(PLAIN[:2], _passing),
        "sufficient policies, one by one: closed loop": _each(PLAIN, True),
        "insufficient policies, one by one: closed loop": _each(PLAIN, False),
        "stronger β: bits after the first use": rate_range(PLAIN[3:], "gap2"),
        "bypass: bits that its readout code shows in the first gap, where two are needed": rate_range(
            [_BYPASS], "gap1", over_all=True
        ),
    },
)
