"""The format `certify-graph/1`: a merged history graph as JSON, so that astronomical models have files and digests too.

`levels[t].nodes[k]` has `obs`, `laws` (a list of [share, law] pairs: the laws of the hidden states consistent with the
node) and `edges`, a list of [action, child, probability]; nodes of the first level also have their `mass`.
"""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from certify.core.exact import brief
from certify.core.graph import Graph, average
from certify.core.merged import Node, assemble
from certify.core.reading import Numbers, index_name, listed, mapping, rational, text, total
from certify.errors import UserError

FORMAT = "certify-graph/1"


def canonical(graph: Graph) -> Iterator[bytes]:
    """Sorted keys, no spaces, lowest terms; nodes in the graph's own order, one after the other."""
    yield f'{{"format":"{FORMAT}","horizon":{graph.horizon},"levels":['.encode()
    for t, level in enumerate(graph.levels):
        yield b',{"nodes":[' if t else b'{"nodes":['
        total = int(level.flow.sum()) if len(level.flow) else 1
        begin = np.searchsorted(level.source, np.arange(level.size + 1)).tolist()
        arrows = level.action, level.child, level.flow
        for k in range(level.size):
            shares = level.mixed.get(k, {int(level.law[k]): 1})
            whole, mass = sum(shares.values()), Fraction(int(level.mass[k]), level.total)
            edges = [
                [graph.actions[action], int(child), str(Fraction(int(flow), total) / mass)]
                for action, child, flow in zip(*(column[begin[k] : begin[k + 1]] for column in arrows), strict=True)
            ]
            node: dict[str, Any] = {
                "obs": graph.observations[level.observation[k]],
                "laws": [
                    [str(Fraction(w, whole)), {graph.actions[a]: str(p) for a, p in graph.laws[law]}]
                    for law, w in shares.items()
                ],
                "edges": sorted(edges, key=lambda edge: edge[:2]),  # by name, whatever the numbers of the actions
            }
            if t == 0:
                node["mass"] = str(mass)
            text = json.dumps(node, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
            yield f",{text}".encode() if k else text.encode()
        yield b"]}"
    yield b"]}"


def read(document: Mapping[str, Any]) -> Graph:
    """Validate a document and assemble its graph."""
    mapping(document, "", {"format", "horizon", "levels", "name", "notes"}, {"horizon", "levels"})
    raw = [
        listed(mapping(level, f"levels[{t}]", {"nodes"}, {"nodes"})["nodes"], f"levels[{t}].nodes")
        for t, level in enumerate(listed(document["levels"], "levels"))
    ]
    horizon = rational(document["horizon"], "horizon")
    if not raw or horizon != len(raw):
        raise UserError("horizon", f"{brief(horizon)} does not match the {len(raw)} levels")
    reader = _Reader()
    levels = [
        [reader.node(item, f"levels[{t}].nodes[{k}]", t) for k, item in enumerate(items)] for t, items in enumerate(raw)
    ]
    if len({node.observation for node in levels[0]}) < len(levels[0]):
        raise UserError("levels[0]", "two nodes show the same observation, but that is one history")
    for t, (items, nodes) in enumerate(zip(raw, levels, strict=True)):
        following = levels[t + 1] if t + 1 < len(levels) else []
        for k, (item, node) in enumerate(zip(items, nodes, strict=True)):
            reader.connect(item["edges"], node, following, f"levels[{t}].nodes[{k}]")
    return assemble(levels, tuple(reader.observations), tuple(reader.actions), reader.laws)


class _Reader(Numbers):
    """Nodes and edges of a document, with the names and laws that they share."""

    def node(self, item: Any, where: str, t: int) -> Node:
        """A node without its edges."""
        keys = {"obs", "laws", "edges"} | ({"mass"} if t == 0 else set())
        mapping(item, where, keys, keys)
        listed(item["edges"], f"{where}.edges")
        shares: dict[int, Fraction] = {}
        for entry in listed(item["laws"], f"{where}.laws"):
            share, law = listed(entry, f"{where}.laws", 2)
            which, _ = self.law(mapping(law, f"{where}.laws", None, ()), lambda: f"{where}.laws")
            shares[which] = total([shares.get(which, Fraction(0)), rational(share, f"{where}.laws")], f"{where}.laws")
        if min(shares.values(), default=0) <= 0 or total(shares.values(), f"{where}.laws") != 1:
            raise UserError(f"{where}.laws", "the shares are not a distribution")
        mass = rational(item["mass"], f"{where}.mass") if t == 0 else Fraction(0)
        if t == 0 and mass <= 0:
            raise UserError(f"{where}.mass", "the mass is not positive")
        return Node(index_name(self.observations, text(item["obs"], f"{where}.obs")), mass, shares)

    def connect(self, edges: list[Any], node: Node, following: list[Node], where: str) -> None:
        """The edges of a node: they draw its actions by its laws, and carry its mass to the next level."""
        if node.mass == 0:
            raise UserError(where, "no edge leads to this node")
        where = f"{where}.edges"
        if edges and not following:
            raise UserError(where, "the last level has no edges")
        drawn: dict[int, Fraction] = {}
        for entry in edges:
            name, child, probability = listed(entry, where, 3)
            p, k, action = rational(probability, where), rational(child, where), self.actions.get(text(name, where), -1)
            if k.denominator != 1 or not 0 <= k < len(following):
                raise UserError(where, f"expected the number of a node of the next level, not {brief(k)}")
            target = following[int(k)]
            if p <= 0 or (action, target.observation) in node.edges:
                raise UserError(where, "a probability is not positive, or an edge is given twice")
            node.edges[action, target.observation] = (int(k), p)
            target.mass = total([target.mass, node.mass * p], where)
            drawn[action] = total([drawn.get(action, Fraction(0)), p], where)
        if following and drawn != average(node.shares, self.laws.table):
            raise UserError(where, "the edges do not draw each action with the probability of the laws")
