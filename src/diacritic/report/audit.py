"""The audit on the page: probes against chance, flags with what they mean, interventions, and every control."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from diacritic.measure.flags import CAVEATS, RULES
from diacritic.measure.verdict import QUESTIONS
from diacritic.report.charts import BAD, GOOD, GREY, Chart, chart, plain
from diacritic.report.inputs import Inputs
from diacritic.report.runs import Run

MOST_VERDICTS, MOST_CHARTS, MOST_CELLS = 32, 12, 120
EFFECTS = {"swap": "partner", "shuffle": "own", "reset": "own", "freeze": "own"}  # the share that is shown
Shown = dict[str, Any]
Cells = Sequence[Mapping[str, Any]]


def view(inputs: Inputs) -> Shown | None:
    """Verdicts in full for the first runs, as a line each beyond, and the probes of recordings."""
    judged = [run for run in inputs.runs if run.verdict is not None]
    probed = dict(islice(_probes(inputs), MOST_CHARTS))
    if not judged and not probed:
        return None
    return {
        "verdicts": [_verdict(run) for run in judged[:MOST_VERDICTS]],
        "summary": [_line(run) for run in judged],
        "probes": [probes(name, cells) for name, cells in probed.items() if cells],
        "interventions": interventions(judged[:MOST_VERDICTS]),
        "flags": [{"name": name, "rule": rule, "raised": _raised(judged, name)} for name, rule in RULES.items()],
        "caveats": CAVEATS,
    }


def probes(name: str, cells: Cells) -> Chart:
    """Held-out accuracy of every probe with its interval, beside chance."""
    shown = sorted(cells, key=lambda cell: (cell["passed"], -abs(cell["accuracy"] - cell["chance"])))[:MOST_CELLS]
    y = [plain(f"{cell['variable']} in {cell['phase']} ({cell['probe']})") for cell in shown][::-1]
    shown = shown[::-1]
    chance = {
        "type": "scatter",
        "mode": "markers",
        "name": "chance",
        "x": [cell["chance"] for cell in shown],
        "y": y,
        "marker": {"color": GREY, "symbol": "line-ns-open", "size": 11, "line": {"width": 2}},
    }
    traces = [chance]
    moods = {"expected": (GOOD, "circle", True), "unexpected": (BAD, "x", False)}
    for word, (colour, symbol, passed) in moods.items():
        mine = [(place, cell) for place, cell in zip(y, shown, strict=True) if cell["passed"] is passed]
        if mine:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": word,
                    "x": [cell["accuracy"] for _, cell in mine],
                    "y": [place for place, _ in mine],
                    "text": [f"{cell['status']}, Holm p {cell['adjusted']:.2g}" for _, cell in mine],
                    "hovertemplate": "%{y}: %{x:.2f}<br>%{text}<extra></extra>",
                    "marker": {"color": colour, "symbol": symbol, "size": 8},
                    "error_x": {
                        "type": "data",
                        "symmetric": False,
                        "array": [cell["interval"][1] - cell["accuracy"] for _, cell in mine],
                        "arrayminus": [cell["accuracy"] - cell["interval"][0] for _, cell in mine],
                        "color": colour,
                        "thickness": 1,
                    },
                }
            )
    wrong = sum(not cell["passed"] for cell in cells)
    label = f"{len(cells)} probes of {name} against chance; {wrong} are unexpected"
    layout = {"xaxis": {"range": [-0.03, 1.03]}, "height": 130 + 17 * len(shown), "title": name}
    layout["yaxis"] = {"dtick": 1, "tickfont": {"size": 11}}
    return chart(traces, label, "held-out accuracy", "", **layout)


def interventions(runs: Sequence[Run]) -> list[Shown]:
    """Of every run and trial: the share of decisions that did what a sole carrier's do."""
    rows: list[Shown] = []
    for run in runs:
        for control in run.verdict["controls"] if run.verdict else ():
            trials = control.get("data") if control["name"].startswith("code swap") else None
            for trial in trials or ():
                shares = {kind: (trial.get(kind) or {}).get(share) for kind, share in EFFECTS.items()}
                where = control["name"].removeprefix("code swap, ")
                rows.append(
                    {"run": run.label, "where": where, "trial": trial["name"], "pairs": trial["pairs"]} | shares
                )
    return rows


def _probes(inputs: Inputs) -> Iterator[tuple[str, Cells]]:
    for stem, document in inputs.probes.items():
        for name, found in document["probes"].items():
            yield f"{stem}: {name}", found["cells"]
    for demos in inputs.recordings:
        for name, found in (demos.acceptance or {}).get("checks", {}).items():
            if "leaks" in name:
                yield f"recording of {demos.task}: {name}", found["data"]
    for run in inputs.runs:
        for control in run.verdict["controls"] if run.verdict else ():
            if control["name"] == "previous actions" and control.get("data"):
                yield f"{run.task}: {run.label}, previous actions", control["data"]


def _verdict(run: Run) -> Shown:
    assert run.verdict is not None
    found = run.verdict
    answers = [{"question": text, **found[name]} for name, text in QUESTIONS.items()]
    keys = ("part", "name", "passed", "text")
    controls = [{key: control.get(key) for key in keys} for control in found["controls"]]
    known = {"title": f"{run.task} · {run.label}", "run": found["run"], "occupancy": found["occupancy"]}
    return known | {"answers": answers, "controls": controls, "impression": found["impression"]}


def _raised(runs: Sequence[Run], flag: str) -> int:
    """How many runs raise a flag."""
    controls = (control for run in runs if run.verdict for control in run.verdict["controls"])
    return sum(flag in control["data"] for control in controls if control["name"] == "audit flags")


def _line(run: Run) -> Shown:
    assert run.verdict is not None
    return {"task": run.task, "label": run.label} | {name: run.verdict[name]["answer"] for name in QUESTIONS}
