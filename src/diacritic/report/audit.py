"""The audit in the report: probes against chance, flags with what they mean, interventions, and every control."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from diacritic.measure.flags import CAVEATS, RULES
from diacritic.measure.verdict import QUESTIONS
from diacritic.report.charts import Chart, dots, mark
from diacritic.report.inputs import Inputs
from diacritic.report.runs import Run

MOST_VERDICTS, MOST_CHARTS, MOST_CELLS = 32, 12, 120
EFFECTS = {"swap": "partner", "shuffle": "own", "reset": "own", "freeze": "own"}  # the share that is shown
Shown = dict[str, Any]
Cells = Sequence[Mapping[str, Any]]


def view(inputs: Inputs) -> Shown | None:
    """Verdicts in full for the first runs, and the probes of recordings, failures first."""
    judged = [run for run in inputs.runs if run.verdict is not None]
    probed = probed_cells(inputs)
    if not judged and not probed:
        return None
    return {
        "verdicts": [_verdict(run) for run in judged[:MOST_VERDICTS]],
        "judged": len(judged),
        "probes": sorted((probes(name, cells) for name, cells in probed.items()), key=lambda p: not p["unexpected"]),
        "interventions": interventions(judged[:MOST_VERDICTS]),
        "flags": [{"name": name, "rule": rule, "raised": _raised(judged, name)} for name, rule in RULES.items()],
        "caveats": CAVEATS,
    }


def probes(name: str, cells: Cells) -> Shown:
    """Held-out accuracy of every probe with its interval, beside chance; unexpected ones by themselves."""
    wrong = [cell for cell in cells if not cell["passed"]]
    fine = [cell for cell in cells if cell["passed"]]
    said = f"{len(wrong)} of {len(cells)} probes of {name} are unexpected"
    return {"name": name, "said": said, "unexpected": _chart(name, wrong), "expected": _chart(name, fine)}


def _chart(name: str, cells: Cells) -> Chart | None:
    shown = sorted(cells, key=lambda cell: -abs(cell["accuracy"] - cell["chance"]))[:MOST_CELLS]
    rows = []
    for cell in shown:
        said = f"{cell['accuracy']:.2f}, {cell['status']}, Holm p {cell['adjusted']:.2g}"
        accuracy = mark(cell["accuracy"], 0 if cell["passed"] else 1, said, cell["interval"])
        chance = mark(cell["chance"], 2, f"chance {cell['chance']:.2f}")
        rows.append((f"{cell['variable']} in {cell['phase']} ({cell['probe']})", [chance, accuracy]))
    series = (("expected", "good"), ("unexpected", "bad"), ("chance", "tick"))
    label = f"{len(cells)} probes of {name} against chance"
    return dots(label, "held-out accuracy", series, rows) if rows else None


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


def probed_cells(inputs: Inputs) -> dict[str, Cells]:
    """The cells of every table of probes, by name."""
    return dict(islice(((name, cells) for name, cells in _probes(inputs) if cells), MOST_CHARTS))


def _probes(inputs: Inputs) -> Iterator[tuple[str, Cells]]:
    for stem, document in inputs.probes.items():
        for name, probed in document["probes"].items():
            yield f"{stem}: {name}", probed["cells"]
    for demos in inputs.recordings:
        for name, check in (demos.acceptance or {}).get("checks", {}).items():
            if "leaks" in name:
                yield f"recording of {demos.task}: {name}", check["data"]
    for run in inputs.runs:
        for control in run.verdict["controls"] if run.verdict else ():
            if control["name"] == "previous actions" and control.get("data"):
                yield f"{run.task}: {run.label}, previous actions", control["data"]


def _verdict(run: Run) -> Shown:
    assert run.verdict is not None
    verdict = run.verdict
    answers = [{"question": text, **verdict[name]} for name, text in QUESTIONS.items()]
    keys = ("part", "name", "passed", "text")
    controls = [{key: control.get(key) for key in keys} for control in verdict["controls"]]
    heading = {"title": f"{run.task} · {run.label}", "run": verdict["run"], "occupancy": verdict["occupancy"]}
    return heading | {"answers": answers, "controls": controls, "impression": verdict["impression"]}


def _raised(runs: Sequence[Run], flag: str) -> int:
    """How many runs raise a flag."""
    controls = (control for run in runs if run.verdict for control in run.verdict["controls"])
    return sum(flag in control["data"] for control in controls if control["name"] == "audit flags")
