"""Does `carousel` gain from choices of the release: the unit sphere, the rate in bits, quantisation summed?

Development cells only. `diacritic study export --studies reproduction/ingredients.py ingredients-recorded -o FOLDER`
writes what a GPU trains with `python -m diacritic.training FOLDER`, and `study import` reads its results;
`diacritic study run --studies reproduction/ingredients.py ingredients` trains the symbolic cells.
"""

from collections.abc import Iterator
from itertools import combinations

from diacritic.studies import Cell, Study, task
from diacritic.training.preset import INGREDIENTS

STEPS = 3000
PRESETS = tuple(
    "+".join(["carousel", *some]) for count in range(len(INGREDIENTS) + 1) for some in combinations(INGREDIENTS, count)
)
SYMBOLIC = (
    (task("gap", gap2=6), 0.03),
    (task("memory-chain", bits=3, delay=10), 1e-3),
    (task("passive-t-maze", L=10), 1e-3),
)
RECORDED = (task("two-cues", gap=6), task("readout-3", modes=32))


def _cells(study: str, recorded: bool) -> Iterator[Cell]:
    for preset in PRESETS:
        if recorded:
            for task in RECORDED:
                yield Cell(study, task, "plain", preset, "task", 1e-3, STEPS, demonstrations=448)
        else:
            for task, beta in SYMBOLIC:
                yield Cell(study, task, "plain", preset, "external", beta, STEPS)


STUDIES = [
    Study(name, "Ingredients of the release in our preset", cells=tuple(_cells(name, "recorded" in name)))
    for name in ("ingredients", "ingredients-recorded")
]
