"""Every committed row has the required keys and types, and one meaning for each of its numbers."""

from pathlib import Path

import pytest

from diacritic.files.ledger import problem_of, read_ledger

RESULTS = Path(__file__).parents[2] / "results"
OTHERS = {
    "acceptance",
    "arena-search",
    "atlas",
    "preset-search",
    "robust-search",
    "forever",
    "forever-training",
    "need",
    "need-trees",
}  # not of judged runs: recordings, settings, proofs
LEDGERS = [path for path in sorted(RESULTS.rglob("*.jsonl")) if path.parent.name in ("results", "live")]


@pytest.mark.parametrize("path", [path for path in LEDGERS if path.stem not in OTHERS], ids=lambda path: path.stem)
def test_every_row_is_complete(path: Path):
    for row in read_ledger(path):
        assert problem_of(row) is None, f"{row['cell']}: {problem_of(row)}"
        assert "paper" not in row  # of which the reproduction knows, not the engine
        for window, surplus in row["surplus"].items():
            rate, need = row["rate"][window], row["requirement"][window]
            expected = None if rate is None or need is None else pytest.approx(rate - need, abs=2e-5)
            assert surplus == expected, f"{row['cell']}, {window}"
        assert all(bits is None or isinstance(bits, float) for bits in row.get("conditional_surplus", {}).values())
        assert isinstance(row.get("largest_surplus", 0.0), float)
        assert isinstance(row.get("surplus_answer", ""), str)
