"""The fewest labels of one machine: against an exhaustive search over machines, by hand, and on the zoo."""

import math
import random
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from certify.core import code_search, code_solver
from certify.core.code_search import TableSearch
from certify.core.code_solver import solver_ready
from certify.core.code_states import Quotient
from certify.core.codes import Codes, fewest_codes, verify_codes
from certify.core.floors import bitmasks, floors
from certify.core.graph import Graph
from certify.core.joint import best_machine
from certify.core.merged import unfold
from certify.core.model import Model
from certify.core.relations import compatibility, strong_classes
from certify.zoo import build

KINDS = {"time_indexed": False, "stationary": True}


def solve(model: Model, seconds: float = 20.0) -> Codes:
    graph = model.graph
    relations = compatibility(graph)
    bounds = floors(graph, relations, strong_classes(graph))
    return fewest_codes(graph, relations, bounds, best_machine(graph, relations, bounds), seconds)


def successors(graph: Graph, t: int, node: int) -> dict[tuple[int, int], int]:
    """(action, next observation) → child, read off the edges one by one."""
    level, following = graph.levels[t], {}
    for source, action, child in zip(level.source.tolist(), level.action.tolist(), level.child.tolist(), strict=True):
        if source == node:
            following[action, int(graph.levels[t + 1].observation[child])] = child
    return following


