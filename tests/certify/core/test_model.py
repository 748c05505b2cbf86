"""One model, many ways in: episodes, arrays, files, latents, hidden chains; one set of canonical bytes."""

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certify_twin import Chain, Document, Twin, chains, documents, latent_document, node_histories
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Model, UserError
from certify.core.exact import rank
from certify.core.floors import floors
from certify.core.graph import Graph
from certify.core.joint import best_machine
from certify.core.merged import unfold
from certify.core.rates import conditional_rate
from certify.core.relations import compatibility, strong_classes, support_classes
from certify.zoo import build
from certify.zoo.registry import Instance, instances


def coin(weight: str, obs: str, action: str) -> dict[str, Any]:
    return {"weight": weight, "steps": [{"obs": obs, "action_law": {"l": "1/2", "r": "1/2"}, "action": action}]}


COINS = {"horizon": 1, "episodes": [coin("1/4", "x", "l"), coin("1/4", "x", "r"), coin("1/2", "y", "l")]}
COINS_BYTES = (
    b'{"episodes":['
    b'{"steps":[{"action":"l","action_law":{"l":"1/2","r":"1/2"},"obs":"x"}],"weight":"1/4"},'
    b'{"steps":[{"action":"l","action_law":{"l":"1/2","r":"1/2"},"obs":"y"}],"weight":"1/2"},'
    b'{"steps":[{"action":"r","action_law":{"l":"1/2","r":"1/2"},"obs":"x"}],"weight":"1/4"}'
    b'],"format":"certify-model/1","horizon":1}'
)


# ---- the tree of histories


@given(documents())
def test_the_graph_holds_the_histories_and_their_masses(document: Document) -> None:
    twin, graph = Twin(document), Model.from_episodes(document).graph
    assert graph.horizon == twin.horizon
    for t, level in enumerate(graph.levels):
        histories = node_histories(graph, t)
        assert len(set(histories)) == len(histories)
        masses = {h: Fraction(int(m), level.total) for h, m in zip(histories, level.mass, strict=True)}
        assert masses == {h: facts.mass for h, facts in twin.levels[t].items()}
        for node, history in enumerate(histories):
            law = frozenset((graph.actions[a], p) for a, p in graph.laws[level.law[node]])
            assert law == twin.levels[t][history].law
        following = {h: k for k, h in enumerate(node_histories(graph, t + 1))} if t + 1 < graph.horizon else {}
        edges = {
            (histories[s], graph.actions[a], int(c)): Fraction(int(f), sum(map(int, level.flow)))
            for s, a, c, f in zip(level.source, level.action, level.child, level.flow, strict=True)
        }
        assert edges == {
            (h, u[0], following[*h, *u]): twin.levels[t + 1][*h, *u].mass
            for h, facts in twin.levels[t].items()
            for u in facts.support
        }


def test_an_episode_list_alone_is_a_model() -> None:
    assert Model.from_episodes(COINS["episodes"]).digest == Model.from_episodes(COINS).digest
    with pytest.raises(UserError, match="at least one episode"):
        Model.from_episodes([])


# ---- canonical bytes


def test_canonical_bytes_by_hand() -> None:
    model = Model.from_episodes(COINS)
    assert model.canonical_bytes == COINS_BYTES
    assert model.digest == hashlib.sha256(COINS_BYTES).hexdigest()
    assert model.to_json() == COINS_BYTES.decode() + "\n"


def test_spelling_does_not_change_the_digest() -> None:
    """Order, duplicates, zero weights, unreduced fractions, decimals, zero law entries and notes mean nothing."""
    fourth = {"obs": "y", "action_law": {"r": "0.5", "l": "5e-1", "stay": "0"}, "action": "l"}
    respelt = {
        "name": "coins",
        "notes": "tossed twice",
        "format": "certify-model/1",
        "empirical": False,
        "episodes": [
            {"weight": "2/8", "latent": "second", "steps": [fourth]},
            coin("0.25", "x", "r"),
            coin("1/8", "x", "l"),
            {"weight": "0", "steps": [{"obs": "never", "action_law": {"l": 1}, "action": "l"}]},
            {"weight": "0.250", "notes": "again", "steps": [fourth]},
            coin("0.125", "x", "l"),
        ],
        "horizon": "1",
    }
    assert Model.from_json(json.dumps(respelt)).canonical_bytes == COINS_BYTES


