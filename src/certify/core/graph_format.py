"""The format `certify-graph/1`: a merged history graph as JSON, so that astronomical models have files and digests too.

`levels[t].nodes[k]` has `obs`, `laws` (a list of [share, law] pairs: the laws of the hidden states consistent with the
node) and `edges`, a list of [action, child, probability]; nodes of the first level also have their `mass`.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from certify.core.graph import Graph, Laws
from certify.core.merged import Node, assemble
from certify.core.reading import index_name, mapping, rational, text
from certify.errors import UserError

FORMAT = "certify-graph/1"


def canonical(graph: Graph) -> bytes:
    """Sorted keys, no spaces, lowest terms; nodes in the graph's own order."""
    levels: list[dict[str, Any]] = []
    for t, level in enumerate(graph.levels):
        nodes: list[dict[str, Any]] = []
        for k in range(level.size):
            shares = level.mixed.get(k, {int(level.law[k]): 1})
            whole = sum(shares.values())
            node: dict[str, Any] = {
                "obs": graph.observations[level.observation[k]],
                "laws": [[str(Fraction(w, whole)), _law(graph, law)] for law, w in shares.items()],
                "edges": [],
            }
            if t == 0:
                node["mass"] = str(Fraction(int(level.mass[k]), level.total))
            nodes.append(node)
        total = int(level.flow.sum()) if len(level.flow) else 1
        for source, action, child, flow in zip(level.source, level.action, level.child, level.flow, strict=True):
            p = Fraction(int(flow), total) / Fraction(int(level.mass[source]), level.total)
            nodes[source]["edges"].append([graph.actions[action], int(child), str(p)])
        for node in nodes:
            node["edges"].sort(key=lambda edge: edge[:2])  # by name, whatever the numbers of the actions
        levels.append({"nodes": nodes})
    document = {"format": FORMAT, "horizon": graph.horizon, "levels": levels}
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def _law(graph: Graph, law: int) -> dict[str, str]:
    return {graph.actions[a]: str(p) for a, p in graph.laws[law]}


def read(document: Mapping[str, Any]) -> Graph:
    """Validate a document and assemble its graph."""
    mapping(document, "", {"format", "horizon", "levels", "name", "notes"}, {"horizon", "levels"})
    observations: dict[str, int] = {}
    actions: dict[str, int] = {}
    laws = Laws()
    try:
        raw = [mapping(x, f"levels[{t}]", {"nodes"}, {"nodes"})["nodes"] for t, x in enumerate(document["levels"])]
        if not raw or str(document["horizon"]) != str(len(raw)):
            raise UserError("horizon", f"{document['horizon']} does not match the {len(raw)} levels")
        levels = [
            [_node(item, f"levels[{t}].nodes[{k}]", t, observations, actions, laws) for k, item in enumerate(items)]
            for t, items in enumerate(raw)
        ]
        if len({node.observation for node in levels[0]}) < len(levels[0]):
            raise UserError("levels[0]", "two nodes show the same observation, but that is one history")
        for t, (items, nodes) in enumerate(zip(raw, levels, strict=True)):
            for k, (item, node) in enumerate(zip(items, nodes, strict=True)):
                _connect(item, node, levels, t, f"levels[{t}].nodes[{k}]", actions, laws)
    except UserError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise UserError("levels", f"not a certify-graph/1 document: {type(error).__name__} {error}") from None
    return assemble(levels, tuple(observations), tuple(actions), laws)


def _node(item: Any, place: str, t: int, observations: dict[str, int], actions: dict[str, int], laws: Laws) -> Node:
    keys = {"obs", "laws", "edges"} | ({"mass"} if t == 0 else set())
    mapping(item, place, keys, keys)
    shares: dict[int, Fraction] = {}
    for share, law in item["laws"]:
        exact = {
            index_name(actions, name): rational(p, f"{place}.laws")
            for name, p in mapping(law, f"{place}.laws", None, ()).items()
        }
        if sum(exact.values()) != 1 or min(exact.values()) < 0:
            raise UserError(f"{place}.laws", "a law is not a distribution")
        which = laws.intern(exact)
        shares[which] = shares.get(which, Fraction(0)) + rational(share, f"{place}.laws")
    if sum(shares.values()) != 1 or min(shares.values()) <= 0:
        raise UserError(f"{place}.laws", "the shares are not a distribution")
    mass = rational(item["mass"], f"{place}.mass") if t == 0 else Fraction(0)
    if t == 0 and mass <= 0:
        raise UserError(f"{place}.mass", "the mass is not positive")
    return Node(index_name(observations, text(item["obs"], f"{place}.obs")), mass, shares)


def _connect(
    item: Any, node: Node, levels: list[list[Node]], t: int, place: str, actions: dict[str, int], laws: Laws
) -> None:
    if node.mass == 0:
        raise UserError(place, "no edge leads to this node")
    if t + 1 == len(levels):
        if item["edges"]:
            raise UserError(f"{place}.edges", "the last level has no edges")
        return
    drawn: dict[int, Fraction] = {}
    for name, child, probability in item["edges"]:
        p = rational(probability, f"{place}.edges")
        action, target = actions[name], levels[t + 1][int(child)]
        if p <= 0 or int(child) < 0 or (action, target.observation) in node.edges:
            raise UserError(f"{place}.edges", "a probability is not positive, or an edge is given twice")
        node.edges[action, target.observation] = (int(child), p)
        target.mass += node.mass * p
        drawn[action] = drawn.get(action, Fraction(0)) + p
    expected: dict[int, Fraction] = {}
    for law, share in node.shares.items():
        for action, p in laws.table[law]:
            expected[action] = expected.get(action, Fraction(0)) + share * p
    if drawn != expected:
        raise UserError(f"{place}.edges", "the edges do not draw each action with the probability of the laws")
