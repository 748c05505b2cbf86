"""Rows of ledgers as series of a figure: which runs, over what, and what of them is drawn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from certify.errors import UserError
from diacritic.files.ledger import Row, read_ledger
from diacritic.measure.statistics import wilson
from diacritic.studies.results import KEYS

Value = Callable[[Row], float | None]


@dataclass(frozen=True)
class Point:
    """One place of a series: its middle, how far it spreads either way, and how many runs it is made of."""

    x: float
    y: float
    below: float
    above: float
    runs: int


SAME = (*KEYS, "seed")
"""Rows that agree in these are one run, which several studies may list."""


@dataclass(frozen=True)
class Rows:
    """All rows of all ledgers of a folder, and what a figure asked for and found, or did not find."""

    figure: str
    rows: Sequence[Row]
    answered: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @staticmethod
    def read(figure: str, results: Path) -> "Rows":
        paths = sorted(results.glob("*.jsonl"))
        if not paths:
            raise UserError(str(results), "holds no ledger (*.jsonl); run a study first, or give the folder of ledgers")
        rows = [row for path in paths for row in read_ledger(path)]
        runs = {repr([row[key] for key in SAME]): row for row in rows if all(key in row for key in SAME)}
        return Rows(figure, [*runs.values(), *(row for row in rows if any(key not in row for key in SAME))])

    def where(self, task: str, learner: str | Iterable[str] | None = None, **fields: Any) -> list[Row]:
        """Rows of a task (its name, without parameters) and of learners, with these fields."""
        names = None if learner is None else {learner} if isinstance(learner, str) else set(learner)
        matching = [
            row
            for row in self.rows
            if "sufficient" in row
            and str(row.get("task", "")).split(" ")[0] == task
            and (names is None or row["learner"] in names)
            and all(row.get(key) == value or parameters(row).get(key) == value for key, value in fields.items())
        ]
        presets = {row["preset"] for row in matching}
        kept = "carousel" if "carousel" in presets else next(iter(sorted(presets)), None)
        return [row for row in matching if row["preset"] == kept]

    def wanted(self, task: str, learner: str | Iterable[str] | None = None, **fields: Any) -> list[Row]:
        """The same; whether there are any is remembered."""
        rows = self.where(task, learner, **fields)
        who = "" if learner is None else f" with {learner if isinstance(learner, str) else ' or '.join(learner)}"
        settings = "".join(f", {key}={value:g}" for key, value in fields.items())
        (self.answered if rows else self.missing).append(f"{task}{who}{settings}")
        return rows

    def not_run(self) -> str:
        """What was asked for and is not there; an error where nothing is."""
        if self.missing and not self.answered:
            reason = f"no ledger holds runs on {self.missing[0]}; `python -m reproduction list` names the studies"
            raise UserError(f"figure {self.figure}", reason)
        return "; ".join(dict.fromkeys(self.missing))


def parameters(row: Row) -> dict[str, float]:
    """Numbers among the parameters in the title of a row's task."""
    pairs = (word.split("=", 1) for word in str(row["task"]).split(" ")[1:] if "=" in word)
    return {key: float(value) for key, value in pairs if value.replace(".", "", 1).lstrip("-").isdigit()}


def rate(window: str) -> Value:
    """Ĥ(C_t|Ō_t) over a window."""
    return lambda row: row["rate"].get(window)


def about(window: str, hidden: str) -> Value:
    """What the code tells of a hidden value over a window, whose title holds the word."""

    def told(row: Row) -> float | None:
        by_title: Mapping[str, float | None] = row.get("information", {}).get(window, {})
        return next((bits for title, bits in by_title.items() if hidden in title), None)

    return told


def means(rows: Sequence[Row], over: str, value: Value, every: bool = False) -> list[Point]:
    """Mean and standard deviation over the sufficient seeds (`every`: over all) for each value of a parameter."""
    points = []
    for x in sorted({parameters(row)[over] for row in rows if over in parameters(row)}):
        mine = [row for row in rows if parameters(row).get(over) == x and (every or row["sufficient"])]
        values = [bits for row in mine if (bits := value(row)) is not None]
        if values:
            spread = stdev(values) if len(values) > 1 else 0.0
            points.append(Point(x, mean(values), spread, spread, len(values)))
    return points


def shares(rows: Sequence[Row], over: str, default: float | None = None) -> list[Point]:
    """Share of sufficient seeds with its 95 % Wilson interval for each value of a parameter."""
    points = []
    for x in sorted({value for row in rows if (value := parameters(row).get(over, default)) is not None}):
        mine = [bool(row["sufficient"]) for row in rows if parameters(row).get(over, default) == x]
        share, (low, high) = sum(mine) / len(mine), wilson(sum(mine), len(mine))
        points.append(Point(x, share, share - low, high - share, len(mine)))
    return points


def widest(rows: Sequence[Row], over: str) -> list[Row]:
    """Of each value of a parameter the rows with the largest codebook."""
    most: dict[float, int] = {}
    for row in rows:
        x = parameters(row).get(over, 0.0)
        most[x] = max(most.get(x, 0), row["K"])
    return [row for row in rows if row["K"] == most[parameters(row).get(over, 0.0)]]


def jittered(count: int) -> list[float]:
    """Small shifts that keep points of one place apart."""
    return [0.06 * (k - (count - 1) / 2) / max(1.0, sqrt(count)) for k in range(count)]
