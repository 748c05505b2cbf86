"""Merged history graphs: histories with equal observation and equal posterior over hidden states share a node.

They have the same futures, so every relation treats them alike. Paths are counted, so that H(H|O) is that of the
histories and not of the nodes: 2^1000 histories fit in two nodes a level. Posteriors are sparse vectors of integers
without a common factor, and what a state does at one step is asked once and kept over one denominator.
"""

import math
import random
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from certify.core.exact import (
    Ints,
    Masses,
    as_masses,
    brief,
    common_denominator,
    conditional_entropy,
    group_sums,
    rank,
    representatives,
    total_of,
)
from certify.core.graph import Graph, Laws, Level, Names, average
from certify.core.reading import Rational, exact_law
from certify.errors import UserError
from certify.progress import working

S = TypeVar("S", bound=Hashable)
Belief = tuple[tuple[int, int], ...]  # (state, weight), by state; the weights have no common factor
Kernel = list[tuple[tuple[int, int], int, int]]  # ((action, next observation), next state, weight)
_PROBE, _AHEAD = 2_000, 16  # posteriors at one step, from which on random histories look so many steps ahead


@dataclass
class Layer:
    """One level as whole numbers: of each node its observation, mass and the shares of the laws of its states."""

    observation: list[int] = field(default_factory=list)
    mass: list[int] = field(default_factory=list)
    shares: list[dict[int, int]] = field(default_factory=list)
    edges: list[tuple[int, int, int, int]] = field(default_factory=list)  # source, action, child, flow; ascending


