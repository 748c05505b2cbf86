"""The cohort on the page: every seed's learned rate over the staircase, its codes over time, and who suffices."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from certify import Model
from certify.errors import UserError
from diacritic.measure.statistics import wilson
from diacritic.report.charts import BAD, GOOD, GREY, INK, Chart, Trace, chart, joined, line, plain, steps_axis
from diacritic.report.inputs import Inputs
from diacritic.report.runs import Run
from diacritic.report.strips import MOST_RUNS, strip, usage

MOST_CHARTS = 12
Shown = dict[str, Any]


def view(inputs: Inputs, models: Mapping[str, Model]) -> Shown | None:
    """Charts task by task, film strips of the first runs, and one table of all."""
    if not inputs.runs:
        return None
    tasks = by_task(inputs.runs)
    charts = [rates(task, runs) for task, runs in list(tasks.items())[:MOST_CHARTS] if any(run.rate for run in runs)]
    shown = [run for runs in tasks.values() for run in runs][:MOST_RUNS]
    strips, used = [], {}
    for run in shown:
        try:
            strips.append({"task": run.task} | strip(run, models.get(run.task), inputs.recordings))
            used[f"{run.task}: {run.label}"] = usage(run.codes())
        except UserError as problem:
            inputs.leave_out(problem)
    return {
        "charts": charts,
        "more": max(0, len(tasks) - MOST_CHARTS),
        "strips": strips,
        "hidden": len(inputs.runs) - len(shown),
        "usage": usage_chart(used) if used else None,
        "table": table(tasks),
    }


def by_task(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs of one task together, by learner, preset and seed."""
    found: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.task, run.learner, run.preset, run.seed)):
        found.setdefault(run.task, []).append(run)
    return found


def rates(task: str, runs: Sequence[Run]) -> Chart:
    """Ĥ(C_t|Ō_t) of every seed over R_t: sufficient seeds blue, failed ones red and dashed."""
    groups = {
        "sufficient": (GOOD, "solid", [run for run in runs if run.sufficient]),
        "failed": (BAD, "dash", [run for run in runs if run.sufficient is False]),
        "not judged": (GREY, "dot", [run for run in runs if run.sufficient is None]),
    }
    need = next((run.requirement for run in runs if run.requirement), [])
    traces: list[Trace] = [line("required", need, INK, line={"width": 3.5})] if need else []
    for name, (colour, dash, members) in groups.items():
        curves = {run.label: run.rate for run in members if run.rate}
        if not curves:
            continue
        x, y, text = joined(curves)
        style = {"color": colour, "dash": dash, "width": 1.3, "shape": "hvh"}
        hover = "%{text}<br>step %{x}: %{y:.2f} bit<extra></extra>"
        kind = {"type": "scatter", "mode": "lines+markers", "marker": {"size": 4, "color": colour}}
        said = {"name": f"{name} ({len(curves)})", "text": text, "hovertemplate": hover}
        traces.append(kind | said | {"x": x, "y": y, "line": style, "opacity": 0.8, "connectgaps": False})
    passed = sum(bool(run.sufficient) for run in runs)
    label = f"Learned rate of {len(runs)} runs on {task} over its requirement; {passed} of them are sufficient"
    return chart(traces, label, "step", "bits", title=task, xaxis=steps_axis(len(need)))


def usage_chart(used: Mapping[str, Sequence[float]]) -> Chart:
    """One bar a run, divided among its codes."""
    names = list(used)
    traces = [
        {
            "type": "bar",
            "name": f"code {code}",
            "x": [k + 1 for k in range(len(names))],
            "y": [shares[code] if code < len(shares) else 0 for shares in used.values()],
            "text": list(map(plain, names)),
            "textposition": "none",
            "hovertemplate": f"%{{text}}<br>code {code}: %{{y:.0%}}<extra></extra>",
            "marker": {"color": f"--code-{code % 16}"},
        }
        for code in range(max(map(len, used.values())))
        if any(code < len(shares) and shares[code] for shares in used.values())
    ]
    label = f"How often each code occurs in {len(names)} runs"
    return chart(traces, label, "run", "share", barmode="stack", xaxis={"dtick": 1 if len(names) <= 16 else 4})


def table(tasks: Mapping[str, Sequence[Run]]) -> list[Shown]:
    """Sufficient seeds of every task, learner and preset, with the 95 % Wilson interval, and what they carry."""
    rows: list[Shown] = []
    for task, runs in tasks.items():
        cells: dict[tuple[str, str], list[Run]] = {}
        for run in runs:
            cells.setdefault((run.learner, run.preset), []).append(run)
        for (learner, preset), members in cells.items():
            judged = [run for run in members if run.sufficient is not None]
            good = [run for run in judged if run.sufficient]
            low, high = wilson(len(good), len(judged)) if judged else (None, None)
            rows.append(
                {"task": task, "learner": learner, "preset": preset, "runs": len(members), "low": low, "high": high}
                | {"passed": len(good), "judged": len(judged), "peak": _mean(good, "rate")}
                | {"need": _mean(members, "requirement"), "surplus": _surplus(good)}
            )
    return rows


def _mean(runs: Sequence[Run], name: str) -> float | None:
    """The largest of the steps, averaged over runs."""
    known = [[bits for bits in getattr(run, name) if bits is not None] for run in runs]
    peaks = [max(values) for values in known if values]
    return float(np.mean(peaks)) if peaks else None


def _surplus(runs: Sequence[Run]) -> float | None:
    """Mean rate beyond the requirement over all steps where both are known."""
    gaps = [
        rate - need
        for run in runs
        for rate, need in zip(run.rate, run.requirement, strict=False)
        if rate is not None and need is not None
    ]
    return float(np.mean(gaps)) if gaps else None
