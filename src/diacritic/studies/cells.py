"""Every symbolic cell: the paper's configurations, both presets, and the paper's counts beside them."""

from collections.abc import Iterator, Sequence
from typing import Any

from diacritic.studies.symbolic import Cell
from diacritic.studies.tasks import task

PRESETS = ("carousel", "textbook")
RECORDED = "event-agnostic-recorded"
Counts = Sequence[int | None]
LONG = 40  # beyond so many steps only the plain learner is trained with the full gradient, which is slow there


def _paper(count: int | None, of: int = 8) -> tuple[int, int] | None:
    return None if count is None else (count, of)


def _toys() -> Iterator[Cell]:
    """App. C.1 and C.2: six thousand steps, K = 16, β = 0.03 unless it is what varies."""
    aids: dict[str, Counts] = {
        "plain": (3, 3, 4),
        "plain+bfs": (3, 2, 1),
        "refinement": (3, 3, 4),
        "refinement+bfs": (3, 2, 2),
        "scaffold": (4, 4, 3),
        "scaffold+bfs": (3, 4, 4),
        RECORDED: (None, None, None),
    }

    def gap(learner: str, preset: str, paper: tuple[int, int] | None = None, beta: float = 0.03, **more: Any) -> Cell:
        return Cell("toys", task("gap", gap2=more.pop("gap2", 6)), learner, preset, "full", beta, 6000, paper, **more)

    for preset in PRESETS:
        for learner in ("plain", "plain+bfs") if preset == "carousel" else ("plain",):
            for beta, paper in ((0.0, (3, 3)), (0.1, (3, 3)), (0.3, (0, 3))):
                yield Cell("toys", task("reveal"), learner, preset, "full", beta, 6000, paper)
            yield Cell("toys", task("lost-cue"), learner, preset, "full", 0.03, 6000)
        for learner, counts in aids.items():
            if preset == "carousel" or learner in ("plain", "scaffold", RECORDED):
                for length, count in zip((6, 10, 15), counts, strict=True):
                    yield gap(learner, preset, _paper(count, 4), gap2=length)
        for p, counts in (("7/10", (4, 0, 0, 0)), ("9/10", (6, None, None, None))):
            for beta, count in zip((0.0, 0.01, 0.03, 0.1), counts, strict=True):
                expert = task("stochastic-expert", p=p)
                yield Cell(
                    "toys", expert, "plain", preset, "full", beta, 6000, _paper(count), demonstrations=512, codes=8
                )
    for beta in (0.01, 0.1):
        yield gap("plain", "carousel", beta=beta, demonstrations=512)
    yield gap("non-persistent", "carousel", (0, 4))
    yield gap("unconditional", "carousel", (4, 4))
    for rate in (3e-4, 3e-3):
        yield gap("bypass", "textbook", (20, 24), rate=rate)
    for beta in (0.003, 0.03):
        yield gap("gaussian", "textbook", beta=beta)
    for learner in ("plain+bfs", "open-loop", "open-loop-world"):
        yield Cell("toys", task("re-reveal", gap2=6), learner, "carousel", "full", 0.03, 6000)


def _cue_corridor() -> Iterator[Cell]:
    """App. E.2, tab:tmaze: β = 0.01, six thousand steps."""
    rows: list[tuple[int, str, tuple[str, ...], Counts]] = [
        (2, "plain", PRESETS, (8, 8, 7, 3, 5)),
        (2, "plain+bfs", ("carousel",), (8, 8, 8, 5, 6)),
        (2, "scaffold+bfs", ("textbook",), (8, 8, 8, 8, 6)),
        (2, RECORDED, PRESETS, (None,) * 5),
        (4, "plain", PRESETS, (6, 4, 1, 0, 0)),
        (4, RECORDED, PRESETS, (None,) * 5),
    ]
    for cues, learner, presets, counts in rows:
        for preset in presets:
            for length, count in zip((5, 10, 20, 40, 80), counts, strict=True):
                if preset == "textbook" and learner != "plain" and length > LONG:
                    continue
                place = task("cue-corridor", R=cues, L=length)
                yield Cell("cue-corridor", place, learner, preset, "t-maze", 0.01, 6000, _paper(count))


