"""Full reveal: the display shows all of the mode, of which two bits matter."""

from collections.abc import Iterator

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import counted, franka, reported
from reproduction.catalogue._figures import derived, study
from reproduction.derive import rate_range
from reproduction.paper import Paper
from reproduction.reference import count, figure, row

NAME, _BLOCK = "full-reveal", "table.p_i"


def _informed(modes: int, episodes: int) -> Iterator[Cell]:
    entry = row(_BLOCK, "late_gate", M=modes, N=episodes)
    instance = task("full-reveal", modes=modes)
    if entry.get("full") is not None:
        yield franka(NAME, instance, "task-informed", Paper(_BLOCK, count(entry, "full")), demonstrations=episodes)


def _cells() -> Iterator[Cell]:
    for modes, episodes in ((128, 448), (512, 448), (512, 1000)):
        yield from _informed(modes, episodes)
    for modes in (128, 512):
        yield franka(NAME, task("full-reveal", modes=modes), "plain")
        yield franka(NAME, task("full-reveal", modes=modes), "event-agnostic")
    for entry in figure(_BLOCK, "system_id_large_K"):
        instance = task("full-reveal", modes=entry["M"])
        paper = reported(_BLOCK, entry, {"gap1": "rate_bits"})
        yield franka(NAME, instance, "sysid", paper, codes=entry["K"])
    none = figure(_BLOCK, "unsupervised_sufficient_M_ge_16")
    paper = counted(_BLOCK, none["sufficient"], none["of"])
    for modes in (16, 32):
        yield franka(NAME, task("full-reveal", modes=modes), "plain", paper, preset="release")
    for modes in (4, 8):
        yield franka(NAME, task("full-reveal", modes=modes), "task-informed")


CELLS = tuple(_cells())


STUDY = study(
    NAME,
    CELLS,
    more=tuple(
        derived(
            f"M={modes}, task-informed: bits in the first gap over all seeds",
            _BLOCK,
            f"first_gap_all_seed_bits.M{modes}",
            rate_range(
                [
                    cell
                    for cell in CELLS
                    if (cell.task, cell.learner, cell.demonstrations)
                    == (task("full-reveal", modes=modes), "task-informed", 448)
                ],
                "gap1",
                over_all=True,
            ),
            0.1,
            "lower",
        )
        for modes in (128, 512)
    ),
)
