"""Two verdicts on the same runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.measure.agreement import Agreement


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_every_run_is_counted_once(verdicts: list[tuple[bool, bool]]) -> None:
    first, second = zip(*verdicts, strict=True)
    table = Agreement.of(first, second)
    assert table.runs == len(verdicts)
    assert table.agree == sum(a == b for a, b in verdicts)
    assert table.both == sum(a and b for a, b in verdicts)
    assert list(table.first_only) == [k for k, (a, b) in enumerate(verdicts) if a and not b]
    assert list(table.second_only) == [k for k, (a, b) in enumerate(verdicts) if b and not a]
    low, high = table.interval
    assert low <= table.share + 1e-12
    assert table.share <= high + 1e-12


def test_the_table_in_words() -> None:
    table = Agreement.of([True, True, False, False], [True, False, False, False], seeds=[10, 11, 12, 13])
    assert table.lines() == [
        "                         own occupancy passes  fails",
        "expert occupancy passes                     1      1",
        "expert occupancy fails                      0      2",
        "3/4 verdicts agree (0.75, 95 % 0.30–0.95); switched: 11",
    ]


def test_bad_input_is_named() -> None:
    with pytest.raises(UserError, match="verdicts: 2 and 3 of 2 runs"):
        Agreement.of([True, False], [True, False, True])
    with pytest.raises(UserError, match="verdicts: 0 and 0"):
        Agreement.of([], [])
