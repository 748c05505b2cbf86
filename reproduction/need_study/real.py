"""The page on public datasets of robots: the answer, what parts of the past predict, the power and its reasons."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from certify.progress import track
from diacritic.demos.readers import load
from diacritic.files.atomic import write_text
from diacritic.files.demos import Demos
from diacritic.need.aligned import Aligned
from diacritic.need.answer import Need, need
from diacritic.need.power import power
from diacritic.need.text import lines
from reproduction.need_study.pooled import pooled_shares

WIDTHS, MOVES, PLANTS = (1.0, 3.0), (1.0, 4.0), 8
HEAD = """# The need of two public datasets

Written by `python -m reproduction need-data NAME=FOLDER …` from copies of the datasets, states and actions alone (their
videos are left out); nothing of the data is kept here. [What the lines mean](need.md).

About a cue that must be remembered, neither dataset can tell, and the power says so. Other things can be told: what a
short history gives (`even so`, and the first table, in which one model predicts all steps of unseen episodes), and how
large a choice would have to be in order to be found (the second).
"""


def write_real_page(datasets: Mapping[str, Path], page: Path) -> None:
    """One section for each dataset."""
    sections = []
    for name, folder in datasets.items():
        demos = load(folder)
        sections.append(section(name, demos, need(demos)))
    write_text(page, "\n".join([HEAD, *sections]))


def section(name: str, demos: Demos, answer: Need) -> str:
    """The screen, explained variance, and power over the sizes of a planted cue and of the choice that follows it."""
    targets = {"the action": pooled_shares(demos)}
    moves = _moves(demos)
    if moves is not None:
        targets["its change of the state"] = pooled_shares(moves)
    rows = [
        f"| {part} | " + " | ".join(f"{shares[part]:.2f}" for shares in targets.values()) + " |"
        for part in targets["the action"]
    ]
    powers = [
        f"| {move:g} s.d. | " + " | ".join(f"{_power(answer, width, move):.0%}" for width in WIDTHS) + " |"
        for move in MOVES
    ]
    return "\n".join(
        [
            f"## {name}\n",
            "```text",
            *lines(answer),
            "```\n",
            f"| explained variance, from | {' | '.join(targets)} |",
            "|---|" + "---:|" * len(targets),
            *rows,
            "\n| the choice moves one action channel by | "
            + " | ".join(f"found with a cue of ±{width:g} s.d." for width in WIDTHS)
            + " |",
            "|---|" + "---:|" * len(WIDTHS),
            *powers,
            f"\n{why(answer.data)}\n",
        ]
    )


def _power(answer: Need, width: float, move: float) -> float:
    plants = track(range(PLANTS), f"cues of {width:g} s.d., choices of {move:g}")
    return power(answer.data, plants, width, answer.seed, move)


def _moves(demos: Demos) -> Demos | None:
    """The same with actions counted from the state, where both have the same channels."""
    actions = demos.actions.reshape(*demos.actions.shape[:2], -1)
    if actions.shape != demos.observations.shape:
        return None
    return replace(demos, actions=(actions - demos.observations).astype(np.float32))


def why(data: Aligned) -> str:
    """Why a choice is hard to see, and what to record."""
    errors = [
        ((acted - frame.predict(acted)) ** 2).mean(0) for acted, frame in zip(data.acted, data.frames, strict=True)
    ]
    channels = int(np.median([(each > 1).sum() for each in errors]))
    size = float(np.median([np.sqrt(each.sum()) for each in errors]))
    said = f"*Why.* At the median step the frame leaves {channels} of {data.actions.shape[2]} action channels open, by"
    said += f" {size:.0f} tolerances together; a choice of one standard deviation in one channel is"
    said += f" {1 / data.tolerance:.0f} tolerances, and {data.episodes} episodes do not make it a class of its own."
    said += (
        " *What to record.* More episodes of one task by one expert, the previous command among the observations where"
    )
    return f"{said} it explains the rest, and whatever else the expert saw."
