"""Compatibility ~, strong equivalence ~s and the J-step relations, by backward refinement on the history graph.

Histories of one level are summarised by *kinds*: twins of the conflict graph, that is, histories of one observation
with the same incompatible partners. Where ~ is transitive the kinds are exactly the classes Γ_t, and any two kinds of
one observation conflict. Where it is not, a matrix says which kinds of one (observation, law) conflict; a transitive
closure is never taken.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from certify.exact import Ints, fold, pair, rank, representatives
from certify.graph import Graph, Level

PAIR_LIMIT = 100_000_000  # pairs of kinds compared at one step before the step is left as a bracket
_GROUP_COST = 2000  # what looking into one more (observation, law) costs, in pairs
_SAMPLES = 16

Matrix = NDArray[np.bool_]


@dataclass(frozen=True)
class Relation:
    """~_t on one level."""

    kind: Ints  # of each node; kinds are numbered group by group
    group: Ints  # of each kind: histories with equal observation and law
    start: Ints  # of each group: its first kind
    conflicts: dict[int, Matrix] = field(default_factory=dict)  # group → which kinds conflict; absent: any two do
    decided: bool = True  # False past the pair limit: known conflicts are real, further ones may be missing
    triple: tuple[int, int, int] | None = None  # nodes a ~ b ~ c with a, c in conflict

    @property
    def transitive(self) -> bool:
        return self.decided and not self.conflicts

    @property
    def kinds(self) -> int:
        return len(self.group)

    def conflict_matrix(self, kinds: Ints) -> Matrix:
        """Which of these kinds of one observation conflict."""
        groups = self.group[kinds]
        matrix = groups[:, None] != groups[None, :]
        for g in np.unique(groups):
            inside = np.flatnonzero(groups == g)
            local = kinds[inside]
            if int(g) in self.conflicts:
                block = self.conflicts[int(g)][np.ix_(local - self.start[g], local - self.start[g])]
            else:
                block = local[:, None] != local[None, :]
            matrix[np.ix_(inside, inside)] = block
        return matrix

    def in_conflict(self, first: int, second: int) -> bool:
        """Whether two nodes of one observation are incompatible."""
        return bool(self.conflict_matrix(self.kind[[first, second]])[0, 1])


def compatibility(graph: Graph, pair_limit: int = PAIR_LIMIT) -> list[Relation]:
    """~_t at every level: equal observation and law, and compatible after every common continuation."""
    relations = [_instantaneous(graph.levels[-1])]
    for t in range(graph.horizon - 2, -1, -1):
        relations.append(_refine(graph, t, relations[-1], pair_limit))
    return relations[::-1]


def compatibility_within(graph: Graph, steps: int, pair_limit: int = PAIR_LIMIT) -> list[Relation]:
    """~^(J)_t at every level: the same, looking only J = `steps` steps ahead."""
    relations = [_instantaneous(level) for level in graph.levels]
    for _ in range(min(steps, graph.horizon - 1)):
        relations = [
            _refine(graph, t, relations[t + 1], pair_limit) if t + 1 < graph.horizon else relations[t]
            for t in range(graph.horizon)
        ]
    return relations


def strong_classes(graph: Graph) -> list[Ints]:
    """Γˢ_t at every level: equal observation, law and continuation support, and recursively so."""
    classes = [graph.levels[-1].group[0]]
    for t in range(graph.horizon - 2, -1, -1):
        level = graph.levels[t]
        token = pair(graph.continuation(t), classes[-1][level.child])
        classes.append(fold(level.group[0], level.source, token)[0])
    return classes[::-1]


def settled(relation: Relation, strong: Ints) -> Relation:
    """A step past the pair limit is decided all the same where the strong classes leave no room: ~ lies in between."""
    if relation.decided or relation.conflicts or int(strong.max()) + 1 != relation.kinds:
        return relation
    return replace(relation, decided=True)


def support_classes(graph: Graph, t: int) -> Ints:
    """Nodes by (observation, law, continuation support U_t); level T has no continuation."""
    level = graph.levels[t]
    if t + 1 == graph.horizon:
        return level.group[0]
    return fold(level.group[0], level.source, graph.continuation(t))[0]


def _instantaneous(level: Level) -> Relation:
    group, count = level.group
    return Relation(group, np.arange(count), np.arange(count))


def _refine(graph: Graph, t: int, after: Relation, pair_limit: int) -> Relation:
    """One backward step: histories conflict when a common continuation leads to conflicting successors."""
    level = graph.levels[t]
    group, groups = level.group
    source, word, kind = level.source, graph.continuation(t), after.kind[level.child]
    telling = _telling(pair(group[source], word), kind, after)
    source, word, kind = source[telling], word[telling], kind[telling]
    signature, signatures = fold(group, source, pair(word, kind))
    domain, domains = fold(group, source, word)
    # signatures that share a domain conflict wherever they differ, if the successors do
    group_of_domain = group[representatives(domain, domains)]
    hard = np.bincount(group_of_domain, minlength=groups) > 1
    if after.conflicts:
        loose = np.isin(after.group[kind], list(after.conflicts))
        hard[group[source[loose]]] = True
    if not hard.any():
        return _numbered(group, signature, signatures, {}, after.decided, None)
    return _resolve(after, group, signature, signatures, hard, (source, word, kind), pair_limit)


def _telling(context: Ints, kind: Ints, after: Relation) -> NDArray[np.bool_]:
    """Edges whose (group, continuation) leads to conflicting successors; the others tell no histories apart."""
    label, count = rank(context)
    seen = kind[representatives(label, count)]
    several = np.zeros(count, bool)
    several[label[kind != seen[label]]] = True
    if after.conflicts and several.any():
        loose = np.zeros(count, bool)
        loose[label[np.isin(after.group[kind], list(after.conflicts))]] = True
        suspect = np.flatnonzero((loose & several)[label])
        for block in _blocks(label[suspect]):
            edges = suspect[block]
            several[label[edges[0]]] = bool(after.conflict_matrix(np.unique(kind[edges])).any())
    return several[label]


def _blocks(keys: Ints) -> list[Ints]:
    """Index sets of equal keys, in the order of the keys."""
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if len(keys) else []


def _resolve(
    after: Relation,
    group: Ints,
    signature: Ints,
    signatures: int,
    hard: NDArray[np.bool_],
    edges: tuple[Ints, Ints, Ints],
    pair_limit: int,
) -> Relation:
    """Compare signatures pairwise inside the groups where equal signatures are not the whole story."""
    source, word, kind = edges
    node_of = representatives(signature, signatures)
    chosen = np.flatnonzero(hard[group[source]] & (node_of[signature[source]] == source))
    sig, wrd, knd = signature[source[chosen]], word[chosen], kind[chosen]
    group_of = group[node_of]
    hard_members = np.flatnonzero(hard[group_of])
    if _pairs(group_of[hard_members]) + _pairs(pair(group_of[sig], wrd)) + _GROUP_COST * int(hard.sum()) > pair_limit:
        return _give_up(group, signature, hard, (sig, wrd, knd), node_of, after)
    conflicts: dict[int, Matrix] = {}
    merged = np.arange(signatures)
    edges_of = {int(group_of[sig[block[0]]]): block for block in _blocks(group_of[sig])}
    for block in _blocks(group_of[hard_members]):
        members = hard_members[block]
        g = int(group_of[members[0]])
        here = edges_of.get(g, block[:0])
        matrix = _pairwise(members, sig[here], wrd[here], knd[here], after)
        twins = _twins(matrix)
        keep = representatives(twins, int(twins.max()) + 1)
        merged[members] = members[keep][twins]
        small = matrix[np.ix_(keep, keep)]
        if int(small.sum()) < len(keep) * (len(keep) - 1):
            conflicts[g] = small
    kinds, count = rank(merged[signature])
    triple = _find_triple(conflicts, group, kinds) if conflicts and after.decided else None
    return _numbered(group, kinds, count, conflicts, after.decided, triple)


def _pairs(keys: Ints) -> int:
    """Σ n², over the sizes n of the sets of equal keys."""
    return int((np.unique(keys, return_counts=True)[1] ** 2).sum())


def _pairwise(members: Ints, sig: Ints, word: Ints, kind: Ints, after: Relation) -> Matrix:
    """Conflicts between the signatures of one group, one common continuation at a time."""
    matrix = np.zeros((len(members), len(members)), bool)
    local = np.searchsorted(members, sig)
    for block in _blocks(word):
        if len(block) > 1:
            unique, where = np.unique(kind[block], return_inverse=True)
            rows = local[block]
            matrix[np.ix_(rows, rows)] |= after.conflict_matrix(unique)[np.ix_(where, where)]
    return matrix


def _twins(matrix: Matrix) -> Ints:
    """Label rows by equality: twins have the same conflicts."""
    packed = np.ascontiguousarray(np.packbits(matrix, axis=1))
    rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return rank(first[inverse])[0]


def _find_triple(conflicts: dict[int, Matrix], group: Ints, kinds: Ints) -> tuple[int, int, int]:
    """Three nodes a ~ b ~ c with a and c in conflict."""
    g, matrix = next(iter(conflicts.items()))
    node_of = representatives(kinds, int(kinds.max()) + 1)
    members = np.unique(kinds[group == g])
    for b in range(len(matrix)):
        friends = np.flatnonzero(~matrix[b])
        inside = np.argwhere(matrix[np.ix_(friends, friends)])
        if len(inside):
            a, c = friends[inside[0]]
            return int(node_of[members[a]]), int(node_of[members[b]]), int(node_of[members[c]])
    raise AssertionError("a conflict matrix that is not complete has such a triple")


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
    return _numbered(group, merged, count, {}, False, triple)


def _sample_triple(
    group: Ints, hard: NDArray[np.bool_], edges: tuple[Ints, Ints, Ints], node_of: Ints, after: Relation
) -> tuple[int, int, int] | None:
    """Try a few histories b: do two of its compatible partners conflict with each other?"""
    if after.conflicts:
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


def _numbered(
    group: Ints,
    kinds: Ints,
    count: int,
    conflicts: dict[int, Matrix],
    decided: bool,
    triple: tuple[int, int, int] | None,
) -> Relation:
    """Number kinds group by group, in their own order inside each."""
    group_of = group[representatives(kinds, count)]
    order = np.argsort(group_of, kind="stable")
    position = np.empty(count, np.int64)
    position[order] = np.arange(count)
    sorted_groups = group_of[order]
    start = np.searchsorted(sorted_groups, np.arange(int(group.max()) + 1))
    return Relation(position[kinds], sorted_groups, start, conflicts, decided, triple)
