"""Compatibility ~, strong equivalence ~s and the J-step relations, by backward refinement on the history graph.

Histories of one level are summarised by *kinds*: twins of the conflict graph, that is, histories of one observation
with the same incompatible partners. Where ~ is transitive the kinds are exactly the classes Γ_t, and any two kinds of
one observation conflict. Where it is not, the conflicting pairs of the (observation, law) groups concerned are listed.
A transitive closure is never taken.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from certify.core.clashes import clashes, within
from certify.core.exact import Ints, fold, pair, rank, representatives
from certify.core.graph import Graph, Level

PAIR_LIMIT = 20_000_000  # pairs of kinds compared at one step before the step is left as a bracket
_SAMPLES = 16

Matrix = NDArray[np.bool_]
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Relation:
    """~_t on one level."""

    kind: Ints  # of each node; kinds are numbered group by group
    group: Ints  # of each kind: histories with equal observation and law
    start: Ints  # of each group: its first kind
    loose: Ints = field(
        default_factory=lambda: _NONE
    )  # groups without classes, ascending; in all others any two conflict
    clash: Ints = field(default_factory=lambda: _NONE)  # of the loose groups: conflicts a·kinds + b, ascending
    decided: bool = True  # False past the pair limit: known conflicts are real, further ones may be missing
    triple: tuple[int, int, int] | None = None  # nodes a ~ b ~ c with a, c in conflict

    @property
    def transitive(self) -> bool:
        return self.decided and not len(self.loose)

    @property
    def kinds(self) -> int:
        return len(self.group)

    def conflicting(self, first: Ints, second: Ints) -> NDArray[np.bool_]:
        """Which pairs of kinds conflict, each pair of one observation."""
        apart = first != second
        if not len(self.loose):
            return apart
        same = np.flatnonzero((self.group[first] == self.group[second]) & within(self.group[first], self.loose))
        apart[same] = within(first[same] * self.kinds + second[same], self.clash)
        return apart

    def conflict_matrix(self, kinds: Ints) -> Matrix:
        """Which of these kinds of one observation conflict."""
        count = len(kinds)
        return self.conflicting(np.repeat(kinds, count), np.tile(kinds, count)).reshape(count, count)

    @cached_property
    def conflicts(self) -> dict[int, Matrix]:
        """The loose groups, each with the matrix of its kinds."""
        sizes = np.diff(np.r_[self.start, self.kinds])
        matrices = {int(g): np.zeros((sizes[g], sizes[g]), bool) for g in self.loose}
        first, second = self.clash // max(1, self.kinds), self.clash % max(1, self.kinds)
        for block in blocks(self.group[first]):
            g = int(self.group[first[block[0]]])
            matrices[g][first[block] - self.start[g], second[block] - self.start[g]] = True
        return matrices

    def in_conflict(self, first: int, second: int) -> bool:
        """Whether two nodes of one observation are incompatible."""
        return bool(self.conflicting(self.kind[[first]], self.kind[[second]])[0])


def compatibility(graph: Graph, pair_limit: int = PAIR_LIMIT) -> list[Relation]:
    """~_t at every level: equal observation and law, and compatible after every common continuation."""
    return list(backwards(graph, pair_limit))[::-1]


def backwards(graph: Graph, pair_limit: int = PAIR_LIMIT) -> Iterator[Relation]:
    """~_t from the last level to the first."""
    relation = instantaneous(graph.levels[-1])
    yield relation
    for t in range(graph.horizon - 2, -1, -1):
        relation = refined(graph, t, relation, pair_limit)
        yield relation


def strong_classes(graph: Graph) -> list[Ints]:
    """Γˢ_t at every level: equal observation, law and continuation support, and recursively so."""
    return future_classes(graph, lambda level: level.group[0])


def future_classes(graph: Graph, now: Callable[[Level], Ints]) -> list[Ints]:
    """Histories of each level by what `now` says of them, continuations and, recursively, what follows them."""
    classes = [now(graph.levels[-1])]
    for t in range(graph.horizon - 2, -1, -1):
        level = graph.levels[t]
        token = pair(graph.continuation(t), classes[-1][level.child])
        classes.append(fold(now(level), level.source, token)[0])
    return classes[::-1]


def settled(relation: Relation, strong: Ints) -> Relation:
    """A step past the pair limit is decided all the same where the strong classes leave no room: ~ lies in between."""
    if relation.decided or len(relation.loose) or int(strong.max()) + 1 != relation.kinds:
        return relation
    return replace(relation, decided=True)


def support_classes(graph: Graph, t: int) -> Ints:
    """Nodes by (observation, law, continuation support U_t); level T has no continuation."""
    level = graph.levels[t]
    if t + 1 == graph.horizon:
        return level.group[0]
    return fold(level.group[0], level.source, graph.continuation(t))[0]


def instantaneous(level: Level) -> Relation:
    group, count = level.group
    return Relation(group, np.arange(count), np.arange(count))


def refined(graph: Graph, t: int, after: Relation, pair_limit: int) -> Relation:
    """One backward step: histories conflict when a common continuation leads to conflicting successors."""
    level = graph.levels[t]
    group, groups = level.group
    source, word, kind = level.source, graph.continuation(t), after.kind[level.child]
    telling = _telling(pair(group[source], word), kind)
    source, word, kind = source[telling], word[telling], kind[telling]
    signature, signatures = fold(group, source, pair(word, kind))
    domain, domains = fold(group, source, word)
    # signatures that share a domain conflict wherever they differ, if the successors do
    hard = np.bincount(group[representatives(domain, domains)], minlength=groups) > 1
    hard[group[source[within(after.group[kind], after.loose)]]] = True
    if not hard.any():
        return _numbered(group, signature, signatures, hard, _NONE, _NONE, after.decided)
    node_of = representatives(signature, signatures)  # one node a signature is enough
    chosen = np.flatnonzero(hard[group[source]] & (node_of[signature[source]] == source))
    edges = signature[source[chosen]], word[chosen], kind[chosen]
    context, _ = rank(pair(group[source[chosen]], edges[1]))
    met = clashes(context, edges[2], edges[0], after.group, after.loose, after.clash, after.conflicting, pair_limit)
    if met is None:
        return _give_up(group, signature, hard, edges, node_of, after)
    clash = np.unique(met[0] * signatures + met[1])
    first, second = clash // signatures, clash % signatures
    # twins: signatures of one hard group with the same list of conflicts
    base = np.where(hard[group[node_of]], group[node_of], groups + np.arange(signatures))
    twin, twins = fold(base, first, second)
    sizes = np.bincount(group[node_of[representatives(twin, twins)]], minlength=groups)[hard]
    if len(sizes) and int(sizes.max()) ** 2 > pair_limit:  # a conflict graph that could not be coloured either
        return _give_up(group, signature, hard, edges, node_of, after)
    return _numbered(group, twin[signature], twins, hard, twin[first], twin[second], after.decided)


def _telling(context: Ints, kind: Ints) -> NDArray[np.bool_]:
    """Edges whose (group, continuation) leads to several kinds; the others separate no histories."""
    label, count = rank(context)
    seen = kind[representatives(label, count)]
    several = np.zeros(count, bool)
    several[label[kind != seen[label]]] = True
    return several[label]


def blocks(keys: Ints) -> list[Ints]:
    """Index sets of equal keys, in the order of the keys."""
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if len(keys) else []


def _numbered(
    group: Ints, kinds: Ints, count: int, hard: NDArray[np.bool_], first: Ints, second: Ints, decided: bool
) -> Relation:
    """Number kinds group by group, and keep the conflicts of the hard groups where not every two kinds conflict."""
    group_of = group[representatives(kinds, count)]
    order = np.argsort(group_of, kind="stable")
    position = np.empty(count, np.int64)
    position[order] = np.arange(count)
    start = np.searchsorted(group_of[order], np.arange(len(hard)))
    clash = np.unique(position[first] * count + position[second])
    sizes = np.bincount(group_of, minlength=len(hard))
    conflicts = np.bincount(group_of[order][clash // count], minlength=len(hard))
    loose = np.flatnonzero(hard & (conflicts < sizes * (sizes - 1)))
    clash = clash[within(group_of[order][clash // count], loose)]
    relation = Relation(position[kinds], group_of[order], start, loose, clash, decided)
    return replace(relation, triple=_find_triple(relation)) if len(loose) and decided else relation


def _find_triple(relation: Relation) -> tuple[int, int, int]:
    """Three nodes a ~ b ~ c with a and c in conflict."""
    g = int(relation.loose[0])
    begin, end = np.searchsorted(relation.group, [g, g + 1])
    members = np.arange(begin, end)
    matrix = relation.conflict_matrix(members)
    node_of = representatives(relation.kind, relation.kinds)
    for b in range(len(matrix)):
        friends = np.flatnonzero(~matrix[b])
        inside = np.argwhere(matrix[np.ix_(friends, friends)])
        if len(inside):
            a, c = sorted(node_of[members[friends[inside[0]]]].tolist())
            return a, int(node_of[members[b]]), c
    raise AssertionError("a conflict graph that is not complete has such a triple")


def _give_up(
    group: Ints,
    signature: Ints,
    hard: NDArray[np.bool_],
    edges: tuple[Ints, Ints, Ints],
    node_of: Ints,
    after: Relation,
) -> Relation:
    """Past the pair limit: merge each hard group (fewer conflicts, so still a lower bound) and look for a triple."""
    merged, count = rank(np.where(hard[group], group, int(group.max()) + 1 + signature))
    triple = _sample_triple(group, hard, edges, node_of, after) if after.decided else None
    relation = _numbered(group, merged, count, np.zeros_like(hard), _NONE, _NONE, False)
    return replace(relation, triple=triple)


def _sample_triple(
    group: Ints, hard: NDArray[np.bool_], edges: tuple[Ints, Ints, Ints], node_of: Ints, after: Relation
) -> tuple[int, int, int] | None:
    """Try a few histories b: do two of its compatible partners conflict with each other?"""
    if len(after.loose):
        return None
    sig, word, kind = edges
    owner = group[node_of[sig]]
    inside = np.flatnonzero(hard[group[node_of]])
    free = np.setdiff1d(inside, sig)  # compatible with all of their group, so the best to try
    for b in [*free[:_SAMPLES], *inside[:: max(1, len(inside) // _SAMPLES)][:_SAMPLES]]:
        here = owner == group[node_of[b]]
        s, w, k = sig[here], word[here], kind[here]
        own = dict(zip(w[s == b].tolist(), k[s == b].tolist(), strict=True))
        wanted = np.array([own.get(x, -1) for x in w.tolist()])
        enemies = np.unique(s[(wanted >= 0) & (wanted != k)])
        friend = ~np.isin(s, enemies) & (s != b)
        s, w, k = s[friend], w[friend], k[friend]
        if not len(w):
            continue
        label, count = rank(w)
        seen = representatives(label, count)
        other = np.flatnonzero(k != k[seen[label]])
        if len(other):
            return int(node_of[s[seen[label[other[0]]]]]), int(node_of[b]), int(node_of[s[other[0]]])
    return None
