"""Partition refinement against the literal one, on automata of all shapes."""

import random

import numpy as np
import pytest
from stationary_twin import pair_conflicts

from certify.core.exact import rank
from certify.stationary.observer import Observer
from certify.stationary.refine import strong_classes, sure_splits
from certify.stationary.relation import compatibility, conflicts, separating_word


def random_observer(seed: int, size: int, density: float = 0.7) -> Observer:
    """Any partial automaton whose labels (action, observation) lead to nodes that show the observation."""
    rng = random.Random(seed)
    observation = np.array([rng.randrange(2) for _ in range(size)])
    shows = [np.flatnonzero(observation == o).tolist() for o in (0, 1)]
    edges = [
        (node, label, rng.choice(shows[label % 2]))
        for node in range(size)
        for label in range(4)
        if shows[label % 2] and rng.random() < density
    ]
    source, label, target = np.array(edges, np.int64).reshape(-1, 3).T.copy()
    law = np.array([int(rng.random() < 0.2) for _ in range(size)])
    none = np.zeros(size, np.int64)
    return Observer(
        ("o", "p"), ("a", "b"), "support", observation, law, ((), ()), source, label, target, {}, none, none
    )


def literal_classes(observer: Observer) -> list[int]:
    """Refine until nothing changes, comparing whole signatures."""
    labels = list(zip(observer.observation.tolist(), observer.law.tolist(), strict=True))
    count = len(set(labels))
    while True:
        numbers = {key: k for k, key in enumerate(sorted(set(labels)))}
        signed = [
            (numbers[labels[node]], tuple(sorted((u, numbers[labels[t]]) for u, t in observer.moves[node].items())))
            for node in range(observer.size)
        ]
        if len(set(signed)) == count:
            return [numbers[label] for label in labels]
        labels, count = signed, len(set(signed))


def same_partition(first: list[int], second: list[int]) -> bool:
    pairs = set(zip(first, second, strict=True))
    return len(pairs) == len(set(first)) == len(set(second))


@pytest.mark.parametrize("density", [0.0, 0.3, 0.8, 1.0])
def test_strong_classes_are_those_of_the_literal_refinement(density: float):
    for seed in range(60):
        observer = random_observer(seed, 1 + seed, density=density)
        labels, count = strong_classes(observer)
        assert same_partition(labels.tolist(), literal_classes(observer))
        assert count == len(set(labels.tolist()))
        assert rank(labels)[0].tolist() == labels.tolist()
        assert observer.quotient(labels, count).size == count


def test_a_long_chain_is_split_node_by_node():
    size = 800
    source = np.arange(size - 1)
    law = np.zeros(size, np.int64)
    law[-1] = 1
    none = np.zeros(size, np.int64)
    chain = Observer(
        ("o",), ("a",), "support", none, law, ((), ()), source, none[1:], source + 1, {0: 0}, none - 1, none
    )
    assert strong_classes(chain)[1] == size
    splits = sure_splits(chain)
    assert (splits.closed, splits.count, splits.rounds) == (True, size, size - 2)


@pytest.mark.parametrize("density", [0.3, 0.7, 1.0])
def test_compatibility_is_the_fixpoint_on_pairs(density: float):
    closed = 0
    for seed in range(60):
        observer = random_observer(seed, 2 + seed % 25, density=density)
        bad = pair_conflicts(observer)
        matrix, _ = conflicts(observer)
        assert {(int(a), int(b)) for a, b in np.argwhere(matrix)} == bad
        splits = sure_splits(observer)
        closed += splits.closed
        for a in range(observer.size):
            for b in range(observer.size):
                if observer.observation[a] == observer.observation[b]:
                    apart = splits.labels[a] != splits.labels[b]
                    assert not apart or (a, b) in bad
                    assert not splits.closed or apart == ((a, b) in bad)
                    assert (separating_word(observer, a, b) is not None) == ((a, b) in bad)
        relation = compatibility(observer)
        if splits.closed:
            assert relation.transitive
    assert closed > 10 if density == 1.0 else closed >= 0


def test_a_partition_that_is_not_closed_is_refused():
    observer = random_observer(3, 12, density=1.0)
    with pytest.raises(ValueError, match="not closed"):
        observer.quotient(np.arange(12) % 2, 2)
