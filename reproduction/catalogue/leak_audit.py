"""An injected leak of six magnitudes: does the code's verdict, or a flag, give it away?"""

from functools import partial
from math import log2

from diacritic.files.ledger import Row
from diacritic.measure.flags import CORRECT, NAMES, Evidence, Name
from diacritic.measure.gates import THRESHOLD
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue import full_reveal, learning_targets
from reproduction.catalogue._declare import ERROR_TOLERANCE, counted, franka, imitation_error, mean_of
from reproduction.catalogue._figures import derived, measured, study
from reproduction.catalogue.plain_trajectories import EPISODES
from reproduction.derive import tally
from reproduction.paper import Paper
from reproduction.reference import block, figure
from reproduction.verdicts import SUCCESS_TOLERANCE, Count, Value, value

NAME, _BLOCK = "leak-audit", "table.audit"
_TABLE = block(_BLOCK)


def _cell(k: int, millimetres: float) -> Cell:
    instance = task("two-cues", gap=6, leak=millimetres) if millimetres else task("two-cues", gap=6)
    count = counted(_BLOCK, _TABLE["gate_passes"][k], _TABLE["seeds"])
    paper = Paper(_BLOCK, None if count is None else count.sufficient, _TABLE["closed_loop"][k])
    return franka(NAME, instance, "plain", paper, demonstrations=EPISODES, seeds=_TABLE["seeds"])


CELLS = tuple(_cell(k, millimetres) for k, millimetres in enumerate(_TABLE["delta_mm"]))


def evidence(row: Row) -> Evidence:
    """What the flags look at, from a row."""
    held = row["scores"]["gap2"]["S_Gamma"]
    return Evidence(
        row["decision_error"]["slot"], row["rate"]["gap2"], bool(row["sufficient"]), held is None or held > THRESHOLD
    )


def _raises(flag: Name, row: Row) -> bool:
    return flag in evidence(row).flags


def _example() -> Value:
    """H(G|C) and S_G of a uniform binary class that a code names with a symmetric error."""
    error = figure(_BLOCK, "symmetric_error_example.error")
    left = -sum(share * log2(share) for share in (error, 1 - error))
    return value([left, 1 - left])


def _flagged(cells: tuple[Cell, ...], flag: Name, results: Results) -> Value | None:
    return tally(cells, partial(_raises, flag))(results)


def _false_alarms(flag: Name, results: Results) -> Value | None:
    """Over every correct run in our ledgers on two cues or full reveal without a leak."""
    told = [
        row
        for cell in dict.fromkeys(cell for study in (learning_targets.CELLS, full_reveal.CELLS) for cell in study)
        for row in results.shown(cell)
    ]
    correct = [row for row in told if row["decision_error"]["slot"] < CORRECT]
    return Count(sum(_raises(flag, row) for row in correct), len(correct)) if correct else None


STUDY = study(
    NAME,
    CELLS,
    {
        "clean runs, all learners: correct ones that raise flag B": partial(_false_alarms, "B"),
        "clean runs, all learners: correct ones that raise flag B′": partial(_false_alarms, "B′"),
    },
    (
        *(
            derived(
                f"leak {millimetres:g} mm: slot accuracy in closed loop",
                _BLOCK,
                value(_TABLE["slot_accuracy"][k]),
                mean_of([CELLS[k]], lambda row: row.get("slot")),
                SUCCESS_TOLERANCE,
            )
            for k, millimetres in enumerate(_TABLE["delta_mm"])
        ),
        *(
            derived(
                f"leak {millimetres:g} mm: correct runs",
                _BLOCK,
                Count(_TABLE["correct_seeds"][k], _TABLE["seeds"]),
                tally([CELLS[k]], lambda row: row["decision_error"]["slot"] < CORRECT),
            )
            for k, millimetres in enumerate(_TABLE["delta_mm"])
        ),
        *(
            derived(
                f"leak {millimetres:g} mm: squared action error on held-out episodes",
                _BLOCK,
                value(_TABLE["held_out_action_mse"][k]),
                mean_of([CELLS[k]], imitation_error()),
                ERROR_TOLERANCE,
                "lower",
            )
            for k, millimetres in enumerate(_TABLE["delta_mm"])
        ),
        *(
            derived(
                f"flag {flag}, all magnitudes: runs that raise it",
                _BLOCK,
                Count(sum(_TABLE[key]), len(CELLS) * _TABLE["seeds"]),
                partial(_flagged, CELLS, flag),
            )
            for flag, key in zip(NAMES, ("flag_A", "flag_B", "flag_B_prime"), strict=True)
        ),
        measured(
            "a symmetric error of 4 %: H(G|C) and S_G",
            _BLOCK,
            value([figure(_BLOCK, f"symmetric_error_example.{key}") for key in ("H_bits", "S_G")]),
            _example,
            0.0005,
        ),
    ),
)
