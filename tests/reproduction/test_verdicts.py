"""Verdicts: Fisher's test against the sum that defines it, tolerances from both sides, and nothing in our favour."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from reproduction.verdicts import (
    LEVEL,
    SHARE_TOLERANCE,
    Count,
    P,
    Part,
    Profile,
    Range,
    combined,
    contrast,
    count_part,
    holm,
    judge,
    near,
    spread_part,
    value,
)


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
@given(counts, counts, st.sampled_from(["higher", "lower", None]), st.integers(1, 30))
def test_counts_are_judged_by_fisher_and_are_better_only_after_holm(ours, paper, better, contrasts):
    p = contrast(ours, paper)
    assert p is not None
    assert p == pytest.approx(literal_p(ours, paper))
    state = count_part(ours, paper, better, P(p, min(1.0, contrasts * p))).state
    apart = ours.passed / ours.of - paper.passed / paper.of
    if p >= LEVEL:
        assert state == ("near" if abs(apart) <= SHARE_TOLERANCE else "unclear")
    elif better != ("higher" if apart > 0 else "lower"):
        assert state == "differs"  # to our disadvantage nothing is corrected
    else:
        assert state == ("better" if contrasts * p < LEVEL else "unclear")


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_that_of_statsmodels(ps):
    assert holm(ps) == pytest.approx(np.asarray(multipletests(ps, method="holm")[1]).tolist())


@pytest.mark.parametrize(
    ("ours", "paper", "state"),
    [
        ([1.0, 1.1], [1.14], "near"),  # within 0.1 of the mean
        ([1.0, 2.0], [1.95], "near"),  # the paper's mean lies in our range
        ([1.0, 1.2], [1.5, 1.1, 1.6], "near"),  # a run of the release lies in it
        ([1.0, 1.2], [1.5, 1.4, 1.6], "differs"),
        ([], [1.5], "unclear"),  # no seed is sufficient: no rate to compare
    ],
)
def test_numbers_of_seeds_differ_where_means_and_ranges_do(ours, paper, state):
    assert spread_part("rate", ours, paper, 0.1).state == state


def test_success_above_the_papers_is_not_better_without_a_test():
    part = spread_part("success", [1.0, 1.0], [0.8], 0.1, "higher")
    assert part == Part("success (+0.20)", "above")
    assert str(combined([part], 8)) == "differs in success (+0.20)"
    assert str(combined([part, Part("count", "better")], 8)) == "better"


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (["near", "near"], "agrees"),
        (["near", "unclear"], "no difference shown (n=8)"),
        (["better", "near"], "better"),
        (["better", "differs"], "differs in part 1"),
        (["differs", "unclear", "differs"], "differs in part 0, part 2"),
    ],
)
def test_what_differs_decides_and_is_named(states, said):
    assert str(combined([Part(f"part {k}", state) for k, state in enumerate(states)], 8)) == said


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
    def kind(*given) -> str:
        return judge(*given, p=P(0.001, 0.01), tested=True).kind

    assert kind(None, Range(1, 1), 0, None) == "not run"
    assert kind(Count(1, 2), Range(0.5, 0.5), 1, "higher") == "differs"
    assert kind(Count(8, 8), Count(0, 8), 0, "higher") == "better"
    assert kind(Range(2, 2), Range(1, 1), 0, "higher") == "differs"  # from seeds, without a test
    assert judge(Range(2, 2), Range(1, 1), 0, "higher", None, tested=False).kind == "better"
