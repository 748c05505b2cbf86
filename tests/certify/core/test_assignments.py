"""Closed compatible assignments: the verifier against the definition, the constructions against the verifier."""

import random

import numpy as np
import pytest
from certify_exhaustive import Exhaustive
from certify_twin import Document, Twin, documents, loose_models, node_histories
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Model
from certify.core.assignments import Tree, bits, construct, improve, labels, verify
from certify.core.colouring import Budget
from certify.core.graph import Graph
from certify.core.relations import compatibility, strong_classes
from certify.zoo import build

BUDGET = Budget(600.0)


def tree_of(graph: Graph) -> Tree:
    return Tree.of(graph, compatibility(graph))


def is_closed_and_compatible(twin: Twin, graph: Graph, cells: list[np.ndarray]) -> bool:
    """The definition, pair by pair."""
    homes = [dict(zip(node_histories(graph, t), label.tolist(), strict=True)) for t, label in enumerate(cells)]
    for t, home in enumerate(homes):
        for h in home:
            for k in home:
                if home[h] != home[k]:
                    continue
                if (h, k) not in twin.compatible[t]:
                    return False
                common = twin.levels[t][h].support & twin.levels[t][k].support
                if any(homes[t + 1][*h, *u] != homes[t + 1][*k, *u] for u in common):
                    return False
    return True


@settings(max_examples=200)
@given(documents(), st.randoms(use_true_random=False))
def test_the_verifier_is_the_definition(document: Document, rng: random.Random) -> None:
    """On the strong classes, and on these with two cells of one level joined or split."""
    twin, graph = Twin(document), Model.from_episodes(document).graph
    cells = strong_classes(graph)
    assert verify(graph, cells) is None
    assert is_closed_and_compatible(twin, graph, cells)
    for _ in range(3):
        t = rng.randrange(graph.horizon)
        changed = [label.copy() for label in cells]
        changed[t][rng.randrange(len(changed[t]))] = rng.choice([*changed[t].tolist(), 10**6])
        assert (verify(graph, changed) is None) == is_closed_and_compatible(twin, graph, changed)


def test_what_the_verifier_says() -> None:
    graph = build("reveal").graph
    classes = [relation.kind for relation in compatibility(graph)]
    assert verify(graph, classes) is None

    def with_level(t: int, label: np.ndarray) -> list[np.ndarray]:
        return [label if s == t else other for s, other in enumerate(classes)]

    forgetful = [np.zeros(level.size, np.int64) for level in graph.levels]
    assert verify(graph, forgetful) == "step 1: a cell holds histories of different observation"
    assert verify(graph, with_level(3, forgetful[3])) == "step 4: a cell holds histories of different law"
    merged = graph.levels[2].observation.copy()
    assert verify(graph, with_level(2, merged)) == "step 3: a continuation leads from one cell into two"


def test_singletons_are_always_an_assignment() -> None:
    for document, twin in loose_models(40, 30):
        graph = Model.from_episodes(document).graph
        cells = [np.arange(level.size) for level in graph.levels]
        assert verify(graph, cells) is None
        assert is_closed_and_compatible(twin, graph, cells)


@pytest.mark.parametrize("seed", [50, 51])
def test_constructions_are_assignments(seed: int) -> None:
    for document, twin in loose_models(seed, 60):
        graph = Model.from_episodes(document).graph
        tree = tree_of(graph)
        made = list(construct(tree, BUDGET))
        assert len(made) == 3
        for cells in made:
            for t, level in enumerate(cells):
                assert sorted(node for cell in level for node in bits(cell)) == list(range(graph.levels[t].size))
            assert verify(graph, labels(tree, cells)) is None
            assert is_closed_and_compatible(twin, graph, labels(tree, cells))


def test_one_level_alone_is_coloured_best() -> None:
    """With nothing chosen before or after, `improve` finds the floor of the step."""
    for document, twin in loose_models(60, 60):
        exhaustive, graph = Exhaustive(twin), Model.from_episodes(document).graph
        tree = tree_of(graph)
        for t, least in enumerate(exhaustive.colouring_minima()):
            cells, histories = improve(tree, t, None, None, BUDGET), node_histories(graph, t)
            assert sum(tree.weight(t, cell) for cell in cells) == tree.total[t]
            home = {histories[node]: k for k, cell in enumerate(cells) for node in bits(cell)}
            assert twin.entropy(t, home.__getitem__) == pytest.approx(exhaustive.bits(least), abs=1e-12)


def test_a_cell_forces_the_units_of_the_next_level() -> None:
    """h1 and h3 of the three histories share the continuation u; whoever is joined is followed together."""
    graph = build("three-histories").graph
    tree = tree_of(graph)
    names = [graph.history(1, node)[0] for node in range(3)]
    h = {name: 1 << k for k, name in enumerate(names)}
    after = {tuple(graph.history(2, node)[::4]): 1 << node for node in range(5)}
    together = tree.forced(1, [h["h1"] | h["h3"], h["h2"]])
    assert sorted(together) == sorted(
        [after["h1", "u"] | after["h3", "u"], after["h1", "v1"], after["h3", "v3"], after["h2", "w"]]
    )
    apart = tree.forced(1, tree.singletons(1))
    assert sorted(apart) == sorted(after.values())


def test_friends_of_a_unit_are_friends_of_all_its_members() -> None:
    for document, twin in loose_models(70, 40):
        graph = Model.from_episodes(document).graph
        tree = tree_of(graph)
        for t, level in enumerate(graph.levels):
            histories = node_histories(graph, t)
            for node in range(level.size):
                expected = {k for k, other in enumerate(histories) if (histories[node], other) in twin.compatible[t]}
                assert set(bits(tree.unit_friends(t, 1 << node))) == expected
            if level.size > 1:
                both = tree.unit_friends(t, 0b11)
                assert both == tree.friends[t][0] & tree.friends[t][1]


@given(st.integers(0, 2**70))
def test_bits_are_the_positions_of_ones(mask: int) -> None:
    assert bits(mask) == [k for k in range(71) if mask >> k & 1]
