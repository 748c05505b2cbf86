"""The bound of the continuous bottleneck on the robot task is read from the rows of its runs."""

from study_rows import run_of

from diacritic.studies.results import Results
from reproduction.catalogue import lower_boundary
from reproduction.verdicts import Range


def test_the_bound_is_that_of_the_first_gap_where_the_memory_suffices():
    (cell,) = [cell for cell in lower_boundary.STUDY.cells if cell.learner == "gaussian"]
    (asked,) = [figure for figure in lower_boundary.STUDY.figures if figure.name.startswith("continuous bottleneck")]
    rows = [
        run_of(cell, seed, sufficient=seed < 2, kl_bits={"gap1": 6.0 + seed, "gap2": 1.0}) for seed in cell.run_seeds
    ]
    assert asked.ours(Results({"x": rows}), "lower-boundary") == Range(6.5, 6.5)
    assert asked.verdict(Range(6.5, 6.5)).kind == "differs"
    assert asked.ours(Results({"x": rows[1:]}), "lower-boundary") is None
