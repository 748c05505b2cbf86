"""Where plain imitation missed, and everywhere else: the learner that revises its codes, on seeds never used before.

Every cell of plain imitation beyond the paper, and the cells of other studies in which some of its seeds failed. Those
that missed have sixteen seeds. Settings were chosen with seeds from 0 on the cells of `CHOSEN_ON`.
"""

from collections.abc import Iterator
from dataclasses import replace

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import Task, task
from reproduction.beyond_paper.cells import CELLS as PLAIN
from reproduction.beyond_paper.cells import FAR

NAME, REVISION, ROBUST = "revision", "plain+revision", "plain+robust-revision"
FIRST_SEED, FIRST_ROBUST, SEEDS, MORE_SEEDS = 100, 400, 8, 16
UPDATES = 2000  # on finite tasks; on recordings as many as plain runs have
TRIED = {task("readout-3", modes=32)}
"""Seeds from 100 on were trained here before runs that cannot be fitted were fitted from a fresh carrier."""
CHOSEN_ON = {
    task("two-cues", gap=6),
    task("two-cues", classes=4, gap=6),
    task("readout-3", modes=32),
    task("weighing", gap=6),
    task("running-parity", horizon=4),
    task("memory-chain", bits=3, delay=100),
    task("gap", gap2=6),
}
MISSED: set[tuple[Task, int]] = {
    *((task("readout-3", modes=32), codes) for codes in (8, 10)),
    (task("two-cues", classes=4, gap=6), 16),
    *((task("weighing", gap=gap), 16) for gap in (6, 20)),
    (task("memory-chain", bits=3, delay=FAR), 16),
}
"""Cells of plain imitation beyond the paper in which seeds fail, keep too much, or act badly."""


def _elsewhere() -> Iterator[Cell]:
    """Cells that other studies have, and counters of random events, whose demonstrations are drawn."""
    toy = Cell(NAME, task("gap", gap2=6), REVISION, "carousel", "full", 0.1, 6000)
    yield toy
    yield from (replace(toy, beta=beta, demonstrations=512) for beta in (0.01, 0.1))
    yield replace(toy, task=task("reveal"), beta=0.3)
    yield replace(toy, task=task("signpost-corridor", M=16, W=7, hall1=3, hall2=6), beta=0.01)
    drawn = Cell(NAME, toy.task, REVISION, "carousel", "external", 1e-3, 3000, demonstrations=65_536)
    for horizon in (4, 6, 8, 10):
        yield replace(drawn, task=task("running-parity", horizon=horizon))
        yield replace(drawn, task=task("modulo-counter", horizon=horizon, modulus=3))


def _cells() -> Iterator[Cell]:
    for cell in PLAIN:
        if (cell.learner, cell.preset) == ("plain", "carousel"):
            seeds = MORE_SEEDS if (cell.task, cell.codes) in MISSED else SEEDS
            first = FIRST_SEED + 100 * (cell.task in TRIED)
            yield replace(cell, study=NAME, learner=REVISION, first_seed=first, seeds=seeds)
    for cell in _elsewhere():
        yield replace(cell, first_seed=FIRST_SEED, seeds=MORE_SEEDS)


LONG = tuple(_cells())
CELLS = tuple(cell if cell.task.recorded else replace(cell, steps=UPDATES) for cell in LONG)
ROBUST_CELLS = tuple(
    replace(cell, learner=ROBUST, first_seed=FIRST_ROBUST, steps=0) for cell in CELLS if cell.task.recorded
)
"""Where policies drift: codes for that, fitted under noise to carriers that were never trained; on seeds that nothing
else had. Settings were chosen with seeds from 0 on weighing at gap 6."""
ONE_LEARNER = tuple(
    next((one for one in ROBUST_CELLS if (one.task, one.codes) == (cell.task, cell.codes)), cell) for cell in CELLS
)
"""Every cell with one learner: nothing drifts on finite tasks, where robust revision is revision."""
PLAIN_CELLS = tuple(replace(cell, learner="plain", first_seed=0, seeds=Cell.seeds) for cell in LONG)
"""The same cells of plain imitation, with as many updates as it has elsewhere."""
