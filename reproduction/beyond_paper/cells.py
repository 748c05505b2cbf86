"""The cells beyond the paper: how far plain imitation goes, the full gradient and event-agnostic runs beside it, and
what is left of the surplus once plain runs have forgotten.

Settings are those of the catalogue, so that a run which another study made answers here too; a test holds the two
together. This file imports nothing of the catalogue, which lists its study. Delay and length 1,000 have no cell of the
release: the full gradient is slow through a thousand steps.
"""

from collections.abc import Iterator
from typing import Any, Literal

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import Task, task
from reproduction.paper import RELEASED, as_released

Kind = Literal["development", "seen", "held-out, run before", "held-out"]
NAME, FAR = "beyond-paper", 1000
RECORDED = (("plain", "carousel"), ("plain", "release"), ("event-agnostic", "carousel"))
SYMBOLIC = (("plain", "carousel"), ("plain", "release"), ("event-agnostic-recorded", "carousel"))
"""Learners and presets; on symbols the event-agnostic target is the recorded future itself."""

FORGETTING = "plain+forgetting"
FORGETFUL = (
    *((task("two-cues", gap=gap), 16) for gap in (6, 10, 20, 60)),
    *((task("full-reveal", modes=modes), 16) for modes in (16, 32, 128, 512)),
    *((task("two-cues", classes=4, gap=6), codes) for codes in (16, 64)),
    (task("readout-3", modes=32), 16),
    *((task("weighing", gap=gap), 16) for gap in (6, 20)),
)
"""Recorded tasks on which plain runs forget afterwards; that was set up on the first one."""

ARM: tuple[tuple[Task, int], ...] = (
    *((task("two-cues", gap=gap), 16) for gap in (6, 10, 20, 60)),
    *((task("full-reveal", modes=modes), 16) for modes in (16, 32, 128, 512)),
    *((task("two-cues", classes=4, gap=6), codes) for codes in (16, 64)),
    *((task("readout-3", modes=32), codes) for codes in (8, 10, 12, 16, 24)),
    *((task("weighing", gap=gap), 16) for gap in (6, 20)),
)
"""Recorded tasks with the number of codes."""
DEVELOPMENT = {task("two-cues", gap=6), task("readout-3", modes=32)}
SEEN = {task("two-cues", gap=20), *(task("memory-chain", bits=bits, delay=100) for bits in (1, 2, 3))}
RUN_BEFORE = {
    task("passive-t-maze", L=100),
    task("cue-corridor", R=4, L=80),
    task("signpost-corridor", M=16, hall1=3, hall2=6),
}
"""Held out from the search, but ledgers of theirs were made with the preset as it was before the last search."""


def kind(task: Task) -> Kind:
    """What was known of a task when the settings were frozen, whatever the number of codes."""
    if task in DEVELOPMENT | SEEN:
        return "development" if task in DEVELOPMENT else "seen"
    return "held-out, run before" if task in RUN_BEFORE else "held-out"


def _recorded() -> Iterator[Cell]:
    for instance, codes in ARM:
        forgetting = ((FORGETTING, "carousel"),) if (instance, codes) in FORGETFUL else ()
        for learner, preset in (*RECORDED, *forgetting):
            yield Cell(NAME, instance, learner, preset, "task", 1e-3, 10_000, demonstrations=448, codes=codes)


def _symbolic() -> Iterator[Cell]:
    drawn: dict[str, Any] = {"gate": "external", "beta": 1e-3, "steps": 5000, "demonstrations": 512}
    listed: dict[str, Any] = {"beta": 0.01, "steps": 6000}
    tasks: list[tuple[Task, dict[str, Any]]] = [
        *((task("memory-chain", bits=bits, delay=delay), drawn) for delay in (100, FAR) for bits in (1, 2, 3)),
        *((task("passive-t-maze", L=length), drawn) for length in (100, FAR)),
        (task("cue-corridor", R=4, L=80), listed | {"gate": "t-maze"}),
        *(
            (task("signpost-corridor", M=16, hall1=3, hall2=hall), listed | {"gate": "full"})
            for hall in (6, 10, 15, 20)
        ),
    ]
    for instance, settings in tasks:
        for learner, preset in SYMBOLIC:
            if preset == "carousel" or FAR not in dict(instance.parameters).values():
                form, chosen = (
                    (instance, preset) if preset == "carousel" else (as_released(instance), RELEASED[instance.name])
                )
                yield Cell(NAME, form, learner, chosen, **settings)


CELLS = (*_recorded(), *_symbolic())
