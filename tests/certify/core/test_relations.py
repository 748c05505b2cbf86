"""The fast relations against the literal twin on thousands of random models, witnesses included."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from certify_exhaustive import Exhaustive
from certify_twin import Document, Pairs, Twin, documents, is_transitive, loose_models, node_histories
from hypothesis import given, settings

from certify import Model, certify
from certify.core.exact import rank
from certify.core.floors import floors
from certify.core.graph import Graph
from certify.core.joint import best_machine
from certify.core.relations import (
    Relation,
    compatibility,
    strong_classes,
    support_classes,
)
from certify.zoo import build
from reproduction.distortion.horizon_table import compatibility_within


def related(graph: Graph, t: int, relation: Relation) -> Pairs:
    """A relation of the solver as pairs of histories."""
    histories, observation = node_histories(graph, t), graph.levels[t].observation
    pairs = {(h, h) for h in histories}
    for i, j in combinations(range(len(histories)), 2):
        if observation[i] == observation[j] and not relation.in_conflict(i, j):
            pairs |= {(histories[i], histories[j]), (histories[j], histories[i])}
    return pairs


def labelled(graph: Graph, t: int, labels: np.ndarray) -> Pairs:
    """Classes of the solver as pairs of histories."""
    histories = node_histories(graph, t)
    return {(h, k) for i, h in enumerate(histories) for j, k in enumerate(histories) if labels[i] == labels[j]}


def check_compatibility(document: Document) -> Twin:
    """~ pair by pair, transitivity, the triple, and kinds that are classes exactly where ~ is transitive."""
    twin, graph = Twin(document), Model.from_episodes(document).graph
    for t, relation in enumerate(compatibility(graph)):
        pairs, histories = twin.compatible[t], node_histories(graph, t)
        assert relation.decided
        assert related(graph, t, relation) == pairs
        assert relation.transitive == twin.transitive(t)
        assert (relation.triple is None) == relation.transitive
        if relation.triple is not None:
            a, b, c = (histories[node] for node in relation.triple)
            assert (a, b) in pairs
            assert (b, c) in pairs
            assert (a, c) not in pairs
            assert a[-1] == b[-1] == c[-1]
        else:
            assert labelled(graph, t, relation.kind) == pairs
    return twin


def test_compatibility_is_that_of_the_definition() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=1000)
    @given(documents())
    def agree(document: Document) -> None:
        twin = check_compatibility(document)
        steps = range(twin.horizon)
        seen["models"] += 1
        seen["not transitive"] += not all(map(twin.transitive, steps))
        seen["a2 fails"] += not all(map(twin.a2, steps))
        seen["a4 fails"] += not all(map(twin.a4, steps))
        seen["stochastic"] += any(len(facts.law) > 1 for level in twin.levels for facts in level.values())
        steps_seen = [tuple((s["obs"], s["action"]) for s in e["steps"]) for e in document["episodes"]]
        seen["duplicate trajectories"] += len(set(steps_seen)) < len(steps_seen)
        seen["seven histories or more"] += max(map(len, twin.levels)) >= 7

    agree()
    assert seen["models"] >= 1000
    assert all(seen[key] >= 30 for key in seen), seen


@pytest.mark.parametrize("seed", range(4))
def test_compatibility_where_it_is_not_transitive(seed: int) -> None:
    for document, _ in loose_models(seed, 150, histories=12):
        check_compatibility(document)


@settings(max_examples=600)
@given(documents())
def test_the_strong_relation_and_the_assumptions(document: Document) -> None:
    twin, graph = Twin(document), Model.from_episodes(document).graph
    strong = strong_classes(graph)
    for t, level in enumerate(graph.levels):
        assert labelled(graph, t, strong[t]) == twin.strong[t]
        assert is_transitive(twin.levels[t], twin.strong[t])
        assert (not level.mixed) == twin.a2(t)
        histories = node_histories(graph, t)
        assert {histories[node] for node in level.mixed} == {
            h for h, facts in twin.levels[t].items() if len(facts.privileged) > 1
        }
        support, groups = support_classes(graph, t), rank(level.observation * len(graph.laws) + level.law)[1]
        assert (rank(support)[1] == groups) == twin.a4(t)


@settings(max_examples=500)
@given(documents())
def test_the_relations_that_look_only_some_steps_ahead(document: Document) -> None:
    """~^(J) for every J: equal to the definition, finer as J grows, and ~ in the end."""
    twin, graph = Twin(document), Model.from_episodes(document).graph
    coarser: list[Pairs] | None = None
    for steps in range(twin.horizon + 1):
        literal = twin.within(steps)
        for t, relation in enumerate(compatibility_within(graph, steps)):
            assert related(graph, t, relation) == literal[t]
            assert relation.transitive == is_transitive(twin.levels[t], literal[t])
            assert coarser is None or literal[t] <= coarser[t]
            if steps >= twin.horizon - 1 - t:
                assert literal[t] == twin.compatible[t]
        coarser = literal


@settings(max_examples=300)
@given(documents())
def test_where_supports_agree_weak_and_strong_are_one(document: Document) -> None:
    """If (A4) holds at every step, then ~ = ~ˢ."""
    twin = Twin(document)
    if all(map(twin.a4, range(twin.horizon))):
        graph = Model.from_episodes(document).graph
        for t, (relation, strong) in enumerate(zip(compatibility(graph), strong_classes(graph), strict=True)):
            assert relation.transitive
            assert labelled(graph, t, relation.kind) == labelled(graph, t, strong)


@pytest.mark.parametrize("limit", [0, 12])
def test_past_the_pair_limit_what_is_known_is_still_true(limit: int) -> None:
    """Conflicts are real, triples are real, and the bracket holds the minimum."""
    undecided = triples = 0
    for document, twin in loose_models(99, 100):
        graph = Model.from_episodes(document).graph
        relations = compatibility(graph, limit)
        for t, relation in enumerate(relations):
            assert related(graph, t, relation) >= twin.compatible[t]
            undecided += not relation.decided
            if relation.decided:
                assert relation.transitive == twin.transitive(t)
            else:
                assert not relation.transitive
            if relation.triple is not None:
                a, b, c = (node_histories(graph, t)[node] for node in relation.triple)
                assert {(a, b), (b, c)} <= twin.compatible[t]
                assert (a, c) not in twin.compatible[t]
                triples += not relation.decided
        exhaustive = Exhaustive(twin)
        step_floors = floors(graph, relations, strong_classes(graph))
        for floor, least in zip(step_floors, exhaustive.colouring_minima(), strict=True):
            assert floor.lower - 1e-12 <= exhaustive.bits(least) <= floor.upper + 1e-12
            if floor.proved:
                assert abs(floor.upper - exhaustive.bits(least)) < 1e-12
        joint = best_machine(graph, relations, step_floors)
        assert joint.bracket[0] - 1e-12 <= exhaustive.least_sum() <= joint.bracket[1] + 1e-12
    assert undecided >= (100 if limit == 0 else 1)
    assert triples >= (1 if limit == 0 else 0)


def test_a_step_left_undecided_is_not_called_transitive() -> None:
    relations = compatibility(build("three-histories").graph, pair_limit=0)
    assert [relation.decided for relation in relations] == [False, False, True]
    assert [relation.transitive for relation in relations] == [False, False, True]


def test_many_supports_and_one_question() -> None:
    """A corridor where 40 histories have pairwise different supports, but only two kinds of answers: two kinds."""
    n = 40
    rows = [(f"cue {k}", word) for k in range(n) for word in (f"own {k}", "question")]
    episodes = [
        {
            "weight": f"1/{len(rows)}",
            "steps": [
                {"obs": cue, "action_law": {"wait": 1}, "action": "wait"},
                {"obs": "dark", "action_law": {"wait": 1}, "action": "wait"},
                {"obs": word, "action_law": {answer: 1}, "action": answer},
            ],
        }
        for cue, word in rows
        for answer in [f"say {int(cue.split()[1]) % 2}" if word == "question" else "wait"]
    ]
    relations = compatibility(Model.from_episodes({"horizon": 3, "episodes": episodes}).graph)
    assert relations[1].transitive
    assert relations[1].kinds == 2


def test_an_action_belongs_to_its_continuation() -> None:
    """After x or y the same words in the same order, but y is reached by another action: the supports differ."""
    fair = {"a": "1/2", "b": "1/2"}
    words = {"first": [("a", "x"), ("a", "y"), ("b", "z")], "second": [("a", "x"), ("b", "y"), ("b", "z")]}
    episodes = [
        {
            "weight": "1/8" if [a for a, _ in words[cue]].count(action) == 2 else "1/4",
            "steps": [
                {"obs": cue, "action_law": {"a": 1}, "action": "a"},
                {"obs": "dark", "action_law": fair, "action": action},
                {"obs": word, "action_law": {"a": 1}, "action": "a"},
            ],
        }
        for cue in words
        for action, word in words[cue]
    ]
    document = {"horizon": 3, "episodes": episodes}
    check_compatibility(document)
    graph = Model.from_episodes(document).graph
    assert len(set(strong_classes(graph)[1].tolist())) == 2
    assert len(set(support_classes(graph, 1).tolist())) == 2
    assert compatibility(graph)[1].kinds == 1


def test_undecided_relations_are_decided_with_a_larger_limit() -> None:
    graph = build("signpost-corridor", W=3).graph
    assert not all(relation.decided for relation in compatibility(graph, 100))
    assert all(relation.decided for relation in compatibility(graph))


def test_a_fiber_of_very_many_kinds_is_left_as_a_bracket() -> None:
    """A world and a bit are shown once; the world comes back and the bit is asked for: n/2 lone conflicts."""
    n = 10_000
    ids = np.arange(n)
    observations = np.stack([ids, np.full(n, n), n + 1 + ids // 2], axis=1)
    actions = np.stack([np.zeros(n, np.int64), np.zeros(n, np.int64), 1 + ids % 2], axis=1)
    answer = certify(Model.from_arrays(observations, actions))
    step = answer.steps[1]
    assert not step.transitive
    assert step.decided  # by three histories, though not by all pairs
    assert step.lower <= 1.0 <= step.upper
    assert step.rate is None
