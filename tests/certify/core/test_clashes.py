"""The join of edges with conflicts, against a comparison of all pairs."""

import numpy as np
import pytest

from certify.core.clashes import clashes, within


def world(seed: int) -> tuple[np.ndarray, ...]:
    """Random edges into kinds of a few groups, some of them loose with random symmetric conflicts."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, 4, 12))
    kinds = len(group)
    loose = np.flatnonzero(rng.random(4) < 0.5)
    matrix = np.triu(rng.random((kinds, kinds)) < 0.4, 1)
    matrix = (matrix | matrix.T) & (group[:, None] == group[None, :]) & np.isin(group, loose)[:, None]
    clash = np.flatnonzero(matrix)
    edges = 40
    context, kind, signature = rng.integers(0, 6, edges), rng.integers(0, kinds, edges), rng.integers(0, 15, edges)
    return context, kind, signature, group, loose, clash, matrix


def conflict(a: int, b: int, group: np.ndarray, loose: np.ndarray, matrix: np.ndarray) -> bool:
    if group[a] == group[b] and group[a] in loose:
        return bool(matrix[a, b])
    return a != b


@pytest.mark.parametrize("seed", range(60))
def test_the_join_finds_the_pairs_that_a_comparison_finds(seed: int) -> None:
    context, kind, signature, group, loose, clash, matrix = world(seed)

    def conflicting(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.array([conflict(a, b, group, loose, matrix) for a, b in zip(first, second, strict=True)], bool)

    pairs = clashes(context, kind, signature, group, loose, clash, conflicting, 10**6)
    assert pairs is not None
    literal = {
        (int(signature[i]), int(signature[j]))
        for i in range(len(context))
        for j in range(len(context))
        if context[i] == context[j] and conflict(int(kind[i]), int(kind[j]), group, loose, matrix)
    }
    assert set(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)) == literal
    assert literal
    assert clashes(context, kind, signature, group, loose, clash, conflicting, 3) is None


def test_membership_in_an_ascending_array() -> None:
    assert within(np.array([0, 3, 5, 9]), np.array([3, 9])).tolist() == [False, True, False, True]
    assert not within(np.array([1]), np.zeros(0, np.int64)).any()
