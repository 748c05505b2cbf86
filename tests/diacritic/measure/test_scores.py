"""Scores from the definitions: classes by the slow twin, colourings by trying every partition."""

from collections.abc import Iterator
from dataclasses import replace
from math import fsum, log2

import numpy as np
import pytest
from certify_twin import Document, History, Twin, documents, latent_document, loose_models, node_histories
from hypothesis import given
from hypothesis import strategies as st
from rollout_twin import Reader, random_machine

from certify import Model, UserError, certify
from certify.core.exact import Ints
from certify.core.relations import Relation
from certify.zoo import build
from certify.zoo.registry import find
from diacritic.measure.plugin import joint
from diacritic.measure.scores import (
    Requirement,
    StepScore,
    content,
    episode_nodes,
    latent_labels,
    scores,
    uncoloured,
    variations,
    whole_numbers,
)
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.rollout.occupancy import Cells, teacher_forced


def explained(left: float, whole: float) -> float | None:
    return None if whole < 1e-9 else 1 - left / whole


@given(documents(), st.integers(1, 4), st.integers(0, 99))
def test_scores_are_those_of_the_definitions(document: Document, codes: int, seed: int) -> None:
    model, twin = Model.from_episodes(document), Twin(document)
    machine = random_machine(model, codes, seed)
    reader = Reader(machine, model)
    soft = variations(teacher_forced(machine.greedy(), model), machine)  # of its law, along the greedy twin's codes
    for t, score in enumerate(scores(teacher_forced(machine, model))):
        facts = twin.levels[t]
        rate = twin.entropy(t, reader.code)
        decision = twin.behavioural_entropy(t)
        left = twin.entropy(t, lambda h, facts=facts: (facts[h].law, reader.code(h))) - rate
        assert score.rate == pytest.approx(rate, abs=1e-12)
        assert score.decision == pytest.approx(decision, abs=1e-12)
        assert score.instantaneous == pytest.approx(explained(left, decision), abs=1e-9)
        variation = fsum(
            float(f.mass) * abs(reader.law(h).get(a, 0.0) - float(dict(f.law).get(a, 0))) / 2
            for h, f in facts.items()
            for a in reader.done
        )
        assert score.distortion == pytest.approx(variation, abs=1e-12)
        assert soft[t] == pytest.approx(variation, abs=1e-12)
        best = {h: max(reader.law(h).values()) for h in facts}
        wrong = [
            h for h in facts if next(a for a, p in reader.law(h).items() if p == best[h]) not in dict(facts[h].law)
        ]
        assert score.error == pytest.approx(float(sum(facts[h].mass for h in wrong)), abs=1e-12)
        if twin.transitive(t):
            _check_classes(score, twin, t, reader)


def _check_classes(score: StepScore, twin: Twin, t: int, reader: Reader) -> None:
    def gamma(h: History) -> frozenset[History]:
        return frozenset(k for k in twin.levels[t] if (h, k) in twin.compatible[t])

    required, rate = twin.entropy(t, gamma), twin.entropy(t, reader.code)
    both = twin.entropy(t, lambda h: (gamma(h), reader.code(h)))
    assert score.requirement == pytest.approx(required, abs=1e-12)
    assert score.sufficiency == pytest.approx(explained(both - rate, required), abs=1e-9)
    assert score.surplus == pytest.approx(both - required, abs=1e-12)


# ---- without classes


