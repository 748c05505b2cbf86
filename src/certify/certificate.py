"""Write certificates: the claims, with evidence for both ends of every rate; docs/certificate.md specifies them."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from certify.answer import Answer
from certify.core.colouring import Limits, minimum_entropy
from certify.core.exact import Ints, Masses, rank, representatives
from certify.core.floors import bitmasks, exact_rate
from certify.core.graph import Graph
from certify.core.logs import LogSum, entropy
from certify.core.partition import members
from certify.core.relations import Matrix, blocks
from certify.errors import UserError

FORMAT = "certify-certificate/1"
# () compares the laws now; (u, k) takes the continuation u and goes on with the k-th word of its observation
Word = tuple[()] | tuple[int, int]
_MOST_CLASSES = 6_000  # strong classes under one observation that are compared pairwise
_MOST_SEARCH = 20_000  # partitions that the checker is asked to search again
_MARGIN, _GRID = Decimal("1e-30"), Decimal("1e-15")


def certificate_json(answer: Answer) -> str:
    """The certificate of an answer, as text."""
    return "".join(certificate_lines(answer))


def certificate_lines(answer: Answer) -> Iterator[str]:
    """Everything that the checker can verify, with its evidence: one line a step, of which one is in memory."""
    graph = answer.model.graph
    ids = history_ids(answer)
    begin: list[int] = []
    tests: Tests | None = None
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as steps:  # from the last to the first
        for t in range(graph.horizon - 1, -1, -1):
            tests = _tests(answer, t, graph.children(t), tests)
            begin.append(steps.tell())
            steps.write(_text(_step(answer, t, ids[t], tests)) + "\n")
        head = {"format": FORMAT, "model_sha256": answer.model.digest, "horizon": graph.horizon}
        yield _text({**head, "observational": answer.observational})[:-1] + ',\n"steps":[\n'
        for t, offset in enumerate(reversed(begin)):
            steps.seek(offset)
            yield steps.readline().removesuffix("\n") + (",\n" if t + 1 < graph.horizon else "]")
    for key, value in _machines(answer, ids).items():
        yield f',\n"{key}":{_text(value)}'
    yield "}\n"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _machines(answer: Answer, ids: list[Ints]) -> dict[str, Any]:
    """What is said of single machines: the best one, and the fewest codes."""
    graph, document = answer.model.graph, dict[str, Any]()
    holds = provable(answer)
    if holds["simultaneous"] or holds["joint_sum"]:
        document["machine"] = [_cells(label, ids[t]) for t, label in enumerate(answer.joint.cells)]
        document["simultaneous"] = answer.simultaneous
        exact = (exact_rate(level, label) for level, label in zip(graph.levels, answer.joint.cells, strict=True))
        document["joint_sum"] = interval(sum(exact, LogSum()))
    codes = {
        kind: {
            "count": answer.codes[kind],
            "labels": [np.array(x)[ids[t].argsort()].tolist() for t, x in enumerate(answer.codes_found.labels[kind])],
            "clique": sorted([t + 1, int(ids[t][node])] for t, node in answer.codes_found.cliques[kind]),
        }
        for kind in answer.codes
        if holds[f"codes.{kind}"]
    }
    return {**document, "codes": codes} if codes else document


def provable(answer: Answer) -> dict[str, bool]:
    """Which claims a certificate carries; the others are a solver's results."""
    joint, codes = answer.joint, answer.codes_found
    own = joint.graph is answer.model.graph and answer.objective == "sum"
    machine = own and answer.certified and joint.optimal
    small = joint.simultaneous is True or (joint.work <= _MOST_SEARCH and joint.simultaneous is False)
    claims = {"rates": answer.certified, "simultaneous": machine and small, "joint_sum": machine and small}
    return claims | {
        f"codes.{kind}": count is not None and len(codes.cliques.get(kind, ())) == count
        for kind, count in answer.codes.items()
    }


def interval(value: LogSum) -> list[str]:
    """The value with 15 decimals, rounded outward by a margin that makes the two ends unambiguous."""
    low, high = value.interval(60)
    with localcontext(prec=80):
        ends = (low - _MARGIN).quantize(_GRID, ROUND_FLOOR), (high + _MARGIN).quantize(_GRID, ROUND_CEILING)
    return [f"{end:f}" for end in ends]


def history_ids(answer: Answer) -> list[Ints]:
    """The checker's number of each node: sorted histories, or the nodes' own order in a merged graph."""
    graph = answer.model.graph
    if answer.model.episodes is None:
        return [np.arange(level.size) for level in graph.levels]
    result: list[Ints] = []
    texts: list[tuple[str, ...]] = []
    for t, level in enumerate(graph.levels):
        seen = [graph.observations[o] for o in level.observation]
        came = zip(level.parent.tolist(), level.arrival.tolist(), seen, strict=True)
        texts = [(*texts[p], graph.actions[a], o) for p, a, o in came] if t else [(o,) for o in seen]
        ids = np.empty(level.size, np.int64)
        ids[sorted(range(level.size), key=texts.__getitem__)] = np.arange(level.size)
        result.append(ids)
    return result


def _cells(label: Ints, ids: Ints) -> list[list[int]]:
    cells: dict[int, list[int]] = {}
    for node, cell in sorted(zip(ids.tolist(), label.tolist(), strict=True)):
        cells.setdefault(cell, []).append(node)
    return list(cells.values())


@dataclass(frozen=True)
class Tests:
    """The words of one step, and the law of every node after each word of its observation (−1: cannot follow it)."""

    words: dict[int, list[Word]]
    outcomes: list[tuple[int, ...]]


