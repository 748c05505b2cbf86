"""Experts from files: controllers, tables, policy graphs of pomdp-solve, alpha vectors of pomdp-solve and APPL."""

import os
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from certify.core.reading import listed, parse_document, rational, read_text, text
from certify.errors import UserError
from certify.stationary.beliefs import AlphaVectors
from certify.stationary.process import fields, number
from certify.stationary.world import START, Controller, Privileged, World

POLICY_FORMAT = "certify-policy/1"
Expert = Controller | Privileged | AlphaVectors


def load_expert(path: str | os.PathLike[str], world: World) -> Expert:
    """The expert of a file, for a world that gives observations and actions their names; the ending says what it is.

    `.json` (a controller, ours or PAYNT's, or a table), `.pg` (with the `.alpha` beside it, if any, to choose the first
    node), `.alpha`, `.policyx`.
    """
    path = Path(path)
    source = read_text(path, str(path))
    readers: dict[str, Callable[[str], Expert]] = {
        ".json": lambda source: _json(source, world),
        ".pg": lambda source: read_policy_graph(source, world, _first_node(path.with_suffix(".alpha"), world)),
        ".alpha": lambda source: read_alpha(source, world),
        ".policyx": lambda source: read_policyx(source, world),
    }
    if path.suffix not in readers:
        raise UserError(str(path), f"expected an expert: {', '.join(readers)}")
    try:
        return readers[path.suffix](source)
    except UserError as error:
        raise UserError(str(path), str(error)) from None


def _json(source: str, world: World) -> Controller | Privileged:
    document = parse_document(source)
    keys = document if isinstance(document, dict) else {}
    if "action_function" in keys:
        return read_fsc(source, world)
    return read_policy(source) if keys.get("format") == POLICY_FORMAT else Controller.from_json(source)


def read_policy(source: str) -> Controller | Privileged:
    """From the text of a `certify-policy/1` document: the law by the last observation, or by the hidden state."""
    given = fields(parse_document(source), "", {"format", "by", "law"}, {"name", "notes"})
    laws: dict[str, Any] = {}
    for key, law in fields(given["law"], "law").items():
        laws[key] = dict(fields(law, f"law.{key}")) if isinstance(law, dict) else text(law, f"law.{key}")
    if given["by"] not in ("observation", "state"):
        raise UserError("by", "expected 'observation', or 'state' for an expert that sees the hidden state")
    return Controller.table(laws) if given["by"] == "observation" else Privileged(laws)


def read_fsc(source: str, world: World) -> Controller:
    """PAYNT's controller: node × observation → law and next node. Labels win over positions where it has them."""
    given = fields(parse_document(source), "")
    count = number(given.get("num_nodes"))
    if not count:
        raise UserError("num_nodes", "expected a whole number of at least 1")
    seen = _labels(given, "observation_labels", (*world.observations, START))
    acts = _labels(given, "action_labels", world.actions)
    laws: dict[tuple[int, str], dict[str, Fraction]] = {}
    after: dict[tuple[int, str], int] = {}
    for n in range(count):
        for name, entry, update in zip(seen, *(_table(given, key, n) for key in _FSC), strict=False):
            if entry is None:
                continue
            where = f"action_function[{n}]"
            weights = entry if isinstance(entry, dict) else {str(entry): 1}
            if not all(str(a).isdecimal() and int(a) < len(acts) for a in weights):
                raise UserError(where, f"expected actions by their number, below {len(acts)}")
            laws[n, name] = _rounded({acts[int(a)]: rational(p, where) for a, p in weights.items()}, where)
            target = number(update)
            if target is None or target >= count:
                raise UserError(f"update_function[{n}]", f"expected a node below {count}")
            after[n, name] = target
    first = {name: (0, name) for name in seen}
    return Controller(first, laws, lambda node, action, shown: (after[node], shown))


_FSC = ("action_function", "update_function")


def _labels(given: Mapping[str, Any], key: str, default: Sequence[str]) -> Sequence[str]:
    return [text(name, key) for name in listed(given[key], key)] if given.get(key) is not None else default


