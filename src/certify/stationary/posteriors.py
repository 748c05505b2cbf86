"""Exact posteriors: the observer of an expert that knows more than a history tells, where finitely many are reached."""

import math
from collections import deque
from collections.abc import Sequence
from fractions import Fraction

from certify.core.graph import Law
from certify.stationary.observer import Observer, Search, TooMany
from certify.stationary.process import Process

Vector = tuple[tuple[int, int], ...]  # (state, weight), coprime positive integers: a posterior up to its scale
MOST_POSTERIORS = 20_000
MOST_BITS = 4_000  # of one weight
MOST_PRODUCTS = 20_000_000  # of weights in one search; long ones count as several
_MOST_REDUCED = 120  # states up to which the linear reduction is worth its cost


def blocks(process: Process) -> list[int]:
    """Of each state its block: states that show, act and lead to the same, with equal probabilities, are in one."""
    numbers: dict[object, int] = {}
    block = [numbers.setdefault(key, len(numbers)) for key in zip(process.observation, process.law, strict=True)]
    count = 0
    while len(numbers) > count:
        count, numbers = len(numbers), {}
        signatures = []
        for x, moves in enumerate(process.moves):
            sums = tuple((a, _sums(row, block)) for a, row in sorted(moves.items()))
            signatures.append((block[x], sums))
        block = [numbers.setdefault(key, len(numbers)) for key in signatures]
    return block


def lump(process: Process) -> Process:
    """The process with one state for each block."""
    block = blocks(process)
    first = [block.index(k) for k in range(max(block) + 1)]
    moves = tuple({a: _sums(row, block) for a, row in process.moves[x].items()} for x in first)
    return Process(
        process.observations,
        process.actions,
        tuple(process.observation[x] for x in first),
        tuple(process.law[x] for x in first),
        moves,
        _sums(process.start, block),
        process.name,
    )


def whole_columns(process: Process) -> list[list[int]]:
    """Columns on all states that decide what a posterior predicts: as `posterior_observer` tells posteriors apart."""
    block, small = blocks(process), lump(process)
    if small.size > _MOST_REDUCED:
        return [[int(own == k) for own in block] for k in range(small.size)]
    return [[column[k] for k in block] for column in predictive_columns(Steps(small))]


def _sums(row: Sequence[tuple[int, Fraction]], block: list[int]) -> tuple[tuple[int, Fraction], ...]:
    sums: dict[int, Fraction] = {}
    for x, p in row:
        sums[block[x]] = sums.get(block[x], Fraction(0)) + p
    return tuple(sorted(sums.items()))


def mixture(process: Process, vector: Vector) -> Law:
    """P(A | H): the laws of the hidden states, weighted by the posterior."""
    whole = sum(w for _, w in vector)
    total: dict[int, Fraction] = {}
    for x, w in vector:
        for action, p in process.law[x]:
            total[action] = total.get(action, Fraction(0)) + p * w / whole
    return tuple(sorted(total.items()))


class Steps:
    """How labels move posteriors, with integer weights; raises `TooMany` beyond `work` products."""

    def __init__(self, process: Process, work: float = math.inf) -> None:
        entries: list[list[tuple[int, int, Fraction]]] = []
        for law, moves in zip(process.law, process.moves, strict=True):
            row = [(process.label(a, process.observation[y]), y, p * q) for a, p in law for y, q in moves.get(a, ())]
            entries.append(row)
        scale = math.lcm(*(p.denominator for row in entries for *_, p in row))
        self.rows = [[(u, y, int(p * scale)) for u, y, p in row] for row in entries]
        self.process, self.work, self.left = process, work, work

    def starts(self) -> dict[int, Vector]:
        """The posterior after each first observation."""
        scale = math.lcm(*(p.denominator for _, p in self.process.start))
        weights: dict[int, dict[int, int]] = {}
        for x, p in self.process.start:
            weights.setdefault(self.process.observation[x], {})[x] = int(p * scale)
        return {o: coprime(w) for o, w in weights.items()}

    def after(self, vector: Vector) -> dict[int, Vector]:
        """The posterior after each label that can follow."""
        weights: dict[int, dict[int, int]] = {}
        self.spend(sum(len(self.rows[x]) for x, _ in vector), vector)
        for x, w in vector:
            for u, y, p in self.rows[x]:
                row = weights.setdefault(u, {})
                row[y] = row.get(y, 0) + w * p
        return {u: coprime(w) for u, w in weights.items()}

    def spend(self, products: int, vector: Vector) -> None:
        self.left -= products * (1 + vector[0][1].bit_length() // 500)
        if self.left < 0:
            raise TooMany(f"more than {self.work:,} products of weights are needed")


def coprime(weights: dict[int, int]) -> Vector:
    """Weights divided by what they have in common, by state."""
    common = math.gcd(*weights.values())
    if max(weights.values()).bit_length() - common.bit_length() > MOST_BITS:
        raise TooMany(f"posteriors need weights of more than {MOST_BITS:,} bits")
    return tuple(sorted((x, w // common) for x, w in weights.items()))


def posterior_observer(process: Process, most: int = MOST_POSTERIORS, work: float = MOST_PRODUCTS) -> Observer:
    """Nodes are exact posteriors, distinguished only by what they predict; a lumped process is as good, and cheaper.

    Raises `TooMany` beyond `most` nodes or `work` products.
    """
    steps = Steps(process, work)
    columns = predictive_columns(steps) if process.size <= _MOST_REDUCED else None

    def key(vector: Vector) -> tuple[object, ...]:
        shown = process.observation[vector[0][0]]
        if columns is None:
            return shown, vector
        steps.spend(len(vector) * len(columns), vector)
        values = [sum(w * column[x] for x, w in vector) for column in columns]
        common = math.gcd(*values) or 1
        return shown, *(value // common for value in values)

    search = Search(process, "posterior", key, lambda vector: mixture(process, vector), steps.after, most)
    return search.run(steps.starts())


def predictive_columns(steps: Steps) -> list[list[int]]:
    """Integer columns that span {M_w f}, f = 1 or the probability of an action, M_w the step of a word.

    Two posteriors of one observation with proportional values on them have the same law after every word, and the same
    words: the smallest weighted automaton over the rationals that predicts what the expert does.
    """
    process = steps.process
    roots = [[1] * process.size]
    for action in range(len(process.actions)):
        column = [dict(law).get(action, Fraction(0)) for law in process.law]
        scale = math.lcm(*(p.denominator for p in column))
        roots.append([int(p * scale) for p in column])
    labels = sorted({u for row in steps.rows for u, _, _ in row})
    basis: dict[int, list[Fraction]] = {}  # pivot → row in reduced form
    kept: list[list[int]] = []
    waiting = deque(roots)
    while waiting:
        column = waiting.popleft()
        if not _independent(basis, column):
            continue
        common = math.gcd(*column)
        kept.append([value // common for value in column])
        for label in labels:
            waiting.append([sum(p * kept[-1][y] for u, y, p in row if u == label) for row in steps.rows])
    return kept


def _independent(basis: dict[int, list[Fraction]], column: list[int]) -> bool:
    """Whether a column is not in the span; if so, it joins the basis."""
    row = [Fraction(value) for value in column]
    for pivot, other in basis.items():
        if row[pivot]:
            factor = row[pivot]
            row = [x - factor * y for x, y in zip(row, other, strict=True)]
    pivot = next((k for k, value in enumerate(row) if value), None)
    if pivot is None:
        return False
    lead = row[pivot]
    basis[pivot] = [value / lead for value in row]
    return True
