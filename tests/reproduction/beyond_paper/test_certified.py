"""The study of the certified learner, small."""

from certify.zoo import build
from reproduction.beyond_paper.certified import chain_task, line, long_chain, run_task


def test_the_long_chain_is_that_of_the_zoo() -> None:
    for delay in (3, 8):
        assert long_chain(delay).digest == build("memory-chain", bits=2, delay=delay).digest


def test_a_cell_is_labelled_taught_and_judged() -> None:
    rows = run_task(chain_task(20), seeds=2)
    assert all(row["sufficient"] and row["largest_surplus"] < 1e-9 for row in rows)
    assert {(row["codes_used"], row["horizon"]) for row in rows} == {(4, 21)}
    assert line(rows).startswith("memory-chain bits=2 delay=20: 2/2 sufficient, surplus 0.000 bit, 4 codes")