def _table(given: Mapping[str, Any], key: str, node: int) -> list[Any]:
    rows = listed(given.get(key), key)
    if node >= len(rows):
        raise UserError(key, f"has no row for node {node}")
    return listed(rows[node], f"{key}[{node}]")


def _rounded(law: dict[str, Fraction], where: str) -> dict[str, Fraction]:
    """Decimals that sum to almost 1, divided by their sum."""
    whole = sum(law.values(), Fraction(0))
    if abs(whole - 1) > Fraction(1, 10**6):
        raise UserError(where, f"not a distribution: the probabilities sum to {float(whole):g}")
    return {action: p / whole for action, p in law.items() if p}


def read_policy_graph(source: str, world: World, first: int = 0) -> Controller:
    """pomdp-solve's `.pg`: on each line a node, its action, and its next node for each observation (- or X: none)."""
    laws: dict[int, str] = {}
    moves: dict[tuple[int, str], int] = {}
    for line, words in enumerate(map(str.split, source.splitlines()), 1):
        if not words:
            continue
        if len(words) != 2 + len(world.observations) or not (words[0].isdecimal() and words[1].isdecimal()):
            raise UserError(f"line {line}", f"expected a node, an action and {len(world.observations)} next nodes")
        node, action = int(words[0]), int(words[1])
        if action >= len(world.actions):
            raise UserError(f"line {line}", f"expected an action below {len(world.actions)}, not {action}")
        laws[node] = world.actions[action]
        moves |= {(node, o): int(w) for o, w in zip(world.observations, words[2:], strict=True) if w.isdecimal()}
    return Controller(first, laws, moves)


def _first_node(alpha: Path, world: World) -> int:
    """The vector that is best at the start, where pomdp-solve left its vectors beside the graph; else node 0."""
    if not alpha.is_file():
        return 0
    return read_alpha(alpha.read_text(encoding="utf-8"), world).best(world.start)


def read_alpha(source: str, world: World) -> AlphaVectors:
    """pomdp-solve's `.alpha`: on one line an action, on the next its vector, and an empty line between pairs."""
    lines = [(k, line.split()) for k, line in enumerate(source.splitlines(), 1) if line.strip()]
    vectors: list[tuple[str, dict[int, Fraction]]] = []
    for (line, action), (_, values) in zip(lines[::2], lines[1::2], strict=False):
        vectors.append((_action(" ".join(action), world, line), _vector(values, world, line + 1)))
    return _vectors(vectors, "line 1")


def read_policyx(source: str, world: World) -> AlphaVectors:
    """APPL's (SARSOP's) `.policyx`: vectors with an action each, and the observed part of the state they are for."""
    try:
        root = ElementTree.fromstring(source)
    except ElementTree.ParseError as error:
        raise UserError("", f"not XML: {error}") from None
    vectors: list[tuple[str, dict[int, Fraction]]] = []
    for k, vector in enumerate(root.iter("Vector")):
        if vector.get("obsValue", "0") != "0":
            raise UserError(
                f"Vector {k}", "is for a state that is partly observed; write the model without such a part"
            )
        action = _action(vector.get("action", ""), world, k)
        vectors.append((action, _vector((vector.text or "").split(), world, k)))
    return _vectors(vectors, "AlphaVector")


def _action(word: str, world: World, line: int) -> str:
    if not word.isdecimal() or int(word) >= len(world.actions):
        raise UserError(f"line {line}", f"expected an action below {len(world.actions)}, not {word!r}")
    return world.actions[int(word)]


def _vector(words: list[str], world: World, line: int) -> dict[int, Fraction]:
    if len(words) != len(world.states):
        raise UserError(f"line {line}", f"expected {len(world.states)} values, not {len(words)}")
    return {s: rational(word, f"line {line}") for s, word in enumerate(words)}


def _vectors(vectors: list[tuple[str, dict[int, Fraction]]], where: str) -> AlphaVectors:
    if not vectors:
        raise UserError(where, "has no alpha vectors")
    return AlphaVectors(tuple(vectors))
