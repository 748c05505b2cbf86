"""The table over horizons, against the twin."""

import itertools

import pytest
from certify_twin import Document, Twin, documents, is_transitive
from hypothesis import given, settings

from certify import Model
from certify.zoo import build, instances
from reproduction.distortion.horizon_table import horizon_table

TOLERANCE = 1e-14


@settings(max_examples=200)
@given(documents())
def test_the_table_over_horizons(document: Document) -> None:
    """Row J is H(Γ^(J)|O); a column never falls; the last row is H(Γ|O)."""
    twin, graph = Twin(document), Model.from_episodes(document).graph
    table = horizon_table(graph)
    assert len(table) == twin.horizon
    for steps, row in enumerate(table):
        for t, (value, relation) in enumerate(zip(row, twin.within(steps), strict=True)):
            assert (value is not None) == is_transitive(twin.levels[t], relation)
            if value is not None:
                assert abs(value - twin.class_entropy(t, relation)) < TOLERANCE
    for column in zip(*table, strict=True):
        values = [value for value in column if value is not None]
        assert all(a <= b + TOLERANCE for a, b in itertools.pairwise(values))


def test_the_table_of_the_gap_toy_by_hand() -> None:
    """Looking J steps ahead sees a decision J steps away, and no further; the first decision is three waits off."""
    table = horizon_table(build("gap").graph)
    assert table[0] == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert table[1] == [0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1]
    assert table[3] == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    assert table[4] == [0, 0, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    assert table[10] == [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize("name", [item.name for item in instances()])
def test_the_table_is_monotone_on_the_zoo(name: str) -> None:
    for column in zip(*horizon_table(build(name).graph), strict=True):
        values = [value for value in column if value is not None]
        assert all(a <= b + TOLERANCE for a, b in itertools.pairwise(values))