@pytest.mark.parametrize(
    "other",
    [
        {"horizon": 1, "episodes": [coin("1/4", "x", "l"), coin("1/4", "x", "r"), coin("1/2", "z", "l")]},
        {"horizon": 1, "episodes": [coin("1/4", "x", "l"), coin("1/4", "x", "r"), coin("1/2", "y", "r")]},
        {"horizon": 1, "episodes": [coin("1/8", "x", "l"), coin("3/8", "x", "r"), coin("1/2", "y", "l")]},
        {**COINS, "empirical": True},
    ],
    ids=["observation", "action", "weight", "empirical"],
)
def test_meaning_changes_the_digest(other: Document) -> None:
    assert Model.from_episodes(other).digest != Model.from_episodes(COINS).digest


@given(documents(), st.randoms(use_true_random=False))
def test_canonical_bytes_are_read_back_and_ignore_order(document: Document, random: Any) -> None:
    model = Model.from_episodes(document)
    assert Model.from_json(model.canonical_bytes).canonical_bytes == model.canonical_bytes
    random.shuffle(document["episodes"])
    assert Model.from_episodes(document).digest == model.digest


def test_names_beyond_ascii_and_quotes() -> None:
    document = {"horizon": 1, "episodes": [coin("1", 'a "quoted"\n\\ é 🎲', "l")]}
    model = Model.from_episodes(document)
    assert "é 🎲" in model.canonical_bytes.decode()
    assert json.loads(model.canonical_bytes)["episodes"][0]["steps"][0]["obs"] == 'a "quoted"\n\\ é 🎲'


# ---- arrays


def arrays(document: Document) -> dict[str, Any]:
    """A document as integer arrays, made by plain Python."""
    steps = [episode["steps"] for episode in document["episodes"]]
    observations = sorted({s["obs"] for row in steps for s in row})
    actions = sorted({a for row in steps for s in row for a in s["action_law"]})
    table = sorted({tuple(Fraction(s["action_law"].get(a, 0)) for a in actions) for row in steps for s in row})
    key = {law: k for k, law in enumerate(table)}
    whole = sum(Fraction(episode["weight"]) for episode in document["episodes"])
    scale = np.lcm.reduce([Fraction(episode["weight"]).denominator for episode in document["episodes"]])
    return {
        "observations": [[observations.index(s["obs"]) for s in row] for row in steps],
        "actions": [[actions.index(s["action"]) for s in row] for row in steps],
        "weights": [int(Fraction(e["weight"]) / whole * int(scale)) for e in document["episodes"]],
        "laws": [[key[tuple(Fraction(s["action_law"].get(a, 0)) for a in actions)] for s in row] for row in steps],
        "law_table": [[int(p * 6) for p in law] for law in table],
        "observation_names": observations,
        "action_names": actions,
    }


@given(documents())
def test_arrays_and_episodes_are_one_model(document: Document) -> None:
    assert Model.from_arrays(**arrays(document)).digest == Model.from_episodes(document).digest


@settings(max_examples=20)
@given(documents())
def test_npz_files_are_read_back(tmp_path_factory: pytest.TempPathFactory, document: Document) -> None:
    path = tmp_path_factory.mktemp("npz") / "model.npz"
    np.savez(path, **arrays(document), name="from a file")
    model = Model.load(path)
    assert model.digest == Model.from_episodes(document).digest
    assert model.name == "from a file"


def test_arrays_without_laws_are_a_deterministic_expert() -> None:
    model = Model.from_arrays([[0, 1], [2, 1]], [[0, 0], [0, 1]], weights=[1, 3])
    steps = [("o0", "a0"), ("o1", "a0")], [("o2", "a0"), ("o1", "a1")]
    episodes = [
        {"weight": weight, "steps": [{"obs": o, "action_law": {a: 1}, "action": a} for o, a in row]}
        for weight, row in zip(("1/4", "3/4"), steps, strict=True)
    ]
    assert model.digest == Model.from_episodes({"horizon": 2, "episodes": episodes}).digest


