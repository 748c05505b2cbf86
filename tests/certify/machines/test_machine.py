"""Machines: they run, they are exact, and they refuse what no expert does."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from certify_twin import Chain, Document, History, Twin, chains, documents, loose_models
from hypothesis import given, settings

from certify import Model, OffSupportError
from certify.core.floors import floors
from certify.core.graph import Graph
from certify.core.joint import best_machine
from certify.core.relations import compatibility, strong_classes
from certify.machines.machine import Machine, State, total_variation
from certify.zoo import build

SMALL = [
    ("reveal", {}),
    ("gap", {}),
    ("gap", {"R1": 3, "R2": 4, "gap1": 0, "gap2": 1}),
    ("re-reveal", {}),
    ("re-reveal-t0", {}),
    ("stochastic-expert", {}),
    ("lost-cue", {}),
    ("cue-corridor", {"R": 4}),
    ("memory-chain", {"bits": 3, "delay": 5}),
    ("passive-t-maze", {}),
    ("mass-sketch", {}),
    ("running-parity", {}),
    ("modulo-counter", {"p": "1/3"}),
    ("signpost-corridor", {}),
]
LOOSE = [("three-histories", {}), ("signpost-corridor", {"W": 3, "M": 4})]


def best(graph: Graph) -> Machine:
    relations = compatibility(graph)
    joint = best_machine(graph, relations, floors(graph, relations, strong_classes(graph)))
    return Machine.from_cells(joint.graph, joint.cells)


def check_run(machine: Machine, document: Document) -> None:
    """Every episode through the machine: its law is P(A_t|H_t) at every step."""
    twin = Twin(document)
    for episode in document["episodes"]:
        if not Fraction(episode["weight"]):
            continue
        history = (episode["steps"][0]["obs"],)
        state = machine.begin(history[0])
        for t, step in enumerate(episode["steps"]):
            if t:
                history = (*history, episode["steps"][t - 1]["action"], step["obs"])
                state = machine.advance(state, history[-2], history[-1])
            assert frozenset(state.law.items()) == twin.levels[t][history].law
            assert (state.t, state.observation) == (t + 1, step["obs"])


@pytest.mark.parametrize(("name", "parameters"), SMALL + LOOSE, ids=str)
def test_zero_distortion_on_the_zoo(name: str, parameters: dict[str, str | int]) -> None:
    graph = build(name, **parameters).graph
    machine = best(graph)
    assert machine.distortion(graph) == 0
    assert machine.horizon == graph.horizon


@pytest.mark.parametrize(("name", "parameters"), SMALL, ids=str)
def test_the_classes_are_the_states_where_they_exist(name: str, parameters: dict[str, str | int]) -> None:
    graph = build(name, **parameters).graph
    relations = compatibility(graph)
    machine = Machine.from_cells(graph, [relation.kind for relation in relations])
    assert [len(level) for level in machine.states] == [relation.kinds for relation in relations]
    assert machine == best(graph)


@settings(max_examples=200)
@given(documents())
def test_random_models_run_on_their_machine(document: Document) -> None:
    graph = Model.from_episodes(document).graph
    machine = best(graph)
    assert machine.distortion(graph) == 0
    check_run(machine, document)
    for level in machine.states:
        assert sum(state.probability for state in level) == 1
        assert len({state.name for state in level}) == len(level)


def test_models_without_classes_run_on_the_best_assignment() -> None:
    for document, _ in loose_models(17, 60):
        graph = Model.from_episodes(document).graph
        machine = best(graph)
        assert machine.distortion(graph) == 0
        check_run(machine, document)


@settings(max_examples=60)
@given(chains())
def test_merged_models_run_too(chain: Chain) -> None:
    graph = chain.model().graph
    machine = best(graph)
    assert machine.distortion(graph) == 0
    check_run(machine, chain.document())


def test_a_machine_that_forgets_has_distortion() -> None:
    """One state per observation at every step cannot decide on bits that are gone."""
    graph = build("reveal").graph
    nothing = Machine.from_cells(graph, [np.zeros(level.size, np.int64) for level in graph.levels])
    assert nothing.distortion(graph) == 1
    assert total_variation({"a": Fraction(1)}, {"a": Fraction(1, 3), "b": Fraction(2, 3)}) == Fraction(2, 3)


def test_cells_that_are_not_closed_make_no_machine() -> None:
    """The first bit is forgotten when the second is shown, and remembered again later."""
    graph = build("reveal").graph
    cells = [relation.kind for relation in compatibility(graph)]
    cells[2] = np.zeros(graph.levels[2].size, np.int64)
    with pytest.raises(ValueError, match="not closed: step 3"):
        Machine.from_cells(graph, cells)


def test_what_no_expert_does_is_refused_by_name() -> None:
    machine = best(build("cue-corridor", L=1).graph)
    with pytest.raises(OffSupportError, match=r"^step 1: the observation 'corridor' never comes first$"):
        machine.begin("corridor")
    state = machine.begin("cue 1 texture 0")
    with pytest.raises(OffSupportError) as caught:
        machine.advance(state, "stay", "corridor")
    assert str(caught.value) == "step 1: from 'cue 1 texture 0' the expert never meets 'corridor' after 'stay'"
    state = machine.advance(state, "forward", "corridor")
    with pytest.raises(OffSupportError, match="never meets 'end' after 'forward'"):
        machine.advance(state, "forward", "end")
    state = machine.advance(state, "forward", "junction")
    assert state.law == {"turn 1": 1}
    with pytest.raises(OffSupportError, match="never meets 'end' after 'turn 0'"):
        machine.advance(state, "turn 0", "end")
    state = machine.advance(state, "turn 1", "end")
    with pytest.raises(OffSupportError, match=r"^step 4 is the last; there is no move after 'end'$"):
        machine.advance(state, "stay", "end")


def test_only_what_happens_is_accepted() -> None:
    """Every state, every action, every observation: the move exists exactly when a history of the state makes it."""
    document, twin = next(loose_models(3, 1))
    graph = Model.from_episodes(document).graph
    machine = best(graph)
    words = list(product(*([names[k] for k in range(len(names))] for names in (graph.actions, graph.observations))))
    taken = refused = 0
    for t, level in enumerate(twin.levels[:-1]):
        for state in machine.states[t]:
            held = [history for history in level if _state_after(machine, history) == state]
            assert held
            for u in words:
                following = [_state_after(machine, (*h, *u)) for h in held if u in level[h].support]
                if following:
                    assert all(after == machine.advance(state, *u) for after in following)
                    taken += 1
                else:
                    with pytest.raises(OffSupportError, match=f"^step {t + 1}: from "):
                        machine.advance(state, *u)
                    refused += 1
    assert taken
    assert refused


def _state_after(machine: Machine, history: History) -> State:
    state = machine.begin(history[0])
    for action, observation in zip(history[1::2], history[2::2], strict=True):
        state = machine.advance(state, action, observation)
    return state


def test_states_have_readable_names() -> None:
    machine = best(build("gap").graph)
    names = [sorted(state.name for state in level) for level in machine.states]
    assert names[0] == ["start z=0", "start z=1"]
    assert names[2] == ["cue2=0 [cue1=0]", "cue2=0 [cue1=1]", "cue2=1 [cue1=0]", "cue2=1 [cue1=1]"]
    assert names[3] == [f"wait [cue1={a}, cue2={b}]" for a in range(2) for b in range(2)]
    assert names[7] == ["wait [cue2=0]", "wait [cue2=1]"]
    assert names[10] == ["decide2 [cue2=0]", "decide2 [cue2=1]"]


def test_names_fall_back_to_numbers_in_a_merged_graph() -> None:
    machine = best(build("running-parity", horizon=5).graph)
    assert [state.name for state in machine.states[0]] == ["event 1", "event 0"]
    assert sorted(state.name for state in machine.states[3]) == [
        f"event {event} [#{k}]" for event in range(2) for k in (1, 2)
    ]
