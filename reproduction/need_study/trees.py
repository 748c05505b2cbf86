"""Would trees tell more of the present? Every family is asked twice, with and without them."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from certify.optional import import_optional
from certify.progress import track
from diacritic.files.atomic import write_text
from diacritic.files.demos import Demos
from diacritic.need.aligned import Aligned
from diacritic.need.answer import Need, need
from diacritic.need.frame import Frame
from diacritic.need.ridge import Floats
from diacritic.need.screen import Screen
from diacritic.need.symbols import induced_symbols
from reproduction.need_study.controls import CONTROLS
from reproduction.need_study.worlds import WORLDS

SIZES = {64: 1}  # episodes, and draws of every family
FIRST = 1000  # seed: no draw of the study
CLEARLY = 0.5  # of the ridge's squared error, that trees must come below to be taken
TREES = 100


class TreeFrame(Frame):
    """A frame whose actions are predicted by trees where these are clearly better; out of bag, so each episode is left
    out."""

    def __init__(self, observations: Floats, actions: Floats) -> None:
        super().__init__(observations)
        self.actions, self.ridge = actions, super().predict(actions)
        errors, self.better = ((actions - self.ridge) ** 2).mean(0), np.zeros(actions.shape[1], bool)
        self.open = bool((errors > 1).any())
        if self.open and self.columns.shape[1]:
            self.trees = _out_of_bag(self.columns, actions)
            self.better = (errors > 1) & (((actions - self.trees) ** 2).mean(0) < CLEARLY * errors)

    def predict(self, targets: Floats) -> Floats:
        if self.better.any() and np.array_equal(targets, self.actions):
            return np.where(self.better, self.trees, self.ridge)
        return super().predict(targets)


def _out_of_bag(columns: Floats, targets: Floats) -> Floats:
    """All targets by the same trees."""
    ensemble: Any = import_optional("sklearn.ensemble", "measure")
    trees = ensemble.ExtraTreesRegressor(TREES, min_samples_leaf=2, bootstrap=True, oob_score=True, random_state=0)
    goal = targets if targets.shape[1] > 1 else targets[:, 0]
    return trees.fit(columns, goal).oob_prediction_.reshape(targets.shape)


def with_trees(answer: Need) -> tuple[Need, list[TreeFrame]]:
    """The same question with trees."""
    data = replace(answer.data)
    frames = [TreeFrame(seen, acted) for seen, acted in zip(data.seen, data.acted, strict=True)]
    data.__dict__["frames"] = frames
    screen = Screen(data, answer.seed).run(range(data.steps))
    renewed = replace(
        answer,
        decisions=tuple(screen.decisions),
        graded=tuple(screen.graded),
        open=tuple(screen.open),
        bits=_bits(screen),
    )
    return renewed, frames


def _bits(screen: Screen) -> tuple[float, ...]:
    data: Aligned = screen.data
    remembered = [decision for decision in screen.decisions if decision.needs_memory]
    if not remembered:
        return (0.0,) * data.steps
    symbols = induced_symbols(remembered, data.steps, data.episodes)
    return tuple(step.upper for step in symbols.certify(seconds=20.0).steps)


def compare(family: str, episodes: int, seed: int) -> dict[str, Any]:
    """A row: open steps, those at which trees are clearly better, both answers, and both times."""
    began = time.perf_counter()
    answer = need(_drawn(family, episodes, seed), plants=0, seed=seed)
    middle = time.perf_counter()
    other, frames = with_trees(answer)
    return {
        "study": "need-trees",
        "family": family,
        "episodes": episodes,
        "seed": seed,
        "open": sum(frame.open for frame in frames),
        "better": sum(bool(frame.better.any()) for frame in frames),
        "answer": answer.kind,
        "answer_with_trees": other.kind,
        "bits_moved": round(float(np.abs(np.array(answer.bits) - np.array(other.bits)).max()), 4),
        "seconds": round(middle - began, 2),
        "seconds_with_trees": round(time.perf_counter() - middle, 2),
    }


def _drawn(family: str, episodes: int, seed: int) -> Demos:
    rng = np.random.default_rng([seed, episodes, *map(ord, family)])
    if family in CONTROLS:
        return CONTROLS[family](episodes, rng)
    return WORLDS[family].record(WORLDS[family].draw(episodes, rng), rng)


def run(path: Path) -> list[dict[str, Any]]:
    """All rows, each written when it is there; what the file has is kept."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    done = {(row["family"], row["episodes"], row["seed"]) for row in rows}
    wanted = [
        (family, episodes, FIRST + k)
        for episodes, draws in SIZES.items()
        for family in (*WORLDS, *CONTROLS)
        for k in range(draws)
    ]
    for cell in track([cell for cell in wanted if cell not in done], "asking with and without trees"):
        rows.append(compare(*cell))
        write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
    return rows


def sentence(rows: Sequence[dict[str, Any]]) -> str:
    """What the rows say."""
    opened, better = (sum(row[name] for row in rows) for name in ("open", "better"))
    changed = [row for row in rows if row["answer"] != row["answer_with_trees"] or row["bits_moved"] > 0.1]
    times = [sum(row[name] for row in rows) for name in ("seconds_with_trees", "seconds")]
    families = len({row["family"] for row in rows})
    said = f"Of {len(rows)} datasets of {families} families, extra trees halve the squared error of some action at"
    said += f" {better:,} of {opened:,} steps that the present leaves open, which changes the answer or its"
    names = ", ".join(sorted({f"`{row['family']}`" for row in changed}))
    said += f" bits in {len(changed)} datasets" + (f" ({names})" if changed else "")
    return f"{said} and takes {times[0] / times[1]:.1f} times as long."
