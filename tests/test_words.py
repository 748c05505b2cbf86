"""Names that say nothing of what they hold, or that have a better one, do not come back."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VAGUE = {"found", "known", "place", "places"}
REPLACED = {
    *("lesson", "teach", "Taught", "watch", "Watched", "take_turns", "go_on", "packs", "Share", "afterwards", "upkeep"),
    *("Put", "Sight", "Place", "ModelError", "_seldom"),
}


def bound(source: str) -> Iterator[tuple[int, str]]:
    """Every name that a source binds: variables, parameters, attributes, imported aliases, functions and classes."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.alias(asname=str(name)):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if name in REPLACED:  # `place` may be a verb
                yield node.lineno, name


@pytest.mark.parametrize("room", ["src", "reproduction", "benchmarks", "docs_build", "tests"])
def test_names_say_what_they_hold(room: str) -> None:
    paths = sorted((ROOT / room).rglob("*.py"))
    names = [(path, *one) for path in paths for one in bound(path.read_text(encoding="utf-8"))]
    assert names
    vague = [f"{path.relative_to(ROOT)}:{line}: {name}" for path, line, name in names if name in VAGUE | REPLACED]
    assert vague == []


def test_every_way_to_bind_a_name_is_seen() -> None:
    source = """
import numpy as a
def f(b, *c, d=1, **e):
    self.g, (h, *i) = 1, [j for j in range(3)]
    for k in (l := [1]): pass
    with open("x") as m: pass
    try: pass
    except OSError as n: pass
    match b:
        case [o]: pass
class Place: pass
"""
    assert {name for _, name in bound(source)} == {*"abcdeghijklmno", "Place"}
