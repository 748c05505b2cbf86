"""Merging: against certify's classes on random models, closed and stationary always, and undone without a trace."""

from copy import deepcopy

import numpy as np
import pytest
from certify_twin import documents, loose_models
from hypothesis import given, settings

from certify import Model
from certify.core.assignments import verify
from certify.core.codes import verify_codes
from certify.core.rates import conditional_rate
from certify.core.requirement import Requirement
from certify.machines.merging import NONE, Merger, States, coded, minimise, persist
from certify.zoo import build


def histories(model: Model) -> States:
    """The machine that remembers everything."""
    return States.of_graph(model.graph, [np.arange(level.size) for level in model.graph.levels])


def merged_cells(model: Model) -> list[np.ndarray]:
    states = histories(model)
    merger = Merger(states)
    minimise(merger)
    return [np.array([merger.find(state) for state in nodes.tolist()]) for nodes in states.nodes]


@settings(max_examples=60)
@given(documents())
def test_what_a_step_need_not_tell_apart_is_what_certify_proves(document) -> None:
    model = Model.from_episodes(document)
    cells, requirement = merged_cells(model), Requirement.of(model)
    assert verify(model.graph, cells) is None
    if all(relation.transitive for relation in requirement.relations):
        bits = [conditional_rate(level, cell) for level, cell in zip(model.graph.levels, cells, strict=True)]
        assert bits == pytest.approx(requirement.bits)


def test_without_transitivity_the_merged_cells_are_still_a_machine_above_the_floor() -> None:
    for document, _ in loose_models(3, 20):
        model = Model.from_episodes(document)
        cells = merged_cells(model)
        assert verify(model.graph, cells) is None
        bits = [conditional_rate(level, cell) for level, cell in zip(model.graph.levels, cells, strict=True)]
        floors = Requirement.of(model).bits
        assert all(need is None or rate >= need - 1e-9 for rate, need in zip(bits, floors, strict=True))


@settings(max_examples=60)
@given(documents())
def test_persistent_codes_are_one_stationary_machine(document) -> None:
    model = Model.from_episodes(document)
    states = histories(model)
    merger = Merger(states)
    persist(merger)
    coding = coded(merger)
    labels = [coding.of_state[nodes].tolist() for nodes in states.nodes]
    assert verify_codes(model.graph, labels, stationary=True) is None
    assert coding.codes == len(set(coding.of_state.tolist()))


@pytest.mark.parametrize(("name", "codes"), [("memory-chain", 2), ("gap", 4), ("running-parity", 2), ("re-reveal", 3)])
def test_as_few_codes_as_certify_proves_necessary(name: str, codes: int) -> None:
    model = build(name)
    states = States.of_graph(model.graph, [relation.kind for relation in Requirement.of(model).relations])
    merger = Merger(states)
    persist(merger)
    assert coded(merger).codes == codes


def test_a_class_keeps_its_code_through_the_delay() -> None:
    model = build("memory-chain", bits=2, delay=50)
    states = States.of_graph(model.graph, [relation.kind for relation in Requirement.of(model).relations])
    merger = Merger(states)
    persist(merger)
    coding = coded(merger)
    for state, moves in enumerate(states.moves):
        for target in moves.values():
            if states.step[target] < 50:  # before the query
                assert states.step[state] < 1 or coding.of_state[state] == coding.of_state[target]


def test_a_refused_merge_leaves_no_trace() -> None:
    model = build("memory-chain", bits=1, delay=6)
    states = histories(model)
    merger = Merger(states)
    dark = [k for k, o in enumerate(states.observation) if model.graph.observations[o] == "dark"]
    zero, one = (k for k in dark if states.step[k] == 3)
    before = deepcopy((merger.home, merger.enemies, merger.moves))
    assert not merger.merge(zero, one)  # the answers differ, four steps later
    assert (merger.home, merger.enemies, merger.moves) == before
    assert merger.merge(zero, zero)


def test_walking_finds_the_codes_of_the_states_and_says_where_it_knows_nothing() -> None:
    model = build("passive-t-maze", L=3)
    states = histories(model)
    merger = Merger(states)
    persist(merger)
    coding = coded(merger)
    episodes = model.episodes
    assert episodes is not None
    did = np.concatenate([np.zeros((2, 1), np.int64), episodes.action[:, :-1] + 1], 1)
    words = (did * len(model.graph.observations) + episodes.observation).T
    walked = coding.walk(words)
    assert [len(set(row)) for row in walked.tolist()] == [2, 2, 2, 2]
    words[1, 0] = 0  # the first observation cannot come without an action again
    assert coding.walk(words)[1:, 0].tolist() == [NONE] * 3
