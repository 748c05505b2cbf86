"""Charts: long profiles lose no change, equal curves are drawn once, names are shown letter by letter."""

from html import unescape
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from diacritic.report.charts import LONG, joined, plain, shortened

levels = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 90)), min_size=1, max_size=8)


@given(levels)
def test_a_shortened_profile_is_the_same_staircase(runs: list[tuple[int, int]]):
    values = [float(bits) for bits, length in runs for _ in range(length)]
    steps, kept = shortened(values)
    at = dict(zip(steps, kept, strict=True))
    assert (steps[0], steps[-1]) == (1, len(values))
    # between two kept steps nothing changes, unless they are neighbours
    for first, second in pairwise(steps):
        assert second == first + 1 or set(values[first - 1 : second]) == {at[first]}
    assert len(values) > LONG or len(steps) == len(values)


def test_equal_curves_are_drawn_once_under_all_their_names():
    x, y, text = joined({"a": [1.0, 2.0], "b": [1.00001, 2.0], "<c>": [0.0, None]})
    assert x == [1, 2, None, 1, 2, None]
    assert y == [1.0, 2.0, None, 0.0, None, None]
    assert text == ["a, b"] * 3 + ["&lt;c&gt;"] * 3
    assert joined({str(k): [1.0] for k in range(5)})[2][0] == "0, 1, 2 and 2 more"


@given(st.text())
def test_plain_names_hold_no_tag_and_lose_nothing(name: str):
    shown = plain(name)
    assert not set("<>") & set(shown)
    assert unescape(shown) == name
