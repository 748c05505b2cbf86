"""The reference is found by name, and what is missing is named."""

import pytest

from certify.errors import UserError
from reproduction.reference import block, count, figure, row, sections


def test_every_section_can_be_opened():
    assert len(sections()) > 100
    assert {"table.learning_main", "certify.toys.gap", "ambiguity"} <= set(sections())
    for name in sections():
        assert block(name), name


def test_a_row_is_found_by_what_it_says():
    assert count(row("table.learning_main", learner="teacher-state", gap=6)) == (2, 8)
    assert count({"sufficient": [0, 2], "of": 8}) is None
    assert count({"sufficient": 3}) is None
    assert figure("weigh.task", "expert_success.of") == 1024


@pytest.mark.parametrize(
    ("look", "named"),
    [
        (lambda: block("table.nothing"), r"no section \[table.nothing\]"),
        (lambda: figure("ksweep", "sufficient.of"), "'sufficient.of'"),
        (lambda: row("table.learning_main", learner="plain"), "0 rows of 'rows' have learner='plain'"),
        (lambda: row("table.learning_main", gap=6), "3 rows"),
    ],
)
def test_what_is_missing_is_named(look, named):
    with pytest.raises(UserError, match=named):
        look()