@dataclass
class Node:
    """One node by its probabilities: mass P(H_t ∈ node), laws of its states with their shares, edges out."""

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
    most: int,
) -> Graph:
    """Merge histories level by level; t = 1…T. A plain value instead of a mapping means that it is certain."""
    if horizon < 1:
        raise UserError("horizon", f"expected a whole number of steps, at least 1, not {horizon}")
    world = _World(observe, expert, move)
    layers: list[Layer] = []
    beliefs = world.begin(_law(start, lambda: "start"))
    layer = Layer([o for o, _ in beliefs], list(beliefs.values()))
    probed = False
    with working("building the model") as say:
        for t in range(1, horizon + 1):
            layers.append(layer)
            if len(beliefs) > most:
                raise _too_many(f"more than {most:,} different posteriors at step {t} of {horizon}")
            if not probed and len(beliefs) > _PROBE and t < horizon:
                probed = True
                _refuse_large(world, t, min(horizon, t + _AHEAD), list(beliefs), most)
            states = sorted({state for _, belief in beliefs for state, _ in belief})
            law = {s: world.law(t, s)[0] for s in states}
            kernel = world.kernel(t, states) if t < horizon else {}
            wholes = [sum(weight for _, weight in belief) for _, belief in beliefs]
            scale = math.lcm(*set(wholes))
            following: dict[tuple[int, Belief], int] = {}
            masses: list[int] = []
            for k, (_, belief) in enumerate(beliefs):
                if k % 1024 == 0:
                    if len(masses) > most:
                        raise _too_many(f"more than {most:,} different posteriors at step {t + 1} of {horizon}")
                    say(f"step {t} of {horizon}, {k:,} of {len(beliefs):,} merged histories")
                shares: dict[int, int] = {}
                for state, weight in belief:
                    shares[law[state]] = shares.get(law[state], 0) + weight
                layer.shares.append(shares)
                factor = layer.mass[k] * (scale // wholes[k])
                for (action, seen), after in sorted(_follow(belief, kernel).items()) if kernel else ():
                    flow = factor * sum(after.values())
                    child = following.setdefault((seen, _primitive(after)), len(masses))
                    if child == len(masses):
                        masses.append(0)
                    masses[child] += flow
                    layer.edges.append((k, action, child, flow))
            beliefs, layer = following, Layer([o for o, _ in following], _lowest(masses))
    return _assemble(layers, tuple(world.observations), tuple(world.actions), world.laws)


def _refuse_large(world: "_World[Any]", t: int, end: int, beliefs: list[tuple[int, Belief]], most: int) -> None:
    """Refuse at once what is in all likelihood too much: of so many random histories, no two have the same posterior.

    If there were no more than `most` posteriors, that would have a probability below e⁻¹⁰, however they are drawn.
    """
    rng, walks = random.Random(0), math.isqrt(20 * most) + 2
    away = _World(world.observe, world.expert, world.move)  # its numbers are its own
    met: set[tuple[int, Belief]] = set()
    for _ in range(walks):
        seen, belief = rng.choice(beliefs)
        belief = tuple((away.number(world.values[state]), weight) for state, weight in belief)
        for step in range(t, end):
            after = _follow(belief, away.kernel(step, [state for state, _ in belief]))
            _, seen = word = rng.choice(sorted(after))
            belief = _primitive(after[word])
        if (seen, belief) in met:
            return
        met.add((seen, belief))
    alike = f"of {walks:,} random histories no two have the same one"
    raise _too_many(f"in all likelihood more than {most:,} different posteriors at step {end} ({alike})")


def _too_many(reason: str) -> UserError:
    return UserError("horizon", f"{reason}; shorten it, give fewer symbols, or raise `most`")


@dataclass
class _World(Generic[S]):
    """The user's callables, each asked once for a step and a state, with states and names as numbers."""

    observe: Callable[[int, S], Mapping[str, Rational] | str]
    expert: Callable[[int, S], Mapping[str, Rational] | str]
    move: Callable[[int, S, str], Mapping[S, Rational] | S]
    states: dict[S, int] = field(default_factory=dict)
    values: list[S] = field(default_factory=list)
    observations: dict[str, int] = field(default_factory=dict)
    actions: dict[str, int] = field(default_factory=dict)
    laws: Laws = field(default_factory=Laws)

    def begin(self, start: Mapping[S, Fraction]) -> dict[tuple[int, Belief], int]:
        """The beliefs after the first observation, with their masses."""
        joint: dict[int, dict[int, Fraction]] = {}
        for value, weight in start.items():
            for seen, p in self.shown(1, self.number(value)):
                joint.setdefault(seen, {})[self.number(value)] = weight * p
        names = [(seen, state) for seen, after in joint.items() for state in after]
        whole, _ = common_denominator([joint[seen][state] for seen, state in names])
        exact: dict[int, dict[int, int]] = {}
        for (seen, state), weight in zip(names, whole, strict=True):
            exact.setdefault(seen, {})[state] = weight
        return {(seen, _primitive(after)): sum(after.values()) for seen, after in exact.items()}

    def number(self, value: S) -> int:
        if value not in self.states:
            self.states[value] = len(self.values)
            self.values.append(value)
        return self.states[value]

    def shown(self, t: int, state: int) -> list[tuple[int, Fraction]]:
        """The observations of a state."""
        value = self.values[state]
        law = _law(self.observe(t, value), lambda: f"observe({t}, {value!r})")
        return [(self.observations.setdefault(str(name), len(self.observations)), p) for name, p in law.items()]

    def law(self, t: int, state: int) -> tuple[int, dict[str, Fraction]]:
        """What the expert does in a state: the number of its law, and the law."""
        value = self.values[state]
        law = _law(self.expert(t, value), lambda: f"expert({t}, {value!r})")
        numbered = {self.actions.setdefault(str(name), len(self.actions)): p for name, p in law.items()}
        return self.laws.intern(numbered), law

    def kernel(self, t: int, states: list[int]) -> dict[int, Kernel]:
        """What follows each state: actions, next observations and next states, over one denominator for all."""
        exact: list[tuple[int, tuple[int, int], int, Fraction]] = []
        shown: dict[int, list[tuple[int, Fraction]]] = {}
        for state in states:
            value = self.values[state]
            for name, p in self.law(t, state)[1].items():
                action = self.actions[str(name)]
                moves = _law(self.move(t, value, name), lambda v=value, a=name: f"move({t}, {v!r}, {a!r})")
                for target, q in moves.items():
                    after = self.number(target)
                    if after not in shown:
                        shown[after] = self.shown(t + 1, after)
                    exact += [(state, (action, seen), after, p * q * r) for seen, r in shown[after]]
        kernel: dict[int, Kernel] = {state: [] for state in states}
        weights, _ = common_denominator([p for *_, p in exact])
        for (state, word, after, _), weight in zip(exact, weights, strict=True):
            kernel[state].append((word, after, weight))
        return kernel


def _follow(belief: Belief, kernel: dict[int, Kernel]) -> dict[tuple[int, int], dict[int, int]]:
    """The weights of the states after each (action, observation)."""
    joint: dict[tuple[int, int], dict[int, int]] = {}
    for state, weight in belief:
        for word, target, p in kernel[state]:
            after = joint.get(word)
            if after is None:
                joint[word] = {target: weight * p}
            else:
                after[target] = after.get(target, 0) + weight * p
    return joint


def _primitive(weights: dict[int, int]) -> Belief:
    """Weights by state, divided by their common factor."""
    if len(weights) == 1:  # a known state
        return ((next(iter(weights)), 1),)
    factor = math.gcd(*weights.values())
    return tuple(sorted((state, weight // factor) for state, weight in weights.items()))


def _lowest(numbers: list[int]) -> list[int]:
    factor = math.gcd(*numbers)
    return numbers if factor <= 1 else [number // factor for number in numbers]


def assemble(levels: list[list[Node]], observations: Names, actions: Names, laws: Laws) -> Graph:
    """Lists of nodes to arrays, with path counts and history entropies."""
    layers: list[Layer] = []
    for t, nodes in enumerate(levels):
        mass, total = common_denominator([node.mass for node in nodes])
        if sum(mass) != total:
            raise UserError(f"levels[{t}]", f"the masses sum to {brief(Fraction(sum(mass), total))}, not to 1")
        edges = [(k, a, child, p) for k, node in enumerate(nodes) for (a, _), (child, p) in sorted(node.edges.items())]
        flow, _ = common_denominator([nodes[k].mass * p for k, _, _, p in edges])
        shares = [
            dict(zip(node.shares, common_denominator(list(node.shares.values()))[0], strict=True)) for node in nodes
        ]
        steps = [(*edge[:3], whole) for edge, whole in zip(edges, flow, strict=True)]
        layers.append(Layer([node.observation for node in nodes], mass, shares, steps))
    return _assemble(layers, observations, actions, laws)


def _assemble(layers: list[Layer], observations: Names, actions: Names, laws: Laws) -> Graph:
    result: list[Level] = []
    size = len(layers[0].mass)
    paths: Masses = np.ones(size, np.int64)
    parent, arrival = np.zeros(size, np.int64), np.zeros(size, np.int64)
    joint_entropy = 0.0  # H(H_t) by the chain rule
    for t, layer in enumerate(layers):
        masses = as_masses(_lowest(layer.mass))
        law, mixed = _laws_of(layer.shares, laws)
        observation = np.array(layer.observation, np.int64)
        fiber, fibers = rank(observation)
        if t == 0:
            joint_entropy = _entropy(masses)
        source, action, child = (np.array([edge[k] for edge in layer.edges], np.int64) for k in range(3))
        flow = as_masses(_lowest([edge[3] for edge in layer.edges]))
        history = max(0.0, joint_entropy - _entropy(group_sums(fiber, masses, fibers)))
        result.append(
            Level(
                observation,
                law,
                masses,
                total_of(masses),
                parent,
                arrival,
                paths,
                history,
                mixed,
                source,
                action,
                child,
                flow,
            )
        )
        if len(child):
            wholes = group_sums(source, flow, len(masses))[source]
            joint_entropy += conditional_entropy(flow, wholes, total_of(flow))
            size = len(layers[t + 1].mass)
            first = representatives(child, size)
            parent, arrival = source[first], action[first]
            arriving = paths[source]
            exact = arriving.astype(object) if float(arriving.sum(dtype=float)) >= 2**61 else arriving
            paths = as_masses(group_sums(child, exact, size).tolist())
    return Graph(tuple(result), observations, actions, tuple(laws.table))


def as_tree(graph: Graph, most: int) -> Graph:
    """The tree of all histories of a merged graph, if they are at most so many; else the graph itself."""
    histories = sum(total_of(level.paths) for level in graph.levels)
    return unfold(graph) if sum(level.size for level in graph.levels) < histories <= most else graph


def unfold(graph: Graph) -> Graph:
    """The tree of all histories of a merged graph: one node a history."""
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
    return assemble(levels, graph.observations, graph.actions, Laws(graph.laws))


def _laws_of(shares: list[dict[int, int]], laws: Laws) -> tuple[Ints, dict[int, dict[int, int]]]:
    law: list[int] = []
    mixed: dict[int, dict[int, int]] = {}
    for k, share in enumerate(shares):
        if len(share) > 1:
            mixed[k] = dict(zip(share, _lowest(list(share.values())), strict=True))
        law.append(laws.intern(average(mixed[k], laws.table)) if k in mixed else next(iter(share)))
    return np.array(law, np.int64), mixed


def _entropy(masses: Masses) -> float:
    total = total_of(masses)
    return conditional_entropy(masses, np.full(len(masses), total, masses.dtype), total)


def _law(value: object, where: Callable[[], str]) -> dict[Any, Fraction]:
    """A mapping to exact probabilities; a plain value is certain."""
    if not isinstance(value, Mapping):
        return {value: Fraction(1)}
    return exact_law(value, where)
