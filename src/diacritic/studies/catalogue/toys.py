"""Finite toys, and the stochastic expert: six thousand steps, K = 16, β = 0.03 unless it is what varies."""

from collections.abc import Iterator
from typing import Any

from diacritic.studies.catalogue._declare import PRESETS, RECORDED, counted, found, range_of, reported
from diacritic.studies.cell import Cell, Paper, Study
from diacritic.studies.figure import Figure
from diacritic.studies.reference import block, figure, row
from diacritic.studies.results import most_information
from diacritic.studies.tasks import task
from diacritic.studies.verdicts import Count, value

NAME, STEPS = "toys", 6000
_AIDS = {
    "plain": "plain",
    "plain+bfs": "plain_bfs",
    "refinement": "plain_with_refinement",
    "refinement+bfs": "plain_bfs_with_refinement",
    "scaffold": "scaffold_R",
    "scaffold+bfs": "scaffold_RF",
    RECORDED: None,
}


def _gap(learner: str, preset: str, paper: Paper | None = None, beta: float = 0.03, **more: Any) -> Cell:
    return Cell(NAME, task("gap", gap2=more.pop("gap2", 6)), learner, preset, "full", beta, STEPS, paper, **more)


def _enumeration(preset: str) -> Iterator[Cell]:
    seeds, collapse = figure("toys.enumeration", "seeds"), figure("toys.enumeration", "collapse_beta")
    for learner in ("plain", "plain+bfs") if preset == "carousel" else ("plain",):
        for beta in (0.0, 0.1, collapse):
            paper = counted("toys.enumeration", 0 if beta == collapse else seeds, seeds)
            yield Cell(NAME, task("reveal"), learner, preset, "full", beta, STEPS, paper)
        yield Cell(NAME, task("lost-cue"), learner, preset, "full", 0.03, STEPS)


def _aids(preset: str) -> Iterator[Cell]:
    aids = block("toys.discovery_aids")
    for learner, key in _AIDS.items():
        if preset == "carousel" or learner in ("plain", "scaffold", RECORDED):
            for k, length in enumerate(aids["gap"]):
                paper = counted("toys.discovery_aids", aids[key][k], aids["of"]) if key else None
                yield _gap(learner, preset, paper, gap2=length)


def _stochastic(preset: str) -> Iterator[Cell]:
    for text, p in (("7/10", 0.7), ("9/10", 0.9)):
        for beta in (0.0, 0.01, 0.03, 0.1):
            known: dict[str, Any] = {"beta": 0.0} if beta == 0 else {"beta_min": 0.01}
            paper = reported("stochastic_expert", row("stochastic_expert", p=p, **known), key="found")
            expert = task("stochastic-expert", p=text)
            yield Cell(NAME, expert, "plain", preset, "full", beta, STEPS, paper, demonstrations=512, codes=8)


def _controls() -> Iterator[Cell]:
    rates = {"first gap": "gap1_bits", "second gap": "gap2_bits"}
    for beta in (0.01, 0.1):
        paper = found("toys.gap_rate_pressure", rates, beta=beta)
        yield _gap("plain", "carousel", paper, beta=beta, demonstrations=512)
    yield _gap("non-persistent", "carousel", found("toys.ablation", variant="non-persistent"))
    yield _gap("unconditional", "carousel", found("toys.ablation", variant="unconditional prior"))
    bypass = reported("toys.ablation", row("toys.ablation", variant="gru-bypass"), key="succeeded")
    for rate in (3e-4, 3e-3):
        yield _gap("bypass", "textbook", bypass, rate=rate)
    for beta in (0.003, 0.03):
        yield _gap("gaussian", "textbook", beta=beta)


def _cells() -> Iterator[Cell]:
    for preset in PRESETS:
        yield from _enumeration(preset)
        yield from _aids(preset)
        yield from _stochastic(preset)
    yield from _controls()


CELLS = tuple(_cells())


_EXACT = [cell for cell in CELLS if cell.task == task("reveal") and cell.beta in (0.0, 0.1)]

STUDY = Study(
    NAME,
    "Finite toys",
    "Enumeration, rate pressure, ablations, a violated (A2), discovery aids and a stochastic expert. Our first gap "
    "counts the step before the second cue, where one bit less is needed: 1.80 where the paper has 2.",
    inventory=(122, 123),
    blocks=(
        "toys.enumeration",
        "toys.selective_forgetting",
        "toys.gap_rate_pressure",
        "toys.ablation",
        "toys.discovery_aids",
        "toys.gap_reliability",
        "stochastic_expert",
    ),
    cells=CELLS,
    order=3,
)
FIGURES = (
    Figure(
        "reveal toy: bits on the nuisance below the collapse",
        "toys.enumeration",
        range_of("toys.enumeration", "nuisance_bits"),
        derived=most_information(_EXACT, "nuisance"),
        within=0.005,
    ),
    *(
        Figure(
            f"selective forgetting, β={beta}: bits on the nuisance",
            "toys.selective_forgetting",
            value(bits),
            lacks="a reveal toy whose nuisance is correlated with the class in a small sample",
        )
        for beta, bits in zip(
            figure("toys.selective_forgetting", "beta"),
            figure("toys.selective_forgetting", "nuisance_bits"),
            strict=True,
        )
    ),
    Figure(
        "stochastic expert: runs in which states with one law share a code",
        "stochastic_expert",
        Count(figure("stochastic_expert", "runs_equal_law_states_share_code"), figure("stochastic_expert", "runs")),
        lacks="the code of every state, which ledgers do not keep",
    ),
)
