"""Why: concrete histories that violate an assumption, and the continuation that separates two histories."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

import numpy as np

from certify.core.graph import Graph
from certify.core.relations import Relation, support_classes
from certify.errors import inert

Word = tuple[tuple[int, int], ...]  # (action, next observation) pairs
_WIDE = 160  # letters of a history that is written out


@dataclass(frozen=True)
class Witness:
    """One concrete violation at step `t` (counted from 1), readable as text."""

    claim: str  # "A2", "A4" or "transitive"
    t: int
    histories: tuple[str, ...]
    text: str


def history_text(graph: Graph, t: int, node: int) -> str:
    """A history in one line: ``cue0 -wait-> hall -wait-> fork``."""
    words = [inert(word) for word in graph.history(t, node, short=True)]
    return words[0] + _steps(list(zip(words[1::2], words[2::2], strict=True)))


def word_text(graph: Graph, word: Word) -> str:
    """A continuation in one line."""
    steps = [(inert(graph.actions[a]), inert(graph.label(o))) for a, o in word]
    return _steps(steps).strip() or "the present"


def _steps(pairs: list[tuple[str, str]]) -> str:
    """Actions and what is seen after them; where that is long, equal steps one after the other are counted."""
    steps = [f" -{a}-> {o}" for a, o in pairs]
    if sum(map(len, steps)) > _WIDE:
        runs = [(step, len(list(same))) for step, same in groupby(steps)]
        steps = [step + f" ×{count}" * (count > 1) for step, count in runs]
    return "".join(steps)


def distinguish(graph: Graph, relations: list[Relation], t: int, first: int, second: int) -> tuple[Word, int, int]:
    """A common continuation after which the expert acts differently, and the two laws there."""
    word: list[tuple[int, int]] = []
    while graph.levels[t].law[first] == graph.levels[t].law[second]:
        ours, theirs = successors(graph, t, first), successors(graph, t, second)
        u = next(u for u in ours if u in theirs and relations[t + 1].in_conflict(ours[u], theirs[u]))
        word.append(u)
        t, first, second = t + 1, ours[u], theirs[u]
    return tuple(word), int(graph.levels[t].law[first]), int(graph.levels[t].law[second])


def successors(graph: Graph, t: int, node: int) -> dict[tuple[int, int], int]:
    """u = (a, o′) → the node it leads to."""
    level = graph.levels[t]
    begin, end = np.searchsorted(level.source, [node, node + 1])
    children = level.child[begin:end]
    observations = graph.levels[t + 1].observation[children] if t + 1 < graph.horizon else children
    return {(int(a), int(o)): int(c) for a, o, c in zip(level.action[begin:end], observations, children, strict=True)}


def a2_witness(graph: Graph, t: int) -> Witness | None:
    """One history whose consistent states act by different laws."""
    mixed = graph.levels[t].mixed
    if not mixed:
        return None
    node, shares = next(iter(mixed.items()))
    whole = sum(shares.values())
    laws = "; ".join(f"({graph.law_text(law)}) with {Fraction(share, whole)}" for law, share in shares.items())
    history = history_text(graph, t, node)
    return Witness("A2", t + 1, (history,), f"after {history} the expert's law is not known: {laws}")


def a4_witness(graph: Graph, t: int) -> Witness | None:
    """Two histories with equal observation and law, one of which has a continuation the other lacks."""
    level = graph.levels[t]
    support = support_classes(graph, t)
    seen: dict[tuple[int, int], int] = {}
    for node, key in enumerate(zip(level.observation.tolist(), level.law.tolist(), strict=True)):
        other = seen.setdefault(key, node)
        if support[other] != support[node]:
            ours, theirs = successors(graph, t, other), successors(graph, t, node)
            u = next(iter(ours.keys() ^ theirs.keys()))
            has, lacks = (other, node) if u in ours else (node, other)
            histories = history_text(graph, t, has), history_text(graph, t, lacks)
            text = f"{histories[0]} can go on with {word_text(graph, (u,))}, {histories[1]} cannot"
            return Witness("A4", t + 1, histories, text)
    return None


def transitivity_witness(graph: Graph, relations: list[Relation], t: int) -> Witness | None:
    """Three histories a ~ b ~ c with a and c apart, and the continuation that separates a from c."""
    triple = relations[t].triple
    if triple is None:
        return None
    a, b, c = (history_text(graph, t, node) for node in triple)
    word, law_a, law_c = distinguish(graph, relations, t, triple[0], triple[2])
    text = (
        f"({b}) may share a memory state with ({a}) and with ({c}), but those two may not: after "
        f"{word_text(graph, word)} the expert does {graph.law_text(law_a)} or {graph.law_text(law_c)}"
    )
    return Witness("transitive", t + 1, (a, b, c), text)