def test_arrays_may_be_empirical() -> None:
    law: dict[str, Any] = {"laws": [[0, 0]], "law_table": [[1, 1]]}
    with pytest.raises(UserError, match="empirical"):
        Model.from_arrays([[0, 0]], [[0, 0]], **law)
    assert b'"empirical":true' in Model.from_arrays([[0, 0]], [[0, 0]], **law, empirical=True).canonical_bytes


def test_unsigned_and_enormous_weights_are_exact() -> None:
    observations, actions = [[0], [0], [1]], [[0], [1], [0]]
    for weights in (np.array([2**63, 2**63, 1], np.uint64), np.array([10**40, 10**40, 1], dtype=object)):
        model = Model.from_arrays(observations, actions, weights)
        level = model.graph.levels[0]
        assert [int(m) for m in level.mass] == [2 * int(weights[0]), 1]
        assert level.total == 2 * int(weights[0]) + 1


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 4))
def test_large_arrays_make_the_same_tree_as_small_dictionaries(seed: int, rows: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    observations, actions = rng.integers(0, 3, (rows, steps)), rng.integers(0, 2, (rows, steps))
    weights = rng.integers(1, 5, rows)
    graph = Model.from_arrays(observations, actions, weights, empirical=True).graph
    for t, level in enumerate(graph.levels):
        expected: dict[tuple[str, ...], int] = {}
        for o, a, w in zip(observations.tolist(), actions.tolist(), weights.tolist(), strict=True):
            words = [f"o{o[0]}"]
            for k in range(t):
                words += [f"a{a[k]}", f"o{o[k + 1]}"]
            expected[tuple(words)] = expected.get(tuple(words), 0) + w
        assert dict(zip(node_histories(graph, t), level.mass.tolist(), strict=True)) == expected


# ---- latents


def test_latents_are_followed_through_every_action() -> None:
    """A callable and the same latents enumerated by hand."""
    rows = [("x", "x", 3), ("p", "q", 0), ("end", "end", 4)]
    other = [("x", "x", 3), ("q", "q", 1), ("end", "end", 0)]
    laws: list[Any] = ["a", "b", None, {"a": "1/2", "b": "1/2"}, {"a": Fraction(1, 3), "b": "2/3"}]

    def step(latent: str, actions: tuple[str, ...]) -> tuple[str, Any]:
        after_a, after_b, law = (rows if latent == "first" else other)[len(actions)]
        return (after_b if actions and actions[-1] == "b" else after_a), laws[law]

    expected = Model.from_episodes(latent_document([(1, rows), (2, other)]))
    assert Model.from_latents(3, {"first": "1/3", "second": "2/3"}, step).digest == expected.digest
    assert Model.from_latents(3, [("first", "1/3"), ("second", "2/3")], step).digest == expected.digest


@pytest.mark.parametrize(
    ("horizon", "latents", "law", "message"),
    [
        (0, {"z": 1}, "a", "horizon: expected a whole number of steps"),
        (1, {"z": 0.5}, "a", "latents['z']: expected a rational"),
        (1, {"z": "1/2"}, "a", "latents: the weights sum to 1/2, not to 1"),
        (1, {"z": 2, "y": -1}, "a", "latents: the weight -1 of 'y' is negative"),
        (1, {}, "a", "latents: expected at least one hidden value"),
        (1, {"z": 1}, {"a": "1/2", "b": "1/3"}, "step('z', ()): the probabilities sum to 5/6"),
        (1, {"z": 1}, {"a": "x"}, "step('z', ())[\"a\"]: expected a rational"),
        (1, {"z": 1}, {"a": 2, "b": -1}, "step('z', ())[\"b\"]: the probability -1 is negative"),
        (1, {"z": 1}, {"a": []}, "step('z', ())[\"a\"]: expected a rational"),
        (1, {"z": 1}, 3, "step('z', ()): gave 3; expected the name of an action"),
        (1, {"z": 1}, {}, "step('z', ()): the probabilities sum to 0, not to 1"),
    ],
)
def test_bad_latents(horizon: int, latents: Any, law: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        Model.from_latents(horizon, latents, lambda latent, actions: ("o", law))
    assert str(caught.value).startswith(message)


# ---- hidden chains


def summary(graph: Graph) -> list[tuple[Any, ...]]:
    """Per step everything that does not depend on how histories are stored; entropies to twelve digits."""
    relations, strong = compatibility(graph), strong_classes(graph)
    step_floors = floors(graph, relations, strong)
    joint = best_machine(graph, relations, step_floors)
    rows: list[tuple[Any, ...]] = [(joint.optimal, joint.simultaneous, round(joint.bracket[1], 12))]
    for t, level in enumerate(graph.levels):
        entropies = (
            level.history_entropy,
            conditional_rate(level, level.law),
            conditional_rate(level, strong[t]),
            step_floors[t].lower,
            step_floors[t].upper,
        )
        groups = rank(relations[t].group)[1]
        rows.append(
            (
                sum(map(int, level.paths)),
                *(round(bits, 12) + 0.0 for bits in entropies),
                step_floors[t].proved,
                step_floors[t].states,
                not level.mixed,
                rank(support_classes(graph, t))[1] == groups,
                relations[t].transitive,
            )
        )
    return rows


@settings(max_examples=150)
@given(chains())
def test_merged_histories_are_the_unfolded_ones(chain: Chain) -> None:
    merged, plain = chain.model().graph, Model.from_episodes(chain.document()).graph
    assert summary(merged) == summary(plain)
    assert summary(unfold(merged)) == summary(plain)


def test_chains_really_merge_and_really_fail_assumptions() -> None:
    """The comparison above is worth something: in the sample nodes merge, (A2) fails, ~ is not transitive."""
    seen = dict.fromkeys(("merged", "a2", "not transitive"), 0)

    @settings(max_examples=150, database=None)
    @given(chains())
    def count(chain: Chain) -> None:
        graph = chain.model().graph
        seen["merged"] += any(int(level.paths.max()) > 1 for level in graph.levels)
        seen["a2"] += any(level.mixed for level in graph.levels)
        seen["not transitive"] += not all(relation.transitive for relation in compatibility(graph))

    count()
    assert min(seen.values()) >= 3, seen


@settings(max_examples=50)
@given(chains())
def test_graph_documents_are_read_back(chain: Chain) -> None:
    model = chain.model()
    again = Model.from_json(model.to_json())
    assert again.canonical_bytes == model.canonical_bytes
    assert summary(again.graph) == summary(model.graph)


def test_parity_of_a_thousand_random_bits() -> None:
    """2^1000 histories, 1000 − 1 bits of history given the last bit, one bit of memory."""
    graph = build("running-parity", horizon=1000).graph
    assert sum(map(int, graph.levels[-1].paths)) == 2**1000
    assert abs(graph.levels[-1].history_entropy - 999) < 1e-9
    relations = compatibility(graph)
    assert all(relation.transitive for relation in relations)
    rates = [conditional_rate(level, relation.kind) for level, relation in zip(graph.levels, relations, strict=True)]
    assert rates == [0.0] + [1.0] * 999


def test_history_entropy_counts_paths_of_unequal_weight() -> None:
    """Independent bits with P(1) = 1/3: H(H_t|O_t) = (t − 1)·h₂(1/3)."""
    graph = build("running-parity", horizon=40, p=Fraction(1, 3)).graph
    h2 = 0.9182958340544896
    for t, level in enumerate(graph.levels):
        assert abs(level.history_entropy - t * h2) < 1e-12


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("start", {0: "1/2"}, "start: the probabilities sum to 1/2"),
        ("start", {0: "3/2", 1: "-1/2"}, "start[1]: the probability -1/2 is negative"),
        ("observe", {"o": "x"}, 'observe(1, 0)["o"]: expected a rational'),
        ("expert", {"a": "1/3"}, "expert(1, 0): the probabilities sum to 1/3"),
        ("move", {0: 0.5, 1: 0.5}, "move(1, 0, 'a')[0]: expected a rational"),
        ("horizon", 0, "horizon: expected a whole number of steps"),
    ],
)
def test_bad_chains(part: str, value: Any, message: str) -> None:
    parts: dict[str, Any] = {"horizon": 2, "start": {0: 1}, "observe": "o", "expert": "a", "move": 0} | {part: value}
    with pytest.raises(UserError) as caught:
        Model.from_generative(
            parts["horizon"],
            parts["start"],
            lambda t, state: parts["observe"],
            lambda t, state: parts["expert"],
            lambda t, state, action: parts["move"],
        )
    assert str(caught.value).startswith(message)


