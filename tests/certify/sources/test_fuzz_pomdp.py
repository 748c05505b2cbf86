"""Damaged `.pomdp` files."""

from importlib.resources import files
from pathlib import Path

import pytest
from certify_fuzz import check_reader, damaged_bytes

from certify.errors import UserError
from certify.sources.pomdp import load_pomdp, read_pomdp

DATA = files("certify.sources") / "data"
PREAMBLE = "discount: 1\nvalues: reward\nstates: 2000\nactions: 1\nobservations: 1\n"


@pytest.mark.parametrize("name", ["tiger", "tmaze"])
def test_damaged_bytes(name: str, tmp_path: Path) -> None:
    path = tmp_path / "problem.pomdp"

    def read(raw: bytes) -> None:
        path.write_bytes(raw)
        problem = load_pomdp(path)
        assert len(problem.transitions) == len(problem.actions)

    check_reader(read, damaged_bytes((DATA / f"{name}.pomdp").read_bytes(), seed=7))


def test_a_short_file_cannot_write_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certify.sources._cassandra.MOST_WRITES", 10_000)
    with pytest.raises(UserError, match="line 9: the statements up to here write more than 10,000 entries"):
        read_pomdp(PREAMBLE.replace("2000", "50") + "T: * : * : * 0.5\n" * 1000)


def test_sums_have_a_bounded_denominator() -> None:
    row = " ".join(f"1/{10**3900 + 2 * k + 1}" for k in range(2000))
    with pytest.raises(UserError, match="line 6: the common denominator has more than 14,000 bits"):
        read_pomdp(PREAMBLE + f"start: {row}\n")
