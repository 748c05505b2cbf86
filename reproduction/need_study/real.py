"""The page on public datasets of robots: the whole answer, what each part of the past predicts, and the power."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from certify.progress import track
from diacritic.demos.readers import load
from diacritic.files.atomic import write_text
from diacritic.need.aligned import Aligned
from diacritic.need.answer import Need, need
from diacritic.need.power import power
from diacritic.need.ridge import Floats, Ridge, linear_kernel
from diacritic.need.text import lines, ranges

WIDTHS, PLANTS = (1.0, 2.0, 3.0, 5.0), 16
HEAD = """# The need of two public datasets

Written by `python -m reproduction need-data NAME=FOLDER …` from copies of the datasets, states and actions alone (their
videos are left out); nothing of the data is kept here. [What the lines mean](need.md).
"""


def write_real_page(datasets: Mapping[str, Path], page: Path) -> None:
    """One section for each dataset."""
    sections = [section(name, need(load(folder))) for name, folder in datasets.items()]
    write_text(page, "\n".join([HEAD, *sections]))


def section(name: str, answer: Need) -> str:
    """The screen, a table of explained variance, and power over the width of a planted cue."""
    shares = explained(answer.data)
    detected = [
        power(answer.data, track(range(PLANTS), f"cues of {width:g} s.d."), width, answer.seed) for width in WIDTHS
    ]
    older = [step.step for step in answer.open if step.p_older < 0.01]
    text = (
        f"An older frame helps significantly at steps {ranges(older)}."
        if older
        else "No older frame helps at any step."
    )
    return "\n".join(
        [
            f"## {name}\n",
            "```text",
            *lines(answer),
            "```\n",
            "| the action is predicted from | explained variance |",
            "|---|---:|",
            *(f"| {part} | {share:.2f} |" for part, share in shares.items()),
            f"\n{text}\n",
            "| a planted cue lies to either side by | " + " | ".join(f"{width:g} s.d." for width in WIDTHS) + " |",
            "|---|" + "---:|" * len(WIDTHS),
            "| and is found in | " + " | ".join(f"{share:.0%}" for share in detected) + " |\n",
        ]
    )


def explained(data: Aligned) -> dict[str, float]:
    """R² over all steps and channels, each episode left out; every line adds to the one before."""
    whole, left = (
        0.0,
        dict.fromkeys(("the frame", "and two recent frames", "and two previous actions", "and all older frames"), 0.0),
    )
    for s in track(range(1, data.steps), "explained variance"):
        targets, frame = data.acted[s], data.frames[s]
        kernels = [
            frame.rich,
            linear_kernel(np.concatenate(data.recent(s, data.observations), 1)),
            linear_kernel(np.concatenate(data.recent(s, data.actions), 1)),
            linear_kernel(data.past(data.older(s))[0]),
        ]
        whole += float(((targets - targets.mean(0)) ** 2).sum())
        total: Floats = np.zeros_like(frame.rich)
        for name, kernel in zip(left, kernels, strict=True):
            total = total + kernel
            left[name] += float(((targets - Ridge(total.copy()).leave_one_out(targets)) ** 2).sum())
    return {name: 1 - error / whole for name, error in left.items()}
