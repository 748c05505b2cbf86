"""Readouts of two and three bits over the number of modes, and the sweep over codebook sizes."""

from collections.abc import Iterator

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import PRESETS, franka, from_paper
from reproduction.catalogue._figures import derived, study
from reproduction.derive import rate_range, tally
from reproduction.reference import block, figure
from reproduction.verdicts import Count

NAME = "readout"
_RATES = {"gap1": "first_gap_bits", "gap2": "transport_bits"}
_LEARNERS = {"plain": "plain", "task-informed": "task-informed", "system-id": "sysid"}


def _cells() -> Iterator[Cell]:
    for entry in block("table.readout")["rows"]:
        instance, learner = task(entry["task"], modes=entry["M"]), _LEARNERS[entry["learner"]]
        match = {key: entry[key] for key in ("task", "learner", "K", "M") if key in entry}
        paper = from_paper("table.readout", _RATES, **match)
        for preset in PRESETS:
            yield franka(NAME, instance, learner, paper, codes=entry.get("K", 16), preset=preset)
    for modes in figure("table.readout", "M"):
        instance = task("readout-3", modes=modes)
        for preset in PRESETS:
            yield franka(NAME, instance, "plain", preset=preset)
        yield franka(NAME, instance, "event-agnostic")
        for codes in figure("ksweep", "K"):
            if codes not in (8, 16):  # those are rows of the table
                yield franka(NAME, instance, "task-informed", codes=codes)


CELLS = tuple(_cells())


def _swept(codes: int) -> list[Cell]:
    return [
        c
        for c in CELLS
        if (c.task.name, c.learner, c.codes, c.preset) == ("readout-3", "task-informed", codes, "carousel")
    ]


STUDY = study(
    NAME,
    CELLS,
    {
        "readout-3, task-informed: bits in the first gap over the sufficient seeds, all K above 8": rate_range(
            [cell for codes in figure("ksweep", "K")[1:] for cell in _swept(codes)], "gap1"
        ),
    },
    (
        *(
            derived(
                f"readout-3, task-informed, K={codes}: sufficient runs over three numbers of modes",
                "ksweep",
                Count(passed, figure("ksweep", "of")),
                tally(_swept(codes)),
                better="higher" if codes > 8 else None,
            )
            for codes, passed in zip(figure("ksweep", "K"), figure("ksweep", "sufficient"), strict=True)
        ),
        derived(
            "readout-3, plain: sufficient runs over three numbers of modes",
            "table.readout",
            Count(*(figure("table.readout", f"readout_3_unsupervised.{key}") for key in ("sufficient", "of"))),
            tally([c for c in CELLS if (c.task.name, c.learner, c.preset) == ("readout-3", "plain", "carousel")]),
            better="higher",
        ),
    ),
)
