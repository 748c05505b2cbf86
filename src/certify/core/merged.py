"""Merged history graphs: histories with equal observation and equal posterior over hidden states share a node.

They have the same futures, so every relation treats them alike. Paths are counted, so that H(H|O) is that of the
histories and not of the nodes: 2^1000 histories fit in two nodes a level.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

import numpy as np

from certify.core.exact import (
    Masses,
    as_masses,
    brief,
    common_denominator,
    conditional_entropy,
    group_sums,
    rank,
    total_of,
)
from certify.core.graph import Graph, Laws, Level, Names, average
from certify.core.reading import rational
from certify.errors import UserError

S = TypeVar("S", bound=Hashable)
Rational = Fraction | int | str
Belief = tuple[int, frozenset[tuple[S, Fraction]]]  # an observation and the posterior over states


@dataclass
class Node:
    """One node before it is an array entry: mass P(H_t ∈ node), laws of its states with their shares, edges out."""

    observation: int
    mass: Fraction
    shares: dict[int, Fraction]
    # (a, o′) → (child, P(a, o′ | node))
    edges: dict[tuple[int, int], tuple[int, Fraction]] = field(default_factory=dict)


def generate(
    horizon: int,
    start: Mapping[S, Rational],
    observe: Callable[[int, S], Mapping[str, Rational] | str],
    expert: Callable[[int, S], Mapping[str, Rational] | str],
    move: Callable[[int, S, str], Mapping[S, Rational] | S],
) -> Graph:
    """Merge histories level by level; t = 1…T. A plain value instead of a mapping means that it is certain."""
    if horizon < 1:
        raise UserError("horizon", f"expected a whole number of steps, at least 1, not {horizon}")
    observations: dict[str, int] = {}
    actions: dict[str, int] = {}
    laws = Laws()
    levels: list[list[Node]] = []

    def split(t: int, joint: Mapping[S, Fraction]) -> dict[int, dict[S, Fraction]]:
        """A weight over states, by the observation that they show."""
        shown: dict[int, dict[S, Fraction]] = {}
        for state, weight in joint.items():
            for name, p in _law(observe(t, state), lambda s=state: f"observe({t}, {s!r})").items():
                belief = shown.setdefault(observations.setdefault(str(name), len(observations)), {})
                belief[state] = belief.get(state, Fraction(0)) + weight * p
        return shown

    def merge(
        level: list[Node], beliefs: dict[Belief[S], int], observation: int, belief: dict[S, Fraction], parent: Fraction
    ) -> tuple[int, Fraction]:
        """The node of a belief, made if it is new; its mass grows by that of the parent times P(belief | parent)."""
        if len(belief) == 1:  # the common case of a known state needs no arithmetic
            ((state, p),) = belief.items()
            key: Belief[S] = (observation, frozenset([(state, Fraction(1))]))
        else:
            p = sum(belief.values(), Fraction(0))
            key = (observation, frozenset((state, weight / p) for state, weight in belief.items()))
        number = beliefs.setdefault(key, len(level))
        if number == len(level):
            level.append(Node(observation, Fraction(0), {}))
        level[number].mass += parent * p
        return number, p

    level: list[Node] = []
    beliefs: dict[Belief[S], int] = {}
    for observation, belief in split(1, _law(start, lambda: "start")).items():
        merge(level, beliefs, observation, belief, Fraction(1))
    for t in range(1, horizon + 1):
        levels.append(level)
        following: list[Node] = []
        next_beliefs: dict[Belief[S], int] = {}
        for node, (_, posterior) in zip(level, beliefs, strict=True):
            joint: dict[int, dict[S, Fraction]] = {}
            for state, weight in posterior:
                law = _law(expert(t, state), lambda t=t, s=state: f"expert({t}, {s!r})")
                which = laws.intern({actions.setdefault(str(name), len(actions)): p for name, p in law.items()})
                node.shares[which] = node.shares.get(which, Fraction(0)) + weight
                for name, p in law.items() if t < horizon else ():
                    after = joint.setdefault(actions[str(name)], {})
                    moves = _law(move(t, state, name), lambda t=t, s=state, a=name: f"move({t}, {s!r}, {a!r})")
                    for target, q in moves.items():
                        after[target] = after.get(target, Fraction(0)) + weight * p * q
            for action, after in sorted(joint.items()):
                for observation, belief in sorted(split(t + 1, after).items()):
                    edge = merge(following, next_beliefs, observation, belief, node.mass)
                    node.edges[action, observation] = edge
        level, beliefs = following, next_beliefs
    return assemble(levels, tuple(observations), tuple(actions), laws)


def assemble(levels: list[list[Node]], observations: Names, actions: Names, laws: Laws) -> Graph:
    """Lists of nodes to arrays, with path counts and history entropies."""
    result: list[Level] = []
    paths: list[int] = [1] * len(levels[0])
    parent, arrival = [0] * len(levels[0]), [0] * len(levels[0])
    joint_entropy = 0.0  # H(H_t) by the chain rule
    for t, nodes in enumerate(levels):
        mass, total = common_denominator([node.mass for node in nodes])
        if sum(mass) != total:
            raise UserError(f"levels[{t}]", f"the masses sum to {brief(Fraction(sum(mass), total))}, not to 1")
        law, mixed = _laws_of(nodes, laws)
        observation = np.array([node.observation for node in nodes], np.int64)
        masses = as_masses(mass)
        fiber, fibers = rank(observation)
        fiber_mass = group_sums(fiber, masses, fibers)
        if t == 0:
            joint_entropy = _entropy(masses)
        edges = [(k, a, child, p) for k, node in enumerate(nodes) for (a, _), (child, p) in sorted(node.edges.items())]
        flow_exact = [nodes[k].mass * p for k, _, _, p in edges]
        scale = math.lcm(*{f.denominator for f in flow_exact}) if flow_exact else 1
        flow = as_masses([f.numerator * (scale // f.denominator) for f in flow_exact])
        source = np.array([k for k, _, _, _ in edges], np.int64)
        result.append(
            Level(
                observation,
                np.array(law, np.int64),
                masses,
                total,
                np.array(parent, np.int64),
                np.array(arrival, np.int64),
                as_masses(paths),
                max(0.0, joint_entropy - _entropy(fiber_mass)),
                mixed,
                source,
                np.array([a for _, a, _, _ in edges], np.int64),
                np.array([child for _, _, child, _ in edges], np.int64),
                flow,
            )
        )
        if edges:
            joint_entropy += conditional_entropy(flow, group_sums(source, flow, len(nodes))[source], total_of(flow))
            paths, parent, arrival = _reached(edges, paths, len(levels[t + 1]))
    return Graph(tuple(result), observations, actions, tuple(laws.table))


def unfold(graph: Graph) -> Graph:
    """The tree of all histories of a merged graph: one node a history."""
    laws = Laws()
    for law in graph.laws:
        laws.intern(dict(law))
    levels: list[list[Node]] = []
    originals = list(range(graph.levels[0].size))
    masses = [Fraction(int(mass), graph.levels[0].total) for mass in graph.levels[0].mass]
    for level in graph.levels:
        begin = np.searchsorted(level.source, np.arange(level.size + 1))
        whole = group_sums(level.source, level.flow, level.size)
        nodes: list[Node] = []
        following: list[int] = []
        following_masses: list[Fraction] = []
        for original, mass in zip(originals, masses, strict=True):
            shares = level.mixed.get(original, {int(level.law[original]): 1})
            node = Node(
                int(level.observation[original]),
                mass,
                {k: Fraction(w, sum(shares.values())) for k, w in shares.items()},
            )
            for edge in range(begin[original], begin[original + 1]):
                p = Fraction(int(level.flow[edge]), int(whole[original]))
                child = int(level.child[edge])
                seen = int(graph.levels[len(levels) + 1].observation[child])
                node.edges[int(level.action[edge]), seen] = (len(following), p)
                following.append(child)
                following_masses.append(mass * p)
            nodes.append(node)
        levels.append(nodes)
        originals, masses = following, following_masses
    return assemble(levels, graph.observations, graph.actions, laws)


def _laws_of(nodes: list[Node], laws: Laws) -> tuple[list[int], dict[int, dict[int, int]]]:
    law: list[int] = []
    mixed: dict[int, dict[int, int]] = {}
    for k, node in enumerate(nodes):
        if len(node.shares) == 1:
            law.append(next(iter(node.shares)))
            continue
        mixed[k] = dict(zip(node.shares, common_denominator(list(node.shares.values()))[0], strict=True))
        law.append(laws.intern(average(mixed[k], laws.table)))
    return law, mixed


def _reached(
    edges: list[tuple[int, int, int, Fraction]], paths: list[int], size: int
) -> tuple[list[int], list[int], list[int]]:
    counts, parent, arrival = [0] * size, [0] * size, [0] * size
    for k, action, child, _ in reversed(edges):
        counts[child] += paths[k]
        parent[child], arrival[child] = k, action
    return counts, parent, arrival


def _entropy(masses: Masses) -> float:
    total = total_of(masses)
    return conditional_entropy(masses, np.full(len(masses), total, masses.dtype), total)


def _law(value: object, place: Callable[[], str]) -> dict:
    """A mapping to exact probabilities; a plain value is certain."""
    if not isinstance(value, Mapping):
        return {value: Fraction(1)}
    law = {key: p if type(p) is Fraction else rational(p, place()) for key, p in value.items()}
    if sum(law.values()) != 1 or min(law.values()) < 0:
        raise UserError(place(), f"the probabilities sum to {brief(sum(law.values()))}, not to 1, or one is negative")
    return {key: p for key, p in law.items() if p}
