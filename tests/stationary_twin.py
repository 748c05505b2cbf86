"""Literal twins for certify.stationary: random small worlds, histories one by one, pairs one by one."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from certify.stationary.observer import Observer
from certify.stationary.process import Process
from certify.stationary.world import Controller, Privileged, World

History = tuple[str, ...]


def random_row(rng: random.Random, size: int, most: int = 2) -> dict[int, Fraction]:
    chosen = rng.sample(range(size), rng.randint(1, min(most, size)))
    weights = [rng.randint(1, 3) for _ in chosen]
    return {k: Fraction(w, sum(weights)) for k, w in zip(chosen, weights, strict=True)}


def random_world(rng: random.Random, ends: bool = False) -> World:
    """At most six states, three observations and two actions."""
    states, actions, observations = rng.randint(1, 6), rng.randint(1, 2), rng.randint(1, 3)
    transitions = [[random_row(rng, states) for _ in range(states)] for _ in range(actions)]
    if ends:
        for a in range(actions):
            transitions[a][rng.randrange(states)] = {}
    return World(
        tuple(f"s{k}" for k in range(states)),
        tuple(f"a{k}" for k in range(actions)),
        tuple(f"o{k}" for k in range(observations)),
        random_row(rng, states, 3),
        transitions,
        [[random_row(rng, observations, 1 if rng.random() < 0.6 else 2) for _ in range(states)]] * actions,
        [random_row(rng, observations, 1) for _ in range(states)] if rng.random() < 0.5 else None,
        "random",
    )


def random_law(rng: random.Random, world: World) -> dict[str, Fraction]:
    row = random_row(rng, len(world.actions), 1 if rng.random() < 0.8 else 2)
    return {world.actions[a]: p for a, p in row.items()}


def random_controller(rng: random.Random, world: World, nodes: int = 3) -> Controller:
    names = [f"n{k}" for k in range(rng.randint(1, nodes))]
    seen = [*world.observations, "start"]
    first = {o: rng.choice(names) for o in seen}
    moves = {(n, a, o): rng.choice(names) for n in names for a in world.actions for o in world.observations}
    return Controller(first, {n: random_law(rng, world) for n in names}, moves)


def random_privileged(rng: random.Random, world: World) -> Privileged:
    return Privileged({s: random_law(rng, world) for s in world.states})


def random_process(seed: int, privileged: bool = False) -> Process:
    rng = random.Random(seed)
    world = random_world(rng, ends=rng.random() < 0.3)
    return world.process(random_privileged(rng, world) if privileged else random_controller(rng, world))


def random_sparse_process(seed: int) -> Process:
    """States that show one observation each, and controllers of up to six nodes: ~ is often not transitive."""
    rng = random.Random(seed)
    states, observations = rng.randint(4, 6), rng.randint(2, 4)
    world = World(
        tuple(f"s{k}" for k in range(states)),
        ("a0", "a1"),
        tuple(f"o{k}" for k in range(observations)),
        random_row(rng, states, 3),
        [[random_row(rng, states) for _ in range(states)] for _ in range(2)],
        [[random_row(rng, observations, 1) for _ in range(states)]] * 2,
        [random_row(rng, observations, 1) for _ in range(states)],
        "sparse",
    )
    return world.process(random_controller(rng, world, 6))


Alpha = dict[int, Fraction]  # hidden state → probability together with the history


def histories(process: Process, horizon: int) -> Iterator[tuple[History, Alpha]]:
    """Every history of at most `horizon` steps with the unnormalised law of the hidden state, shortest first."""
    level: dict[History, Alpha] = {}
    for x, p in process.start:
        level.setdefault((process.observations[process.observation[x]],), {})[x] = p
    for _ in range(horizon):
        yield from level.items()
        after: dict[History, Alpha] = {}
        for history, alpha in level.items():
            for x, weight in alpha.items():
                for action, p in process.law[x]:
                    for y, q in process.moves[x].get(action, ()):
                        words = (process.actions[action], process.observations[process.observation[y]])
                        row = after.setdefault((*history, *words), {})
                        row[y] = row.get(y, Fraction(0)) + weight * p * q
        level = after


def follow(observer: Observer, history: tuple[str, ...]) -> int:
    """The node that a history leads to."""
    names = {name: k for k, name in enumerate(observer.observations)}
    actions = {name: k for k, name in enumerate(observer.actions)}
    node = observer.first[names[history[0]]]
    for action, seen in zip(history[1::2], history[2::2], strict=True):
        node = observer.moves[node][actions[action] * len(names) + names[seen]]
    return node


def law_of(process: Process, alpha: Alpha) -> dict[str, Fraction]:
    """P(A | history)."""
    whole, law = sum(alpha.values()), {}
    for x, weight in alpha.items():
        for action, p in process.law[x]:
            law[process.actions[action]] = law.get(process.actions[action], Fraction(0)) + weight * p / whole
    return law


def pair_conflicts(observer: Observer) -> set[tuple[int, int]]:
    """The least fixpoint on pairs of nodes, pair by pair."""
    nodes = range(observer.size)
    obs, law, moves = observer.observation.tolist(), observer.law.tolist(), observer.moves
    bad = {(a, b) for a in nodes for b in nodes if obs[a] == obs[b] and law[a] != law[b]}
    grown = True
    while grown:
        grown = False
        for a in nodes:
            for b in nodes:
                if (a, b) not in bad and any(
                    (moves[a][u], moves[b][u]) in bad for u in moves[a].keys() & moves[b].keys()
                ):
                    bad.add((a, b))
                    grown = True
    return bad


def cesaro(start: list[Fraction], rows: list[dict[int, Fraction]], doublings: int = 40) -> np.ndarray:
    """(1/T)·Σ_t law_t for T = 2^doublings, in floating point: average of T steps, then of twice as many."""
    step = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        for j, p in row.items():
            step[i, j] = float(p)
    average = np.eye(len(rows))
    for _ in range(doublings):
        average = (average + step @ average) / 2
        step = step @ step
        step /= step.sum(axis=1, keepdims=True)
    return np.array([float(p) for p in start]) @ average


def bits_of(mass: dict[tuple[int, int], float]) -> float:
    """H(code | observation) of a law on (observation, code)."""
    whole: dict[int, float] = {}
    for (o, _), m in mass.items():
        whole[o] = whole.get(o, 0.0) + m
    return sum(m * math.log2(whole[o] / m) for (o, _), m in mass.items() if m > 1e-300)
