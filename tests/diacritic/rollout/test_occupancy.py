"""The code along every history, against a walk over histories one by one; merged graphs against their trees."""

from fractions import Fraction

import numpy as np
import pytest
from certify_twin import Chain, Document, Twin, chains, documents, node_histories
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_twin import Reader, random_machine

from certify import Model, certify
from certify.zoo import build
from diacritic.measure.plugin import conditional_entropy, joint
from diacritic.rollout.machine import from_certified
from diacritic.rollout.occupancy import Cells, teacher_forced


def rate(cells: Cells) -> float:
    return conditional_entropy(cells.code, cells.observation, cells.weight)


@given(documents(), st.integers(1, 4), st.integers(0, 99))
def test_every_history_has_its_code(document: Document, codes: int, seed: int) -> None:
    model, twin = Model.from_episodes(document), Twin(document)
    machine = random_machine(model, codes, seed)
    reader = Reader(machine, model)
    for t, cells in enumerate(teacher_forced(machine, model).steps):
        histories = node_histories(model.graph, t)
        assert cells.node.tolist() == list(range(len(histories)))
        assert cells.code.tolist() == [reader.code(h) for h in histories]
        assert (cells.share == 1).all()
        assert cells.weight.tolist() == pytest.approx([float(twin.levels[t][h].mass) for h in histories], rel=1e-15)
        assert [model.graph.observations[o] for o in cells.observation] == [h[-1] for h in histories]
        assert rate(cells) == pytest.approx(twin.entropy(t, reader.code), abs=1e-12)


@given(chains(), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=60)
def test_a_merged_graph_carries_the_codes_of_its_histories(chain: Chain, codes: int, seed: int) -> None:
    merged, tree = chain.model(), Model.from_episodes(chain.document())
    actual = teacher_forced(random_machine(merged, codes, seed), merged).steps
    wanted = teacher_forced(random_machine(tree, codes, seed), tree).steps
    for few, many in zip(actual, wanted, strict=True):
        assert few.weight.sum() == pytest.approx(1, abs=1e-12)
        assert np.bincount(few.node, few.share) == pytest.approx(1, abs=1e-12)
        assert rate(few) == pytest.approx(rate(many), abs=1e-9)


def test_a_counter_of_2_to_the_300_histories_is_watched() -> None:
    model = build("running-parity", horizon=300)
    machine = random_machine(model, 5, 1)
    for level, cells in zip(model.graph.levels, teacher_forced(machine, model).steps, strict=True):
        assert len(cells.node) <= 5 * level.size
        assert len(np.unique(joint(cells.node, cells.code))) == len(cells.node)
        exact = [float(Fraction(int(mass), level.total)) for mass in level.mass]
        assert np.bincount(cells.node, cells.weight).tolist() == pytest.approx(exact, rel=1e-12)


def test_a_lone_code_has_exactly_the_whole_of_its_node() -> None:
    model = build("modulo-counter", modulus=3, horizon=9, p="1/7")
    machine = from_certified(certify(model).machine, model)
    steps = teacher_forced(machine, model).steps
    assert any(len(level.source) > len(np.unique(level.child)) for level in model.graph.levels)
    assert all((cells.share == 1).all() for cells in steps)
