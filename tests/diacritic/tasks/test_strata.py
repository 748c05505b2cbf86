"""Balanced draws: every value equally often in every prefix of whole rounds, every combination once a block."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.tasks.strata import stratified

sizes = st.lists(st.integers(1, 6), min_size=1, max_size=3)


@given(sizes, st.integers(0, 99))
def test_one_block_holds_every_combination_once(levels, seed):
    strata = {f"s{k}": size for k, size in enumerate(levels)}
    total = int(np.prod(levels))
    drawn = stratified(strata, total, seed)
    counts = Counter(zip(*(values.tolist() for values in drawn.values()), strict=True))
    assert counts == dict.fromkeys(product(*map(range, levels)), 1)


@given(sizes, st.integers(1, 40), st.integers(0, 99))
def test_the_largest_stratum_is_balanced_in_every_prefix(levels, episodes, seed):
    strata = {f"s{k}": size for k, size in enumerate(levels)}
    leader = max(strata, key=lambda name: strata[name])
    counts = np.bincount(stratified(strata, episodes, seed)[leader], minlength=strata[leader])
    assert counts.max() - counts.min() <= 1


def test_many_masses_and_few_slots_are_both_balanced_before_the_block_ends():
    drawn = stratified({"slot": 4, "mass": 512}, 1024, 3)
    assert set(np.bincount(drawn["mass"])) == {2}
    assert set(np.bincount(drawn["slot"])) == {256}
    both = stratified({"mass": 512, "slot": 4, "hover": 2}, 1024, 3)
    for name in ("slot", "hover"):  # neither is a function of the mass
        assert len(set(zip(both["mass"].tolist(), both[name].tolist(), strict=True))) == 1024
    halves = Counter(zip((drawn["mass"] // 256).tolist(), drawn["slot"].tolist(), strict=True))
    assert len(halves) == 8
    assert min(halves.values()) > 90


def test_the_first_of_the_others_turns_fastest():
    drawn = stratified({"theta": 8, "hover": 2, "mass": 4}, 16, 0)
    assert len(set(zip(drawn["theta"].tolist(), drawn["hover"].tolist(), strict=True))) == 16


def test_seeds():
    one, again, other = (stratified({"a": 4, "b": 4}, 64, seed)["a"] for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    assert one.dtype == np.int32


def test_nothing_to_balance():
    assert stratified({}, 5, 0) == {}


@pytest.mark.parametrize(
    ("strata", "episodes", "said"),
    [({"a": 0}, 4, r"strata\[a\]: expected at least one value"), ({"a": 2}, 0, "episodes:")],
)
def test_refusals(strata, episodes, said):
    with pytest.raises(UserError, match=said):
        stratified(strata, episodes, 0)


def test_nuisances_are_balanced_and_depend_on_nothing():
    drawn = stratified({"theta": 32, "hover": 2}, 256, 0, {"mass": 4})
    assert set(np.bincount(drawn["mass"])) == {64}
    assert len(set(zip(drawn["theta"].tolist(), drawn["mass"].tolist(), strict=True))) > 100  # of 128
    assert list(stratified({}, 8, 0, {"mass": 4})) == ["mass"]
