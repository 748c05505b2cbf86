"""The Markov chain of (hidden state, memory), exactly: recurrent classes, long-run means, expected visits."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from certify.stationary.process import Process

MOST_WORK = 1_500_000  # multiplications of fractions in one elimination; long ones count as several
Rows = list[dict[int, Fraction]]


class TooMuchWork(Exception):
    """An exact solution would cost more than the limit allows."""


@dataclass(frozen=True)
class Chain:
    """States with a label each, the law of the first one, and exact transition probabilities."""

    start: list[Fraction]
    rows: Rows
    label: list[int]

    @property
    def size(self) -> int:
        return len(self.rows)

    def step(self, law: Sequence[Fraction]) -> list[Fraction]:
        """The law one step later."""
        after = [Fraction(0)] * self.size
        for p, row in zip(law, self.rows, strict=True):
            if p:
                for j, q in row.items():
                    after[j] += p * q
        return after

    def clocked(self, period: int) -> Chain:
        """The chain beside a clock modulo `period`; a label is (label, phase) as one integer."""
        n = self.size
        rows = [{j + n * ((k + 1) % period): p for j, p in row.items()} for k in range(period) for row in self.rows]
        label = [x * period + k for k in range(period) for x in self.label]
        return Chain(self.start + [Fraction(0)] * (n * (period - 1)), rows, label)


@dataclass(frozen=True)
class Pairs:
    """The pairs (hidden state, code) that can occur, and their chain."""

    pairs: list[tuple[int, int]]
    chain: Chain


def pairs_chain(
    process: Process, first: Mapping[int, int], moves: Mapping[tuple[int, int], int], restart: bool = True
) -> Pairs:
    """The chain of (hidden state, code) for a memory with `first` codes by observation and `moves` by (code, label).

    An episode that ends starts again, memory and all; without `restart` it leaves the chain.
    """
    numbers: dict[tuple[int, int], int] = {}
    pairs: list[tuple[int, int]] = []

    def number(pair: tuple[int, int]) -> int:
        if pair not in numbers:
            numbers[pair] = len(pairs)
            pairs.append(pair)
        return numbers[pair]

    begin = {number((x, first[process.observation[x]])): p for x, p in process.start}
    rows: Rows = []
    while len(rows) < len(pairs):
        x, code = pairs[len(rows)]
        row: dict[int, Fraction] = {}
        for action, p in process.law[x]:
            following = process.moves[x].get(action)
            if restart and not following:
                for j, q in begin.items():
                    row[j] = row.get(j, Fraction(0)) + p * q
            for y, q in following or ():
                j = number((y, moves[code, process.label(action, process.observation[y])]))
                share = q if p == 1 else p * q
                row[j] = row[j] + share if j in row else share
        rows.append(row)
    start = [begin.get(k, Fraction(0)) for k in range(len(pairs))]
    return Pairs(pairs, Chain(start, rows, [code for _, code in pairs]))


def lump(chain: Chain) -> Chain:
    """States of one label from which the same follows with equal probabilities, as one."""
    scale = math.lcm(*(p.denominator for row in chain.rows for p in row.values()))
    whole = [{j: p.numerator * (scale // p.denominator) for j, p in row.items()} for row in chain.rows]
    block, count = _ranked(chain.label)
    while True:
        finer, parts = _ranked([(block[i], _block_law(row, block)) for i, row in enumerate(whole)])
        if parts == count:
            break
        block, count = finer, parts
    first: dict[int, int] = {}
    for i, k in enumerate(block):
        first.setdefault(k, i)
    start = [Fraction(0)] * count
    for i, p in enumerate(chain.start):
        if p:
            start[block[i]] += p
    rows = [{j: Fraction(w, scale) for j, w in _block_law(whole[first[k]], block)} for k in range(count)]
    return Chain(start, rows, [chain.label[first[k]] for k in range(count)])


def _ranked(keys: Sequence[object]) -> tuple[list[int], int]:
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys], len(numbers)


def _block_law(row: Mapping[int, int], block: list[int]) -> tuple[tuple[int, int], ...]:
    sums: dict[int, int] = {}
    for j, w in row.items():
        sums[block[j]] = sums.get(block[j], 0) + w
    return tuple(sorted(sums.items()))


def components(rows: Sequence[Mapping[int, Fraction]]) -> list[list[int]]:
    """Strongly connected components, each after those that it leads to (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    open_states: set[int] = set()
    result: list[list[int]] = []
    for root in range(len(rows)):
        if root in index:
            continue
        work = [(root, iter(rows[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        open_states.add(root)
        while work:
            i, successors = work[-1]
            j = next(successors, None)
            if j is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[i])
                if low[i] == index[i]:
                    part = [stack.pop()]
                    while part[-1] != i:
                        part.append(stack.pop())
                    open_states -= set(part)
                    result.append(sorted(part))
            elif j not in index:
                index[j] = low[j] = len(index)
                stack.append(j)
                open_states.add(j)
                work.append((j, iter(rows[j])))
            elif j in open_states:
                low[i] = min(low[i], index[j])
    return result


def recurrent_classes(rows: Sequence[Mapping[int, Fraction]]) -> list[list[int]]:
    """Components that are never left."""
    parts = components(rows)
    home = {i: k for k, part in enumerate(parts) for i in part}
    return sorted(part for k, part in enumerate(parts) if all(home[j] == k for i in part for j in rows[i]))


def period(rows: Sequence[Mapping[int, Fraction]], members: list[int]) -> int:
    """The greatest common divisor of the lengths of all cycles of a recurrent class."""
    depth = {members[0]: 0}
    waiting = [members[0]]
    result = 0
    for i in waiting:
        for j in rows[i]:
            if j not in depth:
                depth[j] = depth[i] + 1
                waiting.append(j)
            result = math.gcd(result, depth[i] + 1 - depth[j])
    return result


def visits(
    rows: Rows, right: Mapping[int, Fraction], members: Sequence[int], most: int = MOST_WORK
) -> dict[int, Fraction]:
    """The solution y of y = right + yP on `members`, which the chain leaves for ever or with a pinned state.

    State by state elimination: the chain that is watched only outside the states that were eliminated. Raises
    `TooMuchWork` beyond `most` products; long fractions count as several.
    """
    inside = set(members)
    out = {i: {j: p for j, p in rows[i].items() if j in inside} for i in members}
    into: dict[int, set[int]] = {i: set() for i in members}
    for i, row in out.items():
        for j in row:
            into[j].add(i)
    value = {i: right.get(i, Fraction(0)) for i in members}
    order: list[tuple[int, dict[int, Fraction], Fraction]] = []
    work = 0
    queue = [(len(into[i]) * len(out[i]), i) for i in members]
    heapq.heapify(queue)
    while queue:
        price, i = heapq.heappop(queue)
        if i not in out:
            continue
        if price < (now := len(into[i]) * len(out[i])):  # it became dearer since it was queued
            heapq.heappush(queue, (now, i))
            continue
        row, stay = out.pop(i), Fraction(1)
        if i in row:
            stay -= row.pop(i)
            into[i].discard(i)
        for j in row:
            into[j].discard(i)
        scaled = {j: p / stay for j, p in row.items()}
        sources = {k: out[k].pop(i) for k in into.pop(i)}
        work += (len(sources) + 1) * (len(scaled) + 1) * (1 + stay.denominator.bit_length() // 500)
        if work > most:
            raise TooMuchWork(f"more than {most:,} products of fractions")
        for k, p in sources.items():
            for j, q in scaled.items():
                out[k][j] = out[k].get(j, Fraction(0)) + p * q
                into[j].add(k)
        for j, q in scaled.items():
            value[j] += value[i] * q
            heapq.heappush(queue, (len(into[j]) * len(out[j]), j))
        order.append((i, sources, stay))
    return _substitute(order, value)


def _substitute(
    order: list[tuple[int, dict[int, Fraction], Fraction]], value: dict[int, Fraction]
) -> dict[int, Fraction]:
    """y_i = (right_i + Σ y_k p_ki) / (1 − p_ii) with the numbers at the time of elimination, last to first."""
    result: dict[int, Fraction] = {}
    for i, sources, stay in reversed(order):
        result[i] = (value[i] + sum((result[k] * p for k, p in sources.items()), Fraction(0))) / stay
    return result