def _tests(answer: Answer, t: int, children: list[dict[int, int]], after: Tests | None) -> Tests:
    """Words that separate every two conflicting histories of step t; a longer word goes on with one of step t + 1."""
    graph, relation = answer.model.graph, answer.relations[t]
    level = graph.levels[t]
    words: dict[int, list[Word]] = {}
    outcomes: list[tuple[int, ...]] = [()] * level.size
    for nodes in blocks(level.observation):
        o = int(level.observation[nodes[0]])
        strong, count = rank(answer.strong[t][nodes])
        if count > _MOST_CLASSES:
            raise UserError(
                "--certificate", f"step {t + 1}: {count:,} classes of one observation are too many to write"
            )
        examples = nodes[representatives(strong, count)].tolist()  # strong classes do the same after every word
        pending = relation.conflict_matrix(relation.kind[examples])
        words[o], columns = [], []
        while pending.any():
            a, b = (examples[k] for k in np.unravel_index(int(pending.argmax()), pending.shape))
            word = _word(graph, t, a, b, children, after)
            column = np.array([_outcome(level.law, node, word, children, after) for node in examples])
            pending &= ~_apart(column)
            words[o].append(word)
            columns.append(column)
        vectors = [tuple(int(column[k]) for column in columns) for k in range(count)]
        for node, k in zip(nodes.tolist(), strong.tolist(), strict=True):
            outcomes[node] = vectors[k]
    return Tests(words, outcomes)


def _word(graph: Graph, t: int, a: int, b: int, children: list[dict[int, int]], after: Tests | None) -> Word:
    """One word after which two conflicting histories act differently."""
    if graph.levels[t].law[a] != graph.levels[t].law[b]:
        return ()
    assert after is not None, "at the horizon histories conflict by their laws alone"
    for u, child in children[a].items():
        other = children[b].get(u)
        if other is not None:
            for k, (x, y) in enumerate(zip(after.outcomes[child], after.outcomes[other], strict=True)):
                if -1 != x != y != -1:
                    return u, k
    raise AssertionError("conflicting histories have conflicting successors")


def _outcome(law: Ints, node: int, word: Word, children: list[dict[int, int]], after: Tests | None) -> int:
    """The law after a word, or −1 where the history cannot follow it."""
    if not word or after is None:
        return int(law[node])
    child = children[node].get(word[0])
    return -1 if child is None else after.outcomes[child][word[1]]


def _apart(column: Ints) -> Matrix:
    """Which entries are both reached and differ."""
    reached = column >= 0
    return (column[:, None] != column[None, :]) & reached[:, None] & reached[None, :]


def _step(answer: Answer, t: int, ids: Ints, tests: Tests) -> dict[str, Any]:
    graph, floor = answer.model.graph, answer.floors[t]
    level = graph.levels[t]
    words: dict[str, Any] = {}
    prices: dict[str, Any] = {}
    lower = LogSum()
    for nodes in blocks(level.observation):
        o = int(level.observation[nodes[0]])
        if tests.words[o]:
            words[graph.observations[o]] = [_word_json(graph, word) for word in tests.words[o]]
        bound, paid = _lower(level.mass, nodes[np.argsort(ids[nodes])], tests.outcomes)
        lower += bound * Fraction(sum(map(int, level.mass[nodes])), level.total)
        if paid:
            prices[graph.observations[o]] = paid
    upper = exact_rate(level, floor.cells)
    value = {"rate": interval(upper)} if floor.proved else {"lower": interval(lower), "upper": interval(upper)}
    evidence = {"words": words, "prices": prices} if prices else {"words": words}
    return {"t": t + 1, **value, "cells": _cells(floor.cells, ids), **evidence}


def _word_json(graph: Graph, word: Word) -> list[str | int]:
    if not word:
        return []
    action, seen = divmod(word[0], len(graph.observations))
    return [graph.actions[action], graph.observations[seen], word[1]]


def _lower(mass: Masses, nodes: Ints, outcomes: list[tuple[int, ...]]) -> tuple[LogSum, list[list[str]]]:
    """What the words prove: the entropy bound of a fiber, and the prices of its components of several types."""
    vectors: dict[tuple[int, ...], int] = {}
    for node in nodes.tolist():  # in the order of the checker's numbers
        vectors[outcomes[node]] = vectors.get(outcomes[node], 0) + int(mass[node])
    table = np.array(list(vectors), np.int64).reshape(len(vectors), -1)
    matrix = np.zeros((len(table), len(table)), bool)
    for column in table.T:
        matrix |= _apart(column)
    best = minimum_entropy(list(vectors.values()), bitmasks(matrix), Limits(seconds=10.0))
    masses = list(vectors.values())
    total = sum(masses)
    paid: list[tuple[int, list[str]]] = []
    inside = 0
    bound = LogSum()
    parts: list[int] = []
    for evidence in best.duals:
        order = sorted(range(len(evidence.types)), key=lambda k: evidence.types[k] & -evidence.types[k])
        whole = sum(masses[v] for types in evidence.types for v in members(types))
        first = min(mask & -mask for mask in evidence.types)
        paid.append((first, [str(evidence.prices[k]) for k in order]))
        bound += LogSum.rational(sum(evidence.prices, Fraction(0))) * Fraction(whole, total)
        inside |= sum(evidence.types)
        parts.append(whole)
    parts += [sum(masses[v] for v in members(mask)) for mask in best.classes if not mask & inside]
    return entropy(parts) + bound, [prices for _, prices in sorted(paid)]