def conflict(graph: Graph, first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether sharing a label would end in two laws under one observation."""
    (t, a), (s, b) = first, second
    ours, theirs = graph.levels[t], graph.levels[s]
    if ours.observation[a] == theirs.observation[b] and ours.law[a] != theirs.law[b]:
        return True
    if max(t, s) + 1 == graph.horizon:
        return False
    left, right = successors(graph, t, a), successors(graph, s, b)
    return any(conflict(graph, (t + 1, left[u]), (s + 1, right[u])) for u in left.keys() & right.keys())


def exhaustive(graph: Graph, stationary: bool) -> int:
    """The least K for which some machine exists: tables are filled where histories read them, with every value."""
    moves = [[successors(graph, t, node) for node in range(level.size)] for t, level in enumerate(graph.levels[:-1])]
    histories = [(t, node) for t, level in enumerate(graph.levels) for node in range(level.size)]
    arrival = {
        (t + 1, child): (node, word)
        for t, level in enumerate(moves)
        for node, f in enumerate(level)
        for word, child in f.items()
    }

    def fill(index: int, count: int, label: dict, table: dict, policy: dict) -> bool:
        if index == len(histories):
            return True
        t, node = histories[index]
        level, step = graph.levels[t], 0 if stationary else t
        parent, word = arrival.get((t, node), (0, None))
        read = (step, label[t - 1, parent], word) if t else (-1, node, None)
        used = [code for (s, _), code in label.items() if stationary or s == t]
        fresh = min(count, 1 + max(used, default=-1) + 1)  # unused labels are alike
        for code in [table[read]] if read in table else range(fresh):
            shown = (step, int(level.observation[node]), code)
            law = int(level.law[node])
            if policy.get(shown, law) == law and fill(
                index + 1, count, {**label, (t, node): code}, {**table, read: code}, {**policy, shown: law}
            ):
                return True
        return False

    return next(count for count in range(1, len(histories) + 1) if fill(0, count, {}, {}, {}))


def random_model(seed: int, episodes: int, horizon: int, symbols: int) -> Model:
    """Few symbols and few episodes: supports differ, so that compatibility is often not transitive."""
    rng = random.Random(seed)
    rows = [[rng.randrange(symbols) for _ in range(horizon)] for _ in range(episodes)]
    acts = [[rng.choice([0, 0, 1]) for _ in range(horizon)] for _ in range(episodes)]
    return Model.from_arrays(np.array(rows), np.array(acts))


def random_merged(seed: int) -> Model:
    """Hidden states that show little and wander: several histories share a node."""
    rng = random.Random(seed)
    states, horizon, symbols = rng.choice([(4, 4, 2), (5, 4, 2), (5, 4, 3), (4, 5, 2), (6, 4, 3)])
    rng = random.Random(seed)
    shown = [f"o{rng.randrange(symbols)}" for _ in range(states)]
    acts = [rng.choice("aab") for _ in range(states * horizon)]
    after = [rng.sample(range(states), rng.choice([1, 1, 2])) for _ in range(states)]
    return Model.from_generative(
        horizon,
        {k: Fraction(1, states) for k in range(states)},
        observe=lambda t, s: shown[s],
        expert=lambda t, s: acts[(t - 1) * states + s],
        move=lambda t, s, a: {k: Fraction(1, len(after[s])) for k in after[s]},
    )


def three_pairs() -> Model:
    """o1, o2, o3; x follows o1 or o2, y follows o2 or o3, z follows o1 or o3, and the expert then says which it was."""
    pairs = {"x": (1, 2), "y": (2, 3), "z": (1, 3)}
    latents = [((first, after), Fraction(1, 6)) for after, firsts in pairs.items() for first in firsts]
    return Model.from_latents(
        2, latents, lambda latent, acts: (latent[1], f"was {latent[0]}") if acts else (f"o{latent[0]}", "wait")
    )


def check(model: Model, solution: Codes) -> None:
    """Everything that a result says about itself."""
    graph = model.graph
    for kind, stationary in KINDS.items():
        low, high = solution.brackets[kind]
        assert low <= high
        assert getattr(solution, kind) == (low if low == high else None)
        assert (kind in solution.reasons) == (low < high)
        if kind in solution.labels:
            labels = solution.labels[kind]
            assert verify_codes(graph, labels, stationary) is None
            used = [{code for level in labels for code in level}] if stationary else [set(level) for level in labels]
            assert max(map(len, used)) == high
        clique = solution.cliques.get(kind, [])
        assert len(clique) <= low
        assert stationary or len({t for t, _ in clique}) <= 1
        assert all(conflict(graph, a, b) for k, a in enumerate(clique) for b in clique[:k])


def test_three_observations_of_two_classes_each_need_three_codes() -> None:
    model = three_pairs()
    solution = solve(model)
    assert solution.time_indexed == 3
    assert len(solution.cliques["time_indexed"]) == 3
    check(model, solution)
    step = floors(model.graph, compatibility(model.graph), strong_classes(model.graph))[1]
    assert step.states == 2


def test_a_ring_of_five_needs_more_codes_than_its_largest_clique() -> None:
    latents = [((k, (k + d) % 5), Fraction(1, 10)) for k in range(5) for d in (0, 1)]
    model = Model.from_latents(
        2, latents, lambda latent, acts: (f"x{latent[1]}", f"was {latent[0]}") if acts else (f"o{latent[0]}", "wait")
    )
    solution = solve(model)
    assert (solution.time_indexed, len(solution.cliques["time_indexed"])) == (3, 2)
    check(model, solution)


def test_a_class_may_be_split_to_save_a_code() -> None:
    """Classes exist at every step, but h1 and h2 of one class do better with the labels of k and of g."""
    futures = {"h1": {"u": "a"}, "h2": {"v": "a"}, "g": {"u": "b", "w": "a"}, "k": {"v": "b", "w": "b"}}
    latents = [((h, u), Fraction(1, 6)) for h, after in futures.items() for u in after]

    def step(latent: tuple[str, str], actions: tuple[str, ...]) -> tuple[str, str]:
        h, u = latent
        return [(h, "wait"), (h[0], "wait"), (u, futures[h][u])][len(actions)]

    model = Model.from_latents(3, latents, step)
    graph = model.graph
    assert all(relation.transitive for relation in compatibility(graph))
    solution = solve(model)
    assert solution.time_indexed == exhaustive(graph, False) == 2
    shown = [graph.observations[o] for o in graph.levels[1].observation]
    labels = solution.labels["time_indexed"][1]
    assert {label for label, observation in zip(labels, shown, strict=True) if observation == "h"} == {0, 1}
    check(model, solution)


@pytest.mark.parametrize(
    ("episodes", "horizon", "symbols", "seeds"), [(5, 3, 2, 60), (5, 4, 2, 40), (6, 4, 3, 25), (4, 5, 1, 40)]
)
def test_counts_agree_with_an_exhaustive_search_over_machines(
    episodes: int, horizon: int, symbols: int, seeds: int
) -> None:
    for seed in range(seeds):
        model = random_model(seed, episodes, horizon, symbols)
        solution = solve(model)
        check(model, solution)
        for kind, stationary in KINDS.items():
            assert getattr(solution, kind) == exhaustive(model.graph, stationary), (seed, kind)


@pytest.mark.parametrize("seed", [277, 382, 1274, 4842, 5282, 5703])
def test_closure_can_cost_a_code_that_no_conflict_of_two_shows(seed: int) -> None:
    """Seeds where the simple bounds leave a gap, so that the solver decides, in both directions."""
    model = random_model(seed, 8, 4, 2)
    solution = solve(model)
    check(model, solution)
    assert not all(relation.transitive for relation in compatibility(model.graph))
    assert solution.time_indexed == exhaustive(model.graph, False)
    assert solution.time_indexed == (2 if seed in (277, 4842) else 3)


def test_merged_histories_count_as_if_they_were_apart() -> None:
    compared, undetermined = 0, 0
    for seed in range(150):
        model = random_merged(seed)
        if sum(int(level.paths.sum()) for level in model.graph.levels) > 20:
            continue
        solution, tree = solve(model), unfold(model.graph)
        check(model, solution)
        assert solution.time_indexed == exhaustive(tree, False)
        if solution.stationary is not None and solution.stationary <= 3:
            assert solution.stationary == exhaustive(tree, True)
        compared += tree.levels[-1].size > model.graph.levels[-1].size
        undetermined += solution.stationary is None
    assert compared > 30
    assert undetermined == 0


def test_a_node_with_two_labels_is_counted_but_not_labelled() -> None:
    model = random_merged(113)
    solution = solve(model)
    assert solution.stationary == exhaustive(unfold(model.graph), True)
    assert "stationary" not in solution.labels
    assert "stationary" not in solution.cliques


@pytest.mark.parametrize(
    ("name", "parameters", "time_indexed", "stationary"),
    [
        ("passive-t-maze", {"L": 100}, 2, 2),
        ("gap", {}, 4, 4),
        ("memory-chain", {"bits": 2}, 4, 4),
        ("memory-chain", {"bits": 3, "delay": 100}, 8, 8),
        ("cue-corridor", {"L": 80}, 2, 2),
        ("mass-sketch", {"modes": 512}, 4, 4),
        ("running-parity", {"horizon": 1000}, 2, 2),
        ("signpost-corridor", {"W": 13}, 4, 8),
        ("re-reveal", {}, 2, 3),
        ("three-histories", {}, 2, 2),
    ],
)
def test_zoo(name: str, parameters: dict[str, int], time_indexed: int, stationary: int) -> None:
    model = build(name, **parameters)
    solution = solve(model)
    assert (solution.time_indexed, solution.stationary) == (time_indexed, stationary)
    for kind, is_stationary in KINDS.items():
        assert verify_codes(model.graph, solution.labels[kind], is_stationary) is None


def test_a_stationary_machine_must_count_the_steps_that_no_observation_shows() -> None:
    model = Model.from_latents(5, {0: 1}, lambda _, acts: ("same", "go" if len(acts) == 4 else "wait"))
    solution = solve(model)
    assert (solution.time_indexed, solution.stationary) == (1, 5)
    check(model, solution)


def test_the_verifier_refuses_what_is_no_machine() -> None:
    graph = three_pairs().graph
    labels = solve(three_pairs()).labels["time_indexed"]
    assert verify_codes(graph, labels, False) is None
    assert "one label for each node" in (verify_codes(graph, labels[:1], False) or "")
    assert "one label for each node" in (verify_codes(graph, [labels[0][:-1], labels[1]], False) or "")
    assert "two laws under 'x'" in (verify_codes(graph, [[0, 1, 2], [0] * 6], False) or "")
    assert "to two labels" in (verify_codes(graph, [[0, 0, 0], list(range(6))], False) or "")
    maze = build("passive-t-maze", L=3).graph
    held = [[0, 1]] * 4
    assert verify_codes(maze, held, True) is None
    swapped = [[0, 1], [0, 1], [1, 0], [0, 1]]  # a fine machine if it knows the time
    assert verify_codes(maze, swapped, False) is None
    assert "to two labels" in (verify_codes(maze, swapped, True) or "")


@pytest.mark.parametrize("stationary", [False, True])
def test_search_and_solver_give_the_same_answer(stationary: bool) -> None:
    """The search through tables against the solver, on one number of labels after the other; machines are verified."""
    both = {True: 0, False: 0}
    for seed in range(24):
        graph = random_model(seed, 5, 3, 2).graph
        quotient = Quotient.of(graph, strong_classes(graph), 1000)
        assert quotient is not None
        matrices = quotient.conflicts(stationary)
        enemies = [mask << a for a, m in zip(quotient.start, matrices, strict=False) for mask in bitmasks(m)]
        for count in range(1, 6 if stationary else 4):
            searched = TableSearch(quotient, enemies, stationary, count).run(math.inf)
            solved = code_solver.solve(quotient, matrices, [[] for _ in matrices], stationary, count, 60.0)
            assert bool(searched) == bool(solved)
            both[bool(searched)] += 1
            for tables in filter(None, (searched, solved)):
                assert verify_codes(graph, code_solver.walk(graph, tables, stationary), stationary) is None
    assert min(both.values()) > 10


def unmarked_corridor(signs: int, turns: tuple[int, int], hall: int) -> Model:
    """A start, signs that carry no number, and two halls that look alike; two of the signs say where to turn."""

    def step(bits: tuple[int, ...], actions: tuple[str, ...]) -> tuple[str, str]:
        t = len(actions) - 1
        if t < signs:
            return f"sign {bits[t]}" if actions else "start", "on"
        lap, index = divmod(t - signs, hall + 1)
        return (f"fork {lap}", f"turn {bits[turns[lap]]}") if index == hall else ("hall", "on")

    latents = {bits: Fraction(1, 2**signs) for bits in product((0, 1), repeat=signs)}
    return Model.from_latents(1 + signs + 2 * (hall + 1), latents, step)


@pytest.mark.parametrize(
    ("turns", "codes"), [((0, 1), 7), ((1, 0), 7), ((1, 2), 7), ((0, 2), 6), ((0, 4), 5), ((3, 4), 4)]
)
def test_corridors_of_signs_without_a_number_are_decided(turns: tuple[int, int], codes: int) -> None:
    model = unmarked_corridor(5, turns, 3)
    assert model.graph.levels[-1].size == 32
    solution = solve(model)
    assert (solution.time_indexed, solution.stationary) == (4, codes)
    check(model, solution)


def test_without_a_solver_the_gap_is_a_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ortools.sat.python.cp_model", raising=False)
    assert solver_ready(60.0)
    assert not solver_ready(0.5)  # not even imported
    monkeypatch.setitem(sys.modules, "ortools", None)
    model = random_model(382, 8, 4, 2)
    assert solve(model).time_indexed == 3  # the search needs no solver
    monkeypatch.setattr(code_search, "_ENTRIES", 0)
    solution = solve(model)
    assert solution.time_indexed is None
    assert solution.brackets["time_indexed"] == (2, 3)
    assert "'search'" in solution.reasons["time_indexed"]
    check(model, solution)


def test_no_time_is_a_bracket_too() -> None:
    model = random_model(382, 8, 4, 2)
    solution = solve(model, seconds=0.0)
    assert (solution.time_indexed, solution.stationary) == (None, None)
    assert solution.brackets["time_indexed"][0] == solution.brackets["stationary"][0] == 2
    assert set(solution.reasons.values()) == {"the search stopped at its limit; --seconds raises it"}
    check(model, solution)


def test_more_classes_than_can_be_compared_still_have_both_ends() -> None:
    observations = np.stack([np.arange(120_000), np.zeros(120_000, np.int64)], axis=1)
    model = Model.from_arrays(observations, np.stack([np.zeros(120_000, np.int64), np.arange(120_000) % 3], axis=1))
    solution = solve(model)
    assert (solution.time_indexed, solution.stationary) == (3, 3)
    check(model, solution)


def cues(count: int, horizon: int) -> Model:
    """A cue at the first step, asked for at the last, and nothing that shows the time between."""
    observations, actions = np.zeros((2, count, horizon), np.int64)
    observations[:, 0], actions[:, -1] = np.arange(count) + 1, np.arange(count)
    return Model.from_arrays(observations, actions)


def test_a_thousand_states_at_every_step_are_a_thousand_codes() -> None:
    model = cues(1000, 12)
    solution = solve(model)
    assert solution.time_indexed == 1000
    assert solution.brackets["stationary"] == (1000, 12_000)
    assert "too many to compare" in solution.reasons["stationary"]
    assert len(solution.cliques["time_indexed"]) == 1000
    assert verify_codes(model.graph, solution.labels["time_indexed"], False) is None


def test_ten_bits_are_a_thousand_codes_though_pairs_are_past_their_limit() -> None:
    solution = solve(build("memory-chain", bits=10, delay=5))
    assert (solution.time_indexed, solution.stationary) == (1024, 1024)


def test_counts_of_enumerated_and_of_generated_histories_agree() -> None:
    """Events counted modulo 3 over 16 steps: 131,070 histories one by one, six nodes a level where they are merged."""
    events = np.array(list(product((0, 1), repeat=16)))
    observations, actions = events.copy(), np.zeros_like(events)
    observations[:, -1] += 2
    actions[:, -1] = events.sum(1) % 3
    model = Model.from_arrays(observations, actions)
    solution = solve(model)
    assert (solution.time_indexed, solution.stationary) == (3, 3)
    assert solution.brackets == solve(build("modulo-counter", horizon=16)).brackets
    assert verify_codes(model.graph, solution.labels["stationary"], True) is None
