"""The cue–corridor T-maze: β = 0.01, six thousand steps."""

from collections.abc import Iterator

from certify import certify
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import model_of, task
from reproduction.catalogue._declare import RECORDED, from_paper
from reproduction.catalogue._figures import measured, study
from reproduction.paper import RELEASED, as_released
from reproduction.reference import figure
from reproduction.verdicts import Profile, Value, value

NAME, LENGTHS = "cue-corridor", (5, 10, 20, 40, 80)
PRESETS = ("carousel", RELEASED[NAME])
_ROWS: tuple[tuple[int, str, str | None, tuple[str, ...]], ...] = (
    (2, "plain", "plain", PRESETS),
    (2, "plain+bfs", "plain+BFS", PRESETS),
    (2, "scaffold+bfs", "scaffold_RF", PRESETS[1:]),
    (2, RECORDED, None, PRESETS),
    (4, "plain", "plain", PRESETS),
    (4, RECORDED, None, PRESETS),
)


def _cells() -> Iterator[Cell]:
    for cues, learner, said, presets in _ROWS:
        for preset in presets:
            for length in LENGTHS:
                match = {"cue_bits": cues.bit_length() - 1, "learner": said, "L": length}
                paper = from_paper("table.tmaze", {"corridor": "rate_bits"}, **match) if said else None
                instance = task("cue-corridor", R=cues, L=length)
                instance = instance if preset == "carousel" else as_released(instance)
                yield Cell(NAME, instance, learner, preset, "t-maze", 0.01, 6000, paper)


def _corridor_bits() -> Value:
    """H(Γ_t|O_t) in the middle of the longest corridor, for two and for four cues."""
    length = figure("certify.cue_tmaze", "L_max")
    answers = [certify(model_of(task("cue-corridor", R=cues, L=length))) for cues in (2, 4)]
    return Profile(tuple(answer.steps[length // 2].upper for answer in answers))


STUDY = study(
    NAME,
    tuple(_cells()),
    more=(
        measured(
            "requirement in the corridor at the greatest length, one and two bits",
            "certify.cue_tmaze",
            value((1.0, 2.0)),
            _corridor_bits,
            1e-9,
        ),
    ),
)
