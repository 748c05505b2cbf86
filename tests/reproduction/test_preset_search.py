"""The rule that picks the preset, and that what it picked is what is shipped."""

from pathlib import Path

from diacritic.files.ledger import read_ledger
from diacritic.measure.scores import Requirement
from diacritic.training.preset import PRESETS
from reproduction.preset_search import readout, winner

RESULTS = Path(__file__).parents[2] / "results"


def line(cell: str, rate: float, end: int, half: int):
    keys = {"code_scale": 0.1, "residual_scale": 0.1, "restarts": 100, "pressure": [0.0, 0.0], "clip": 1.0}
    return {**keys, "cell": cell, "rate": rate, "sufficient": end, "sufficient_half_way": half}


def test_the_end_counts_first_then_half_way_then_the_smaller_rate():
    assert winner([line("a", 1e-3, 8, 0), line("a", 3e-3, 7, 8)])["rate"] == 1e-3
    assert winner([line("a", 1e-3, 8, 0), line("a", 3e-3, 8, 1)])["rate"] == 3e-3
    assert winner([line("a", 3e-3, 8, 1), line("a", 1e-3, 8, 1)])["rate"] == 1e-3
    assert (
        winner([line("a", 1e-3, 8, 0), line("b", 1e-3, 0, 0), line("a", 3e-3, 5, 0), line("b", 3e-3, 4, 0)])["rate"]
        == 3e-3
    )


def test_the_shipped_preset_is_the_winner_of_the_recorded_search():
    best, shipped = winner(read_ledger(RESULTS / "preset-search.jsonl")), PRESETS["carousel"]
    for key in ("code_scale", "residual_scale", "rate", "restarts", "clip"):
        assert getattr(shipped, key) == best[key], key
    assert list(shipped.pressure) == best["pressure"]


def test_the_sketch_of_readout_requires_three_bits_to_the_end():
    bits = Requirement.of(readout()).bits
    assert [round(b or 0, 6) for b in bits] == [0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
