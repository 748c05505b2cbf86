"""Verdicts: Fisher's test against the sum that defines it, tolerances from both sides, and nothing in our favour."""

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.verdicts import LEVEL, Count, Profile, Range, contrast, judge, near, success_verdict, value


def literal_p(first: Count, second: Count) -> float:
    """All tables with these margins that are no likelier than the one found."""
    passed, runs = first.passed + second.passed, first.of + second.of
    ways = {
        k: comb(first.of, k) * comb(second.of, passed - k)
        for k in range(max(0, passed - second.of), min(first.of, passed) + 1)
    }
    return sum(way for way in ways.values() if way <= ways[first.passed]) / comb(runs, passed)


counts = st.integers(1, 24).flatmap(lambda of: st.integers(0, of).map(lambda passed: Count(passed, of)))


@settings(max_examples=60)
@given(counts, counts)
def test_counts_agree_unless_fisher_tells_them_apart(ours: Count, paper: Count):
    found = contrast(ours, paper)
    p = literal_p(ours, paper)
    if abs(p - LEVEL) < 1e-6:
        return
    above = ours.passed / ours.of > paper.passed / paper.of
    assert found == ("agrees" if p > LEVEL else "better" if above else "differs")
    assert contrast(ours, paper, None) == ("agrees" if p > LEVEL else "differs")
    assert (contrast(ours, paper, "lower") == "better") == (p < LEVEL and not above)


def test_eight_against_none_is_better_and_the_reverse_differs():
    assert contrast(Count(8, 8), Count(0, 8)) == "better"
    assert contrast(Count(0, 8), Count(8, 8)) == "differs"
    assert contrast(Count(8, 8), Count(4, 8)) == "agrees"
    low, high = Count(4, 8).interval
    assert (low, high) == pytest.approx((0.2152, 0.7848), abs=1e-4)


@pytest.mark.parametrize(
    ("ours", "better", "verdict"),
    [
        (Range(0.95, 0.95), None, "agrees"),
        (Range(1.15, 1.15), None, "agrees"),
        (Range(1.25, 1.25), None, "differs"),
        (Range(1.25, 1.25), "higher", "better"),
        (Range(0.85, 0.85), "higher", "differs"),
        (Range(0.85, 0.85), "lower", "better"),
        (Range(0.85, 1.05), "higher", "differs"),
        (Range(0.85, 1.25), "lower", "differs"),
        (Profile((1.0,)), None, "differs"),
    ],
)
def test_numbers_are_held_to_their_tolerance(ours, better, verdict):
    assert near(ours, Range(1.0, 1.1), 0.1, better) == verdict


def test_profiles_agree_step_by_step():
    assert near(value([1, 2]), value([1, 2.001]), 0.01) == "agrees"
    assert near(value([1, 2]), value([1, 2.02]), 0.01) == "differs"
    assert near(value([1, 2]), value([1, 2, 3]), 0.01) == "differs"


def test_a_missing_figure_is_not_run_and_kinds_do_not_mix():
    assert judge(None, Range(1, 1), 0, None) == "not run"
    assert judge(Count(1, 2), Range(0.5, 0.5), 1, "higher") == "differs"
    assert judge(Count(8, 8), Count(0, 8), 0, "higher") == "better"


def test_success_is_held_against_the_spread_of_our_seeds():
    assert success_verdict([0.9] * 8, 0.94) == "agrees"
    assert success_verdict([0.9] * 8, 0.96) == "differs"
    assert success_verdict([0.99] * 8, 0.5) == "better"
    assert success_verdict([0.99] * 8, 0.5, None) == "differs"
    assert success_verdict([0.2, 1.0] * 4, 0.95) == "agrees"
    assert success_verdict([1.0], 0.97) == "agrees"