def graph_document() -> dict[str, Any]:
    return json.loads(build("running-parity", horizon=3).to_json())


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("horizon",), 2, "horizon"),
        (("levels",), [], "horizon"),
        (("levels",), None, "levels"),
        (("extra",), 1, ""),
        (("levels", 0, "nodes", 0, "mass"), "1/3", "levels[0]"),
        (("levels", 0, "nodes", 0, "mass"), "0", "levels[0].nodes[0].mass"),
        (("levels", 0, "nodes", 1, "laws", 0, 0), "1/2", "levels[0].nodes[1].laws"),
        (("levels", 0, "nodes", 1, "laws", 0, 1), {"wait": "1/2"}, "levels[0].nodes[1].laws"),
        (("levels", 0, "nodes", 0, "edges", 0, 2), "1/3", "levels[0].nodes[0].edges"),
        (("levels", 0, "nodes", 0, "edges", 0, 1), 99, "levels[0].nodes[0].edges"),
        (("levels", 0, "nodes", 0, "edges", 0, 1), "one", "levels[0].nodes[0].edges"),
        (("levels", 0, "nodes", 0, "edges", 0, 0), "jump", "levels[0].nodes[0].edges"),
        (("levels", 0, "nodes", 0, "edges", 0), ["wait"], "levels[0].nodes[0].edges"),
        (("levels", 2, "nodes", 0, "edges"), [["wait", 0, "1"]], "levels[2].nodes[0].edges"),
        (("levels", 0, "nodes", 0, "edges", 0, 1), False, "levels[0].nodes[0].edges"),
        (("levels", 1, "nodes"), [], "levels[0].nodes[0].edges"),
    ],
)
def test_bad_graph_documents(path: tuple[str | int, ...], value: Any, where: str) -> None:
    document = graph_document()
    target: Any = document
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(UserError) as caught:
        Model.from_json(json.dumps(document))
    assert caught.value.where == where
    assert "\n" not in str(caught.value)


