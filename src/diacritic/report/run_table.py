"""All runs in one table, which the report sorts and filters, and their closed loop as dots."""

from collections.abc import Sequence
from typing import Any

from diacritic.measure.verdict import QUESTIONS
from diacritic.report import closed_loop
from diacritic.report.cards import surplus
from diacritic.report.runs import Run

WORDS = {True: "yes", False: "no", None: "not judged"}
Shown = dict[str, Any]


def view(runs: Sequence[Run]) -> Shown | None:
    """A line for each run, robots first, and the columns for the classes that some of them report."""
    if not runs:
        return None
    runs = sorted(runs, key=lambda run: not run.recorded)
    lines = [line(run) for run in runs]
    classes = list(dict.fromkeys(name for each in lines for name in each["classes"]))
    return {"lines": lines, "classes": classes, "has": filled(lines), "chart": closed_loop.chart(runs)}


def filled(lines: Sequence[Shown]) -> dict[str, bool]:
    """Which of the optional columns say something of some run; the others are left out."""
    verdicts = {name: any(one["verdict"][name] is not None for one in lines) for name in ("surplus", "sole")}
    return {key: any(one[key] is not None for one in lines) for key in ("interval", "action_error_cm")} | verdicts


def line(run: Run) -> Shown:
    """What is known of one run."""
    played = closed_loop.shares(run)
    share, low, high, how = played.get("success", (None, None, None, ""))
    return {
        "id": run.id,
        "task": run.task,
        "learner": run.learner,
        "preset": run.preset,
        "seed": run.seed,
        "sufficient": WORDS[run.sufficient],
        "mood": run.mood,
        "peak": _largest(run.rate),
        "need": _largest(run.requirement),
        "surplus": None if run.sufficient is False else surplus([run]),  # of a failed run the difference says nothing
        "success": share,
        "interval": (low, high) if run.rollout is not None else None,
        "how": how,
        "classes": {name: values[0] for name, values in played.items() if name != "success"},
        "action_error_cm": run.rollout["action_error_cm"] if run.rollout else None,
        "verdict": {name: run.verdict[name]["answer"] if run.verdict else None for name in QUESTIONS},
    }


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
