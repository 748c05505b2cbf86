"""Studies and their figures as data: `studies.toml` says what the paper reports, a study's file how ours is found."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from certify.errors import UserError
from diacritic.studies.cell import Cell
from reproduction.derive import Derived
from reproduction.figure import Figure
from reproduction.paper import PaperStudy
from reproduction.reference import Block, figure, row
from reproduction.verdicts import Better, Count, Range, Value, value


@cache
def listed() -> dict[str, Block]:
    """Every study, in the order in which their runs are made."""
    return tomllib.loads(Path(__file__).with_name("studies.toml").read_text(encoding="utf-8"))


def study(
    name: str, cells: Iterable[Cell] = (), ours: Mapping[str, Any] | None = None, more: Iterable[Figure] = ()
) -> PaperStudy:
    """A study with its entry in `studies.toml`; `ours` says of every figure listed there how ours is found."""
    entry: dict[str, Any] = {
        key: tuple(item) if isinstance(item, list) else item for key, item in listed()[name].items()
    }
    lines: dict[str, Block] = entry.pop("figures", {})
    ways = ours or {}
    if lines.keys() != ways.keys():
        odd = sorted(lines.keys() ^ ways.keys())[0]
        raise UserError(f"studies.toml [{name}.figures]", f"and the study's file do not both have {odd!r}")
    figures = [_figure(title, line, ways[title]) for title, line in lines.items()]
    return PaperStudy(name, cells=tuple(cells), figures=(*figures, *more), **entry)


def _figure(title: str, line: Block, ours: Any) -> Figure:
    """One line of the data: `at` is a section and its keys, `row` tells which of its rows."""
    section, _, text = line["at"].partition(": ")
    given = [row(section, **line["row"])[key] if "row" in line else figure(section, key) for key in text.split()]
    paper = Count(*given) if line.get("kind") == "count" else _value(given, line)
    within, better = line.get("within", 0.0), line.get("better")
    if line.get("measured"):
        return measured(title, section, paper, ours, within, better)
    return derived(title, section, paper, ours, within, better, line.get("tested", True))


def _value(given: list[Any], line: Block) -> Value:
    """Several numbers are a profile; a pair that is not measured is a range; a table is a count."""
    if len(given) > 1 or line.get("kind") == "profile":
        return value(given)
    return value(given[0]) if line.get("measured") else said(given[0])


def said(given: Any) -> Value:
    """A number, a range or a count of the reference."""
    if isinstance(given, dict):
        return Count(next(number for key, number in given.items() if key != "of"), given["of"])
    return Range(*map(float, given)) if isinstance(given, list) else value(given)


def derived(
    name: str,
    section: str,
    paper: str | Value,
    ours: Derived,
    within: float = 0.0,
    better: Better = None,
    tested: bool = True,
) -> Figure:
    """A figure that comes from ledgers; `paper` is a key of the section or the value itself."""
    expected = said(figure(section, paper)) if isinstance(paper, str) else paper
    return Figure(name, section, expected, None, ours, within, better, tested)


def measured(
    name: str,
    section: str,
    paper: str | Value,
    ours: Callable[[], Value | None],
    within: float = 0.0,
    better: Better = None,
) -> Figure:
    """A figure that `figures-measure` computes."""
    expected = value(figure(section, paper)) if isinstance(paper, str) else paper
    return Figure(name, section, expected, ours, None, within, better, tested=False)