def test_a_graph_file_is_loaded_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(build("modulo-counter").to_json())
    assert Model.load(path).digest == build("modulo-counter").digest


# ---- dynamics


def _echo(latent: str, actions: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Shows the latent, then the last action; the expert tosses a coin."""
    return (actions[-1] if actions else latent), {"l": "1/2", "r": "1/2"}


def test_latents_leave_their_dynamics_with_the_model() -> None:
    model = Model.from_latents(2, {"x": "1/3", "y": "2/3", "never": 0}, _echo)
    assert model.dynamics is not None
    assert model.dynamics.latents == (("x", Fraction(1, 3)), ("y", Fraction(2, 3)), ("never", Fraction(0)))
    assert model.dynamics.step("x", ("jump",))[0] == "jump"
    assert model.dynamics.owner == (0, 0, 0, 0, 1, 1, 1, 1)
    assert model.episodes is not None
    for row, origin in enumerate(model.episodes.origin):
        latent, weight = model.dynamics.latents[model.dynamics.owner[origin]]
        assert model.graph.observations[model.episodes.observation[row, 0]] == latent
        assert Fraction(int(model.episodes.weight[row]), int(model.episodes.weight.sum())) == weight / 4


def test_dynamics_change_neither_digest_nor_text() -> None:
    model = Model.from_latents(2, {"x": "1/3", "y": "2/3"}, _echo)
    plain = Model.from_json(model.to_json())
    assert plain.dynamics is None
    assert plain.digest == model.digest
    assert "dynamics" not in repr(model)
    assert Model(model.graph, model.episodes, model.name) == model


@pytest.mark.parametrize("item", [i for i in instances() if i.name not in ("running-parity", "modulo-counter")])
def test_every_enumerated_instance_knows_its_dynamics(item: Instance) -> None:
    model = build(item.name)
    assert model.dynamics is not None
    assert sum(weight for _, weight in model.dynamics.latents) == 1
