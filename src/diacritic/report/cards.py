"""The first screen: what was found about each input, in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from diacritic.measure.statistics import wilson
from diacritic.report.labels import grouped, stretches
from diacritic.report.runs import Run
from diacritic.report.subjects import Subject

MOST_LEVELS = 5
Shown = dict[str, Any]
Probes = Mapping[str, Sequence[Mapping[str, Any]]]


def card(subject: Subject, view: Shown) -> Shown:
    """One task: its bits, then each learner's seeds, then whether anybody audited them."""
    lines = [profile(view["need"])]
    for (learner, preset), runs in grouped(subject.runs, lambda run: (run.learner, run.preset)).items():
        lines.append(f"{learner} ({preset}): {seeds(runs)}.")
    if subject.runs:
        lines.append(audited(subject.runs))
    elif subject.demos is not None:
        lines.append(f"Recorded: {subject.demos.episodes} episodes. No policy is given.")
    return {
        "title": subject.name,
        "full": view["full"],
        "href": view["id"],
        "lines": lines,
        "chips": _chips(subject, view),
    }


def profile(need: Sequence[float | None]) -> str:
    """``2 bits, then 1.``: the levels of the required memory in order, without the steps that need none."""
    steps = [round(bits, 2) for bits in need if bits is not None]
    levels = [bits for _, _, bits in stretches(steps) if bits > 0]
    if not steps:
        return "The requirement is not known."
    if not levels:
        return "0 bits: the observation alone is enough."
    if len(levels) > MOST_LEVELS:
        return f"Up to {_bits(max(levels))} over {len(steps)} steps."
    first, *rest = levels
    return ", then ".join([_bits(first), *(f"{bits:g}" for bits in rest)]) + f", over {len(steps)} steps."


def _bits(bits: float) -> str:
    return f"{bits:g} bit" if bits == 1 else f"{bits:g} bits"


def seeds(runs: Sequence[Run]) -> str:
    """How many seeds pass, with the interval; their success and surplus."""
    judged = [run for run in runs if run.sufficient is not None]
    good = [run for run in judged if run.sufficient]
    if not judged:
        words = [f"{len(runs)} seeds, not judged"]
    else:
        low, high = wilson(len(good), len(judged))
        words = [f"{len(good)}/{len(judged)} seeds sufficient (95 % interval {low:.0%}–{high:.0%})"]
    played = [run.success for run in runs if run.success is not None]
    if played:
        words.append(f"success {np.mean(played):.0%}")
    if (extra := surplus(good)) is not None:
        words.append(f"surplus {round(extra, 2) + 0.0:.2f} bit")
    return ", ".join(words)


def surplus(runs: Sequence[Run]) -> float | None:
    """Mean rate beyond the requirement over all steps where both are known."""
    gaps = [
        rate - need
        for run in runs
        for rate, need in zip(run.rate, run.requirement, strict=False)
        if rate is not None and need is not None
    ]
    return float(np.mean(gaps)) if gaps else None


def audited(runs: Sequence[Run]) -> str:
    """Whether the runs were measured, and whether the code alone carries their memory."""
    judged = [run for run in runs if run.verdict is not None]
    if not judged:
        return "Not audited."
    alone = sum(run.verdict["sole"]["answer"] == "yes" for run in judged if run.verdict)
    return f"Audited: {len(judged)} of {len(runs)}; carried by the code alone in {alone}."


def _chips(subject: Subject, view: Shown) -> Iterator[Shown]:
    yield {"word": "robot" if subject.robot else "finite model", "mood": "plain", "title": ""}
    for badge in view["badges"][-2:]:  # certified, checked
        yield badge | {"word": f"{badge['word']}: {badge['state']}"}
    judged = [run for run in subject.runs if run.sufficient is not None]
    if judged:
        passed = sum(bool(run.sufficient) for run in judged)
        mood = "good" if passed == len(judged) else "warn" if passed else "bad"
        yield {"word": f"{passed}/{len(judged)} sufficient", "mood": mood, "title": ""}


def further(probes: Probes, studies: Shown | None) -> Iterator[Shown]:
    """Cards of probes and of ledgers."""
    for name, cells in probes.items():
        wrong = sum(not cell["passed"] for cell in cells)
        line = f"{wrong} of {len(cells)} probes are unexpected."
        chip = {"word": "leak suspected" if wrong else "as expected", "mood": "bad" if wrong else "good", "title": ""}
        yield {"title": name, "full": "", "href": "probes", "lines": [line], "chips": [chip]}
    if studies:
        names = ", ".join(studies["studies"])
        seeds_run = sum(cell["ours"][1] for cell in studies["cells"] if cell["ours"])
        line = f"{len(studies['cells'])} lines, {seeds_run} seeds: {names}."
        chip = {"word": "studies", "mood": "plain", "title": ""}
        yield {"title": "Studies", "full": "", "href": "studies", "lines": [line], "chips": [chip]}