def _signpost_corridor() -> Iterator[Cell]:
    """App. C.4: β = 0.01, six thousand steps, halls of 3 and 6 cells unless their length is what varies."""
    world: dict[str, Counts] = {
        "plain": (7, 4, 6),
        "plain+bfs": (8, 8, 6),
        "unconditional": (8, 6, 4),
        "sysid": (None, 0, 0),
        "inverse-only": (0, 0, 0),
        RECORDED: (None, None, None),
    }

    def cell(learner: str, preset: str, count: int | None, beta: float = 0.01, codes: int = 16, **sizes: int) -> Cell:
        place = task("signpost-corridor", **{"hall1": 3, "hall2": 6, **sizes})
        return Cell("signpost-corridor", place, learner, preset, "full", beta, 6000, _paper(count), codes=codes)

    for preset in PRESETS:
        for learner, counts in world.items():
            if preset == "carousel" or learner in ("plain", RECORDED):
                for modes, count in zip((4, 16, 64), counts, strict=True):
                    yield cell(learner, preset, count, M=modes)
        for drifts in (3, 5, 7):
            yield cell("plain", preset, 6 if drifts == 5 else None, M=16, W=drifts)
        for length, count in zip((1, 3, 10, 15, 20), (8, 8, 5, 5, 5), strict=True):
            yield cell("plain", preset, count, M=16, hall2=length)
        for length, count in zip((8, 15), (2, 0), strict=True):
            yield cell("plain", preset, count, M=16, hall1=length)
    for modes, count in zip((4, 16, 64), (8, 7, 6), strict=True):
        yield cell("plain", "carousel", count, beta=0.0, M=modes)
    for drifts in (3, 5, 7):
        for learner in ("plain+bfs", "sysid", RECORDED):
            yield cell(learner, "carousel", None, M=16, W=drifts)
        for learner in ("inverse-only", "inverse-only+rate"):
            yield cell(learner, "carousel", 0, M=16, W=drifts)
    yield cell("inverse+imitation", "carousel", 4, M=16)
    yield cell("inverse+imitation", "carousel", 6, M=16, W=5)
    yield cell("sysid", "carousel", 4, codes=64, M=16)
    yield cell("plain", "carousel", 8, codes=64, M=16)


def _community() -> Iterator[Cell]:
    """App. E.5 and E.6, tab:cert and tab:exttmaze: β = 0.001, five thousand steps, 512 drawn demonstrations."""
    chain: dict[str, dict[int, Counts]] = {
        "plain": {1: (7, 4, 0), 2: (7, 2, 0), 3: (6, 1, 0)},
        RECORDED: {1: (8, 8, 2), 2: (7, 3, 0), 3: (8, 2, 0)},
    }
    maze: list[tuple[str, tuple[str, ...], Counts]] = [
        ("plain", PRESETS, (2, 0, 0, 0)),
        (RECORDED, PRESETS, (8, 7, 5, 0)),
        ("gru-128", ("textbook",), (8, 8, 8, 7)),
        ("gru-8", ("textbook",), (None, 0, 0, 0)),
        ("gru-4", ("textbook",), (None, 0, 0, 0)),
    ]
    for preset in PRESETS:
        for learner, by_bits in chain.items():
            for bits, counts in by_bits.items():
                for delay, count in zip((10, 30, 100), counts, strict=True):
                    if preset == "textbook" and learner != "plain" and delay > LONG:
                        continue
                    place = task("memory-chain", bits=bits, delay=delay)
                    yield Cell("community", place, learner, preset, "external", 1e-3, 5000, _paper(count), 512)
    for learner, presets, counts in maze:
        for preset in presets:
            for length, count in zip((10, 20, 50, 100), counts, strict=True):
                if preset == "textbook" and learner != "plain" and length > LONG:
                    continue
                place = task("passive-t-maze", L=length)
                yield Cell("community", place, learner, preset, "external", 1e-3, 5000, _paper(count), 512)


CELLS = (*_toys(), *_cue_corridor(), *_signpost_corridor(), *_community())
