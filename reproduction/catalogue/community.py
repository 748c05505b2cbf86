"""The memory chain and the passive T-maze: β = 0.001, five thousand steps, 512 drawn demonstrations.

The environment's own numbers say in the chain how much time is left; its symbols do not.
"""

from collections.abc import Iterator
from functools import partial
from statistics import mean
from typing import Any

from certify import Answer, certify
from certify.zoo import build
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import RECORDED, counted
from reproduction.catalogue._figures import derived, measured, study
from reproduction.derive import gathered, spread, tally
from reproduction.paper import RELEASED, Paper, as_released
from reproduction.paper_certificates import CHAINS, MAZES
from reproduction.reference import block, figure, row
from reproduction.verdicts import RATE_TOLERANCE, Count, Value, value

NAME, SOLVED = "community", figure("table.exttmaze", "success_min")
_CHAIN = block("certify.memory_chain")
_CERTIFIED = {"plain": "plain", RECORDED: "event_agnostic"}
PRESETS = ("carousel", RELEASED["memory-chain"])
_OTHERS = {
    "plain+bfs": ("plain+BFS", PRESETS),
    "scaffold": ("scaffold", PRESETS[1:]),
    "gru-128": ("gru 128-d", PRESETS[1:]),
    "gru-8": ("gru 8-d", PRESETS[1:]),
    "gru-4": ("gru 4-d", PRESETS[1:]),
}


def _certified(learner: str, kind: str, **match: Any) -> Paper:
    line = row("table.cert", task=kind, **match)
    rate = (("mid-delay", line["learned_bits"]),) if learner == RECORDED and "learned_bits" in line else ()
    return Paper("table.cert", (line[_CERTIFIED[learner]], figure("table.cert", "of")), rate=rate)


def _solved(said: str, length: int) -> Paper | None:
    lines = [line for line in block("table.exttmaze")["rows"] if (line["learner"], line["L"]) == (said, length)]
    return counted("table.exttmaze", lines[0]["solved"], figure("table.exttmaze", "of")) if lines else None


def _cell(name: str, learner: str, preset: str, paper: Paper | None, **parameters: int) -> Cell:
    """The authors' settings read the environment's own numbers, ours symbols."""
    symbols = task(name, **parameters)
    instance = as_released(symbols) if preset == RELEASED[name] else symbols
    return Cell(NAME, instance, learner, preset, "external", 1e-3, 5000, paper, 512)


def _cells() -> Iterator[Cell]:
    for preset in PRESETS:
        for learner in _CERTIFIED:
            for bits, delay in CHAINS:
                paper = _certified(learner, "MemoryChain", bits=bits, delay=delay)
                yield _cell("memory-chain", learner, preset, paper, bits=bits, delay=delay)
            for length in MAZES:
                listed = length <= 50  # the greatest length is in the other table alone
                said = "plain" if learner == "plain" else "event-agnostic"
                paper = _certified(learner, "PassiveTMaze", delay=length) if listed else _solved(said, length)
                yield _cell("passive-t-maze", learner, preset, paper, L=length)
    for learner, (said, presets) in _OTHERS.items():
        for preset in presets:
            for length in MAZES:
                yield _cell("passive-t-maze", learner, preset, _solved(said, length), L=length)


CELLS = tuple(_cells())
_SHOWN = [cell for cell in CELLS if cell.preset == "carousel" and cell.learner in _CERTIFIED]


def _query(bits: int, preset: str, results: Results) -> Value | None:
    """Mean rate at the query over the sufficient runs of a chain of so many bits."""
    chains = (cell for cell in CELLS if dict(cell.task.parameters).get("bits") == bits)
    cells = [cell for cell in chains if cell.preset == preset and cell.learner in _CERTIFIED]
    rows = gathered(results, cells)
    rates = [line["rate"]["query"] for line in rows if line["sufficient"]]
    return spread([mean(rates)] if rates else [], rows)


def worst(results: Results) -> Value | None:
    """Largest departure of a sufficient run's rate from the requirement at mid-delay."""
    rows = gathered(results, _SHOWN)
    good = [line for line in rows if line["sufficient"]]
    gaps = [abs(line["rate"]["mid-delay"] - line["requirement"]["mid-delay"]) for line in good]
    return spread([max(gaps)] if gaps else [], rows)


def _answers() -> list[tuple[int, Answer]]:
    """Every certified instance, with the bits that are needed while the cue is hidden."""
    chains = [(bits, certify(build("memory-chain", bits=bits, delay=delay))) for bits, delay in CHAINS]
    return chains + [(1, certify(build("passive-t-maze", L=length))) for length in MAZES]


def _mid(answer: Answer) -> float:
    return answer.steps[len(answer.steps) // 2].upper


def _certifications() -> Value:
    """Instances that need so many bits at mid-delay, and where (A2), (A4) and transitivity hold."""
    right = [
        all(step.a2 and step.a4 and step.transitive for step in answer.steps) and abs(_mid(answer) - bits) < 1e-9
        for bits, answer in _answers()
    ]
    return Count(sum(right), len(right))


def _chain_bits() -> Value:
    """H(Γ_t|O_t) at mid-delay of the chains of one, two and three bits, at their longest delay, then at the query."""
    longest = [certify(build("memory-chain", bits=bits, delay=CHAINS[-1][1])) for bits in (1, 2, 3)]
    return value([*map(_mid, longest), longest[-1].steps[-1].upper])


def _maze_bits() -> Value:
    return value([_mid(answer) for _, answer in _answers()[len(CHAINS) : -1]])


def _maze(learner: str, length: int) -> list[Cell]:
    return [cell for cell in _SHOWN if (cell.task, cell.learner) == (task("passive-t-maze", L=length), learner)]


STUDY = study(
    NAME,
    CELLS,
    {
        "largest departure from the requirement at mid-delay, bits": worst,
        "certifications that hold": _certifications,
    },
    (
        measured(
            "memory chain: bits at mid-delay for 1, 2 and 3 bits, and at the query",
            "certify.memory_chain",
            value(
                [
                    *figure("certify.memory_chain", "requirement_delay_bits"),
                    figure("certify.memory_chain", "requirement_query_bits"),
                ]
            ),
            _chain_bits,
            1e-9,
        ),
        measured(
            "passive T-maze: bits in the corridor at three lengths",
            "certify.passive_tmaze",
            value([figure("certify.passive_tmaze", "requirement_corridor_bits")] * (len(MAZES) - 1)),
            _maze_bits,
            1e-9,
        ),
        *(
            derived(
                f"{said}mean bits at the query, {line['bits']}-bit chain",
                "table.cert_query",
                value(line["mean_bits"]),
                partial(_query, line["bits"], preset),
                RATE_TOLERANCE,
                "lower",
            )
            for preset, said in zip(PRESETS, ("", "release, "), strict=True)
            for line in figure("table.cert_query", "rows")
        ),
        *(
            derived(
                f"passive T-maze L={length}: {learner} runs that solve it",
                "table.exttmaze",
                Count(row("table.exttmaze", learner=said, L=length)["solved"], figure("table.exttmaze", "of")),
                tally(_maze(learner, length), lambda line: line["success"] >= SOLVED),
                better="higher",
            )
            for learner, said in (("plain", "plain"), (RECORDED, "event-agnostic"))
            for length in (10, 20, 50)
        ),
    ),
)
