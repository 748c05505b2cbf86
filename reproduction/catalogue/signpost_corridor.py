"""The signpost corridor: β = 0.01, six thousand steps, halls of 3 and 6 cells unless their length is what varies."""

from collections.abc import Iterator
from typing import Any

from certify import certify
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import model_of, task, windows
from reproduction.catalogue._declare import RECORDED, counted, from_paper, reported
from reproduction.catalogue._figures import study
from reproduction.derive import most_information, rate_range
from reproduction.paper import RELEASED, Paper, as_released
from reproduction.reference import block, figure, row
from reproduction.verdicts import Profile, Value

NAME = "signpost-corridor"
_WORLD = {
    "plain": "plain",
    "plain+bfs": "plain+BFS",
    "unconditional": "unconditional-prior",
    "sysid": "system-id",
    "inverse-only": "inverse-only",
    RECORDED: None,
}
_HORIZON = {
    "carousel": {"plain": "plain_sufficient", "plain+bfs": "plain_bfs_sufficient"},
    RELEASED[NAME]: {
        "plain": "plain_sufficient",
        "plain+bfs": "plain_bfs_sufficient",
        "scaffold+bfs": "scaffold_sufficient",
    },
}


def _cell(learner: str, preset: str, paper: Paper | None, beta: float = 0.01, codes: int = 16, **sizes: int) -> Cell:
    ours = task("signpost-corridor", **{"hall1": 3, "hall2": 6, **sizes})
    instance = ours if preset == "carousel" else as_released(ours)
    return Cell(NAME, instance, learner, preset, "full", beta, 6000, paper, codes=codes)


def _world(said: str | None, modes: int) -> Paper | None:
    if said is None or (said == "system-id" and modes == 4):  # the paper prints no count there
        return None
    return from_paper("corridor.world_complexity", learner=said, M=modes)


def _matched(learner: str, **match: Any) -> Paper:
    return from_paper("corridor.matched_distortion", learner=learner, **match)


def _lengths(preset: str) -> Iterator[Cell]:
    horizon = block("corridor.horizon")
    for learner, key in _HORIZON[preset].items():
        for length, passed in zip(horizon["hall2_length"], horizon[key], strict=True):
            if length != 6 or learner == "scaffold+bfs":  # six cells are the default, declared above
                yield _cell(learner, preset, counted("corridor.horizon", passed, horizon["of"]), M=16, hall2=length)
    for length, passed in zip(horizon["hall1_length"], horizon["hall1_plain_sufficient"], strict=True):
        yield _cell("plain", preset, counted("corridor.horizon", passed, horizon["of"]), M=16, hall1=length)


def _controls(preset: str) -> Iterator[Cell]:
    for modes in (4, 16, 64):
        yield _cell("plain", preset, _world("beta=0", modes), beta=0.0, M=modes)
    none = counted("corridor.drift", figure("corridor.drift", "inverse_sufficient"))
    for drifts in (3, 5, 7):
        if preset == "carousel":  # of these the paper counts nothing
            for learner in ("plain+bfs", "sysid", RECORDED):
                yield _cell(learner, preset, None, M=16, W=drifts)
        for learner in ("inverse-only", "inverse-only+rate"):
            yield _cell(learner, preset, none, M=16, W=drifts)
    yield _cell("inverse+imitation", preset, _matched("inverse+imitation+rate", W=1), M=16)
    yield _cell("inverse+imitation", preset, _matched("inverse+imitation+rate", W=5), M=16, W=5)
    yield _cell("sysid", preset, _matched("system-id", K=64), codes=64, M=16)
    yield _cell("plain", preset, _matched("plain", K=64), codes=64, M=16)
    yield _cell("inverse-only", preset, _matched("inverse-only", K=64, W=1), codes=64, M=16)
    yield _cell("inverse-only", preset, _matched("inverse-only", K=64, W=5), codes=64, M=16, W=5)


def _bypass() -> Cell:
    """Continuous memory, at the learning rate at which most of the paper's seeds pass."""
    paper = reported("corridor.matched_distortion", row("corridor.matched_distortion", lr=3e-3))
    instance = as_released(task("signpost-corridor", M=16, hall1=3, hall2=6))
    return Cell(NAME, instance, "bypass", RELEASED[NAME], "full", 0.01, 6000, paper, rate=3e-3)


def _cells() -> Iterator[Cell]:
    for preset in _HORIZON:
        for learner, said in _WORLD.items():
            for modes in (4, 16, 64):
                yield _cell(learner, preset, _world(said, modes), M=modes)
        for drifts in (3, 5, 7):
            yield _cell("plain", preset, _matched("plain", W=5) if drifts == 5 else None, M=16, W=drifts)
        yield from _lengths(preset)
    for preset in _HORIZON:
        yield from _controls(preset)
    yield _bypass()


def _hall_bits() -> Value:
    """H(Γ_t|O_t) in the first hall, at the first junction and in the second hall, without drift."""
    instance = task("signpost-corridor", M=16, hall1=3, hall2=6)
    steps, halls = certify(model_of(instance)).steps, windows(instance)
    where = halls["hall 1"][0], halls["hall 1"][-1] + 1, halls["hall 2"][-1]
    return Profile(tuple(steps[t - 1].upper for t in where))


CELLS = tuple(_cells())
_PLAIN = [cell for cell in CELLS if cell.learner == "plain" and cell.preset == "carousel" and cell.beta > 0]
_DRIFTING = [cell for cell in _PLAIN if "W" in dict(cell.task.parameters)]
_STILL = [cell for cell in _PLAIN if set(dict(cell.task.parameters).items()) >= {("hall1", 3), ("hall2", 6)}]


STUDY = study(
    NAME,
    CELLS,
    {
        "requirement in hall 1, at junction 1 and in hall 2": _hall_bits,
        "plain: bits in hall 1 over the sufficient seeds": rate_range(
            [cell for cell in _STILL if "W" not in dict(cell.task.parameters)], "hall 1"
        ),
        "plain: most bits on the drift in the halls": most_information(_DRIFTING, "drift"),
    },
)