def partitions(items: list[History]) -> Iterator[list[list[History]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for k, block in enumerate(rest):
            yield [*rest[:k], [items[0], *block], *rest[k + 1 :]]


def least_entropy(twin: Twin, t: int, cell: list[History]) -> float:
    """H_χ of one cell: every partition into compatible blocks."""
    mass = {h: float(twin.levels[t][h].mass) for h in cell}
    whole = fsum(mass.values())
    proper = (
        blocks
        for blocks in partitions(cell)
        if all((h, k) in twin.compatible[t] for block in blocks for h in block for k in block)
    )
    shares = ([fsum(mass[h] for h in block) / whole for block in blocks] for blocks in proper)
    return min(-fsum(p * log2(p) for p in part) for part in shares)


@pytest.mark.parametrize("seed", range(8))
def test_without_classes_sufficiency_is_what_the_best_colouring_leaves(seed: int) -> None:
    for document, twin in loose_models(seed, 6, histories=6):
        model = Model.from_episodes(document)
        machine = random_machine(model, 1 + seed % 3, seed)
        reader = Reader(machine, model)
        for t, score in enumerate(scores(teacher_forced(machine, model))):
            cells: dict[tuple[str, int], list[History]] = {}
            for h in twin.levels[t]:
                cells.setdefault((h[-1], reader.code(h)), []).append(h)
            left = fsum(
                float(sum(twin.levels[t][h].mass for h in cell)) * least_entropy(twin, t, cell)
                for cell in cells.values()
            )
            compatible = all((h, k) in twin.compatible[t] for cell in cells.values() for h in cell for k in cell)
            assert score.requirement is not None
            if score.sufficiency is None:
                assert score.requirement < 1e-9
                continue
            assert 0 <= score.sufficiency <= 1
            assert (score.sufficiency == 1) == compatible
            assert score.sufficiency == pytest.approx(1 - left / score.requirement, abs=1e-9)
            assert (score.surplus is None) == (not twin.transitive(t))


def open_bits(relation: Relation, cells: Cells) -> float:
    """What the best colouring inside every (O, C) cell still needs."""
    cell = joint(cells.observation, cells.code)
    return uncoloured(relation, relation.kind[cells.node], cell, masses=whole_numbers(cells.weight))


@given(documents(), st.integers(1, 4), st.integers(0, 99))
def test_where_classes_exist_the_colouring_score_is_theirs(document: Document, codes: int, seed: int) -> None:
    model = Model.from_episodes(document)
    occupancy, requirement = teacher_forced(random_machine(model, codes, seed), model), Requirement.of(model)
    for t, score in enumerate(scores(occupancy, requirement)):
        relation = requirement.relations[t]
        if relation.transitive and score.sufficiency is not None and score.requirement is not None:
            left = open_bits(relation, occupancy.steps[t])
            assert 1 - left / score.requirement == pytest.approx(score.sufficiency, abs=1e-9)


def test_the_colouring_score_serves_nodes_of_several_codes() -> None:
    model = build("modulo-counter", modulus=3, horizon=6)
    occupancy, requirement = teacher_forced(random_machine(model, 3, 4), model), Requirement.of(model)
    assert any((cells.share < 1).any() for cells in occupancy.steps)
    for t, score in enumerate(scores(occupancy, requirement)):
        left = open_bits(requirement.relations[t], occupancy.steps[t])
        if score.sufficiency is not None and score.requirement is not None:
            assert 1 - left / score.requirement == pytest.approx(score.sufficiency, abs=1e-9)


# ---- known answers


@pytest.mark.parametrize("name", ["gap", "re-reveal", "three-histories", "stochastic-expert", "running-parity"])
def test_the_certified_machine_is_sufficient_at_its_rate(name: str) -> None:
    model = build(name)
    answer = certify(model)
    step_scores = scores(
        teacher_forced(from_certified(answer.machine, model), model),
        Requirement.stated(answer.model, [step.rate for step in answer.steps]),
    )
    for score, step, rate in zip(step_scores, answer.steps, answer.joint.rates, strict=True):
        assert score.sufficiency in (None, 1)
        assert score.rate == pytest.approx(rate, abs=1e-12)
        assert score.requirement == pytest.approx(step.rate, abs=1e-12)
        assert score.surplus in (None, 0)
        assert score.distortion == pytest.approx(0, abs=1e-15)


def test_a_constant_code_knows_nothing_and_a_full_one_too_much() -> None:
    model = build("gap")
    seen, done = len(model.graph.observations), len(model.graph.actions)
    blank = CodeMachine(np.zeros((2, seen, done + 1), np.int64), np.full((1, seen, done), 1 / done))
    for score in scores(teacher_forced(blank, model)):
        assert score.rate == 0
        assert score.sufficiency in (None, 0)
    histories = [node_histories(model.graph, t) for t in range(model.horizon)]
    full = _remember_everything(model, [len(level) for level in histories])
    for score, level in zip(scores(teacher_forced(full, model)), model.graph.levels, strict=True):
        assert score.rate == pytest.approx(level.history_entropy, abs=1e-12)
        assert score.sufficiency in (None, 1)
        assert score.surplus == pytest.approx(score.rate - (score.requirement or 0), abs=1e-12)


def _remember_everything(model: Model, sizes: list[int]) -> CodeMachine:
    """One code a history."""
    graph, first = model.graph, np.cumsum([0, *sizes])
    codes, seen, done = int(first[-1]), len(graph.observations), len(graph.actions)
    move = np.zeros((codes + 1, seen, done + 1), np.int64)
    move[codes, graph.levels[0].observation, done] = np.arange(sizes[0])
    for t, level in enumerate(graph.levels[:-1]):
        move[first[t] + level.source, graph.levels[t + 1].observation[level.child], level.action] = (
            first[t + 1] + level.child
        )
    return CodeMachine(move, np.full((codes, seen, done), 1 / done))


# ---- what the code says about a label


@given(documents(), st.integers(1, 4), st.integers(0, 99))
def test_content_of_an_episodes_label(document: Document, codes: int, seed: int) -> None:
    model = Model.from_episodes(document)
    assert model.episodes is not None
    machine, random = random_machine(model, codes, seed), np.random.default_rng(seed)
    label = random.integers(0, 3, len(model.episodes.weight))
    reader = Reader(machine, model)
    actual = content(teacher_forced(machine, model), label)
    for t in range(model.horizon):
        rows: dict[tuple[str, int, int], float] = {}
        for e, weight in enumerate(model.episodes.weight):
            words = [model.graph.observations[model.episodes.observation[e, 0]]]
            for s in range(t):
                words.append(model.graph.actions[model.episodes.action[e, s]])
                words.append(model.graph.observations[model.episodes.observation[e, s + 1]])
            key = (words[-1], reader.code(tuple(words)), int(label[e]))
            rows[key] = rows.get(key, 0.0) + float(weight)
        assert actual[t] == pytest.approx(_information(rows), abs=1e-9)


def _information(rows: dict[tuple[str, int, int], float]) -> float:
    """I(C;X|O) from the joint masses of (o, c, x)."""

    def marginal(*axes: int) -> dict[tuple[object, ...], float]:
        sums: dict[tuple[object, ...], float] = {}
        for key, p in rows.items():
            short = tuple(key[axis] for axis in axes)
            sums[short] = sums.get(short, 0.0) + p
        return sums

    seen, coded, labelled, total = marginal(0), marginal(0, 1), marginal(0, 2), fsum(rows.values())
    return fsum(p / total * log2(p * seen[o,] / (coded[o, c] * labelled[o, x])) for (o, c, x), p in rows.items())


def test_labels_of_histories_and_of_their_episodes_agree() -> None:
    model = find("signpost-corridor").make(M=4, W=3)
    machine = random_machine(model, 5, 2)
    occupancy, nodes, latent = teacher_forced(machine, model), episode_nodes(model), latent_labels(model)
    assert model.dynamics is not None
    drift = np.array([value[2] for value, _ in model.dynamics.latents])[latent]
    by_node = [np.zeros(level.size, np.int64) for level in model.graph.levels]
    for node, labels in zip(nodes, by_node, strict=True):
        labels[node] = drift  # the start sign shows the drift, so that a history has one
    assert content(occupancy, drift) == pytest.approx(content(occupancy, by_node), abs=1e-12)
    assert max(content(occupancy, drift)) > 0.1


def test_episodes_keep_their_latents_where_some_have_no_weight() -> None:
    model = Model.from_latents(1, [("x", "1/4"), ("never", 0), ("y", "3/4")], lambda latent, actions: (latent, "go"))
    assert model.episodes is not None
    assert len(model.episodes.weight) == 2
    assert latent_labels(model).tolist() == [0, 2]


def test_bad_labels_and_requirements_are_refused() -> None:
    model = build("gap")
    occupancy = teacher_forced(random_machine(model, 2, 0), model)
    with pytest.raises(UserError, match="labels: expected 8 integers, not int64"):
        content(occupancy, np.arange(3))
    with pytest.raises(UserError, match="requirement: it belongs to another model"):
        scores(occupancy, Requirement.of(build("re-reveal")))
    parity = build("running-parity")
    with pytest.raises(UserError, match="labels: a merged graph has no episodes"):
        content(teacher_forced(random_machine(parity, 2, 0), parity), np.arange(3))
    with pytest.raises(UserError, match="model: it has no dynamics"):
        latent_labels(parity)


def test_a_step_past_the_limits_claims_nothing() -> None:
    """Where no minimum is proved there is no score."""
    document = latent_document([(1, [("x", "x", 0), ("y", "y", 0)]), (1, [("z", "z", 0), ("y", "y", 1)])])
    model = Model.from_episodes(document)
    requirement = Requirement.of(model)
    undecided = replace(requirement.relations[0], decided=False)
    unknown = Requirement(model, (undecided, *requirement.relations[1:]), (None, *requirement.bits[1:]))
    first, last = scores(teacher_forced(random_machine(model, 2, 0), model), unknown)
    assert (first.requirement, first.sufficiency, first.surplus) == (None, None, None)
    assert last.requirement == 1


def test_node_labels_are_integers_one_a_node() -> None:
    model = build("gap")
    labels: list[Ints] = [np.zeros(level.size + 1, np.int64) for level in model.graph.levels]
    with pytest.raises(UserError, match="labels: expected 2 integers"):
        content(teacher_forced(random_machine(model, 2, 0), model), labels)


@pytest.mark.parametrize("seed", range(4))
def test_counted_histories_need_what_weighted_ones_need(seed: int) -> None:
    for document, _ in loose_models(seed, 3, histories=6):
        model = Model.from_episodes(document)
        requirement, occupancy = Requirement.of(model), teacher_forced(random_machine(model, 2, seed), model)
        actual = zip(
            model.graph.levels, requirement.relations, occupancy.steps, scores(occupancy, requirement), strict=True
        )
        for level, relation, cells, score in actual:
            kind, cell = relation.kind[cells.node], joint(cells.observation, cells.code)
            times = level.mass[cells.node].astype(np.int64)
            expected = uncoloured(relation, kind, cell, masses=times)
            rounded = uncoloured(relation, kind, cell, masses=whole_numbers(cells.weight))
            assert rounded == pytest.approx(expected, abs=1e-9)
            if score.sufficiency is not None and score.requirement is not None:
                assert score.sufficiency == pytest.approx(1 - expected / score.requirement, abs=1e-9)
            if times.sum() < 5000:
                repeated = uncoloured(relation, np.repeat(kind, times), np.repeat(cell, times))
                assert repeated == pytest.approx(expected, abs=1e-12)
