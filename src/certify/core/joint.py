"""The best single machine under one objective, exactly where it fits and with a proved bracket beyond."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from certify.core.assignments import Cells, Tree, construct, labels, verify
from certify.core.colouring import Budget
from certify.core.exact import Ints
from certify.core.floors import Floor, exact_rate
from certify.core.graph import Graph
from certify.core.logs import LogSum
from certify.core.merged import as_tree
from certify.core.rates import conditional_rate
from certify.core.relations import Relation, compatibility, strong_classes

Objective = Literal["sum", "peak", "lexicographic"]
Value = tuple[LogSum, ...]  # compared from the left, exactly
_DOUBT = 1e-9  # floats further apart than this need no exact comparison


@dataclass(frozen=True)
class JointLimits:
    """Work of the exact search before the constructed machine and the floor are returned as a bracket."""

    histories: int = 20_000  # of one level, or of all together once unfolded; as bitmasks they cost their square
    partitions: int = 50_000
    seconds: float = 20.0


@dataclass(frozen=True)
class Joint:
    """One machine: its cells, what it costs, and what is known of the best one."""

    graph: Graph  # the graph that `cells` label: the model's own, or its unfolded tree
    cells: list[Ints]
    rates: tuple[float, ...]  # H(P_t | O_t) of this machine
    bracket: tuple[float, float]  # of the objective (of its first component when lexicographic)
    optimal: bool  # proved best under the objective
    simultaneous: bool | None  # whether some machine attains every floor; None: undecided
    work: int = 0  # partitions that the exact search looked at


@dataclass(frozen=True)
class _Goal:
    """An objective on the vector of rates; monotone in each of them, so floors give bounds."""

    objective: Objective
    weights: tuple[Fraction, ...]

    def value(self, rates: Sequence[LogSum]) -> Value:
        """Of the last steps, as many as there are rates."""
        if self.objective == "sum":
            weights = self.weights[len(self.weights) - len(rates) :]
            return (sum((rate * w for rate, w in zip(rates, weights, strict=True)), LogSum()),)
        return (max(rates),) if self.objective == "peak" else tuple(rates)

    def rough(self, rates: Sequence[float]) -> float:
        """The first component in floats."""
        if self.objective == "sum":
            weights = self.weights[len(self.weights) - len(rates) :]
            return sum(rate * float(w) for rate, w in zip(rates, weights, strict=True))
        return max(rates) if self.objective == "peak" else rates[0]


def best_machine(
    graph: Graph,
    relations: list[Relation],
    floors: Sequence[Floor],
    objective: Objective = "sum",
    step_weights: Sequence[Fraction | int] | None = None,
    limits: JointLimits | None = None,
) -> Joint:
    """Minimise Σ_t w_t·H(P_t|O_t) (`sum`), the largest of them (`peak`), or each in order of time (`lexicographic`)."""
    limits = limits or JointLimits()
    goal = _Goal(objective, tuple(map(Fraction, step_weights or [1] * graph.horizon)))
    if len(goal.weights) != graph.horizon or min(goal.weights) < 0:
        raise ValueError(f"expected {graph.horizon} non-negative step weights")
    if all(relation.transitive for relation in relations):
        rates = tuple(floor.upper for floor in floors)
        value = goal.rough(rates)
        return Joint(graph, [r.kind for r in relations], rates, (value, value), True, True)
    low = goal.rough([floor.lower for floor in floors])
    small = max(level.size for level in graph.levels) <= limits.histories
    targets = [exact_rate(x, f.cells) for x, f in zip(graph.levels, floors, strict=True)] if small else []
    proved = all(floor.proved for floor in floors)
    if (unfolded := as_tree(graph, limits.histories)) is not graph:
        graph, relations = unfolded, compatibility(unfolded)
    tree = all(np.all(level.paths == 1) for level in graph.levels)
    if not (small and tree and all(relation.decided for relation in relations)):
        return _strong_machine(graph, goal, low)
    search = _Search(Tree.of(graph, relations), goal, targets, limits)
    constructed = search.constructed()
    if constructed is None:
        return _strong_machine(graph, goal, low)
    rates, assignment = constructed
    attained = proved and rates == targets
    optimal = attained or (proved and goal.value(rates) == goal.value(targets))
    simultaneous = True if attained else None
    if proved and not attained and (exact := search.run()) is not None:
        if not optimal:
            rates, assignment = exact
        optimal = True
        if objective == "lexicographic" or (objective == "sum" and min(goal.weights) > 0):
            simultaneous = rates == targets  # no machine beats a floor, so the best one attains all or none does
    cells = labels(search.tree, assignment)
    assert verify(graph, cells) is None, "a constructed machine must pass the verifier"
    bits = tuple(conditional_rate(level, label) for level, label in zip(graph.levels, cells, strict=True))
    high = goal.rough(bits)
    return Joint(graph, cells, bits, (high if optimal else min(low, high), high), optimal, simultaneous, search.work)


def _strong_machine(graph: Graph, goal: _Goal, low: float) -> Joint:
    """Too large to search: the strong classes are a machine on any graph, the floors a bound."""
    cells = strong_classes(graph)
    rates = tuple(conditional_rate(level, label) for level, label in zip(graph.levels, cells, strict=True))
    return Joint(graph, cells, rates, (low, goal.rough(rates)), False, None)


class _Search:
    """Best continuation of a partition, level by level: what follows depends only on the units that it forces."""

    def __init__(self, tree: Tree, goal: _Goal, targets: list[LogSum], limits: JointLimits) -> None:
        self.tree, self.goal, self.targets, self.limits = tree, goal, targets, limits
        self.rough_targets = [target.bits for target in targets]
        self.solved: dict[tuple[int, frozenset[int]], tuple[list[LogSum], list[Cells]]] = {}
        self.rate_of: dict[tuple[int, tuple[int, ...]], tuple[LogSum, float]] = {}
        self.fibers = [self._fiber_term(t) for t in range(tree.horizon)]
        self.work, self.budget = 0, Budget(limits.seconds)

    def constructed(self) -> tuple[list[LogSum], list[Cells]] | None:
        """The best of the constructed assignments, or None if not even one was finished in time."""
        best: tuple[list[LogSum], list[Cells]] | None = None
        with contextlib.suppress(TimeoutError):
            for cells in construct(self.tree, self.budget):
                rates = [self.rate(t, level)[0] for t, level in enumerate(cells)]
                if best is None or self.goal.value(rates) < self.goal.value(best[0]):
                    best = rates, cells
                if rates == self.targets:
                    break
        return best

    def run(self) -> tuple[list[LogSum], list[Cells]] | None:
        """The best assignment of all, or None at the limit."""
        try:
            return self._best(0, self.tree.singletons(0))
        except TimeoutError:
            return None

    def rate(self, t: int, cells: Cells) -> tuple[LogSum, float]:
        """H(P_t | O_t), exact and in floats."""
        key = (t, tuple(sorted(self.tree.weight(t, cell) for cell in cells)))
        if key not in self.rate_of:
            exact = self.fibers[t] - LogSum.of([(Fraction(m, self.tree.total[t]), m) for m in key[1]])
            self.rate_of[key] = (exact, exact.bits)
        return self.rate_of[key]

    def _fiber_term(self, t: int) -> LogSum:
        sums: dict[int, int] = {}
        for observation, mass in zip(self.tree.observation[t], self.tree.mass[t], strict=True):
            sums[observation] = sums.get(observation, 0) + mass
        return LogSum.of([(Fraction(m, self.tree.total[t]), m) for m in sums.values()])

    def _best(self, t: int, units: Cells) -> tuple[list[LogSum], list[Cells]]:
        if t == self.tree.horizon:
            return [], []
        key = (t, frozenset(units))
        if key in self.solved:
            return self.solved[key]
        best: tuple[list[LogSum], list[Cells]] | None = None
        value, rough = self.goal.value(self.targets[t:]), 0.0
        least = value
        for cells in self._partitions(t, units):
            rate, near = self.rate(t, cells)
            if best is not None:
                bound = self.goal.rough([near, *self.rough_targets[t + 1 :]])
                if bound > rough + _DOUBT:
                    continue
                if bound > rough - _DOUBT and not self.goal.value([rate, *self.targets[t + 1 :]]) < value:
                    continue
            rates, rest = self._best(t + 1, self.tree.forced(t, cells))
            candidate = self.goal.value([rate, *rates])
            if best is None or candidate < value:
                best, value, rough = ([rate, *rates], [cells, *rest]), candidate, candidate[0].bits
                if value == least:
                    break
        assert best is not None
        self.solved[key] = best
        return best

    def _partitions(self, t: int, units: Cells) -> Iterator[Cells]:
        """Every way to join units into compatible cells, more joined ones first."""
        friends = {unit: self.tree.unit_friends(t, unit) for unit in units}

        def assign(k: int, cells: list[tuple[int, int]]) -> Iterator[Cells]:
            if k == len(units):
                self.work += 1
                if self.work > self.limits.partitions or self.budget.spent:
                    raise TimeoutError
                yield [cell for cell, _ in cells]
                return
            unit = units[k]
            for j, (cell, common) in enumerate(cells):
                if not unit & ~common:
                    cells[j] = (cell | unit, common & friends[unit])
                    yield from assign(k + 1, cells)
                    cells[j] = (cell, common)
            cells.append((unit, friends[unit]))
            yield from assign(k + 1, cells)
            cells.pop()

        yield from assign(0, [])
