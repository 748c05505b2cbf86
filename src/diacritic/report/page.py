"""The page: one HTML file that shows what a task requires, what policies carry, and where they part.

Nothing is fetched when it is opened. Plotly travels inside it, compressed; a content security policy names the digest
of every script that may run, so text that slipped through the escaping would still be inert.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from certify import Answer, Model
from certify.errors import UserError
from certify.optional import import_optional
from certify.progress import working
from diacritic.demos.requirement import recording
from diacritic.files.atomic import make_folder, write_text
from diacritic.files.demos import Demos
from diacritic.report import audit, closed_loop, cohort, requirement
from diacritic.report import ledgers as ledger_section
from diacritic.report.inputs import Inputs, LeftOut, collect
from diacritic.report.titles import full_title, short_title
from diacritic.tasks.named import named_model

LIMIT = 6_000_000  # bytes of a page
MOST_REQUIREMENTS = 12
TEMPLATES = Path(__file__).with_name("templates")
Shown = dict[str, Any]


def report(
    *subjects: Any,
    out: Path | str = "report.html",
    title: str = "Diacritic report",
    film: bool = True,
    ledgers: ledger_section.View = ledger_section.view,
) -> Inputs:
    """Write one self-contained HTML page about any mix of requirements, models, recordings, runs, and paths of them.

    A text names a path, or a zoo task with its parameters. What was left out is on the page and in the result.
    `ledgers` says what is shown of ledgers; another view may put a reference beside them.
    """
    inputs = gather(subjects)
    text = build(inputs, film, title, ledgers)
    path = Path(out)
    make_folder(path.parent)
    write_text(path, text)
    return inputs


def gather(subjects: Sequence[Any]) -> Inputs:
    """The inputs of a page from Python objects and words."""
    inputs = Inputs()
    for subject in subjects:
        if isinstance(subject, Answer):
            inputs.models.append(subject.model)
        elif isinstance(subject, Model):
            inputs.models.append(subject)
        elif isinstance(subject, Demos):
            inputs.recordings.append(subject)
        else:
            words = getattr(subject, "paths", [subject])  # of runs that training gave back
            inputs.extend(collect([str(word) for word in words]))
    return inputs


def build(
    inputs: Inputs,
    filmed: bool = True,
    title: str = "Diacritic report",
    ledgers: ledger_section.View = ledger_section.view,
) -> str:
    """The page as text, below the limit: the film goes first if it must, then the film strips."""
    sections = _sections(inputs, filmed, ledgers)
    text = render(sections, inputs.left_out, title)
    for section, part in (("closed_loop", "film"), ("cohort", "strips"), ("audit", "verdicts")):
        if len(text.encode()) <= LIMIT:
            break
        shown = sections[section]
        if shown and shown[part]:
            shown[part] = None
            inputs.left_out.append(LeftOut(part, f"the page would be larger than {LIMIT / 1e6:g} MB with it"))
            text = render(sections, inputs.left_out, title)
    return text


def _sections(inputs: Inputs, filmed: bool, ledgers: ledger_section.View) -> dict[str, Shown | None]:
    models = _models(inputs)
    learned = {run.task: models[run.task] for run in inputs.runs if run.task in models}
    shown = []
    for model in models.values():
        with working(f"certifying {model.name}"):
            shown.append(requirement.view(model))
    return {
        "requirement": {"models": shown} if shown else None,
        "cohort": cohort.view(inputs, learned),
        "closed_loop": closed_loop.view(inputs, filmed),
        "audit": audit.view(inputs),
        "studies": ledgers(inputs.ledgers, inputs.figures),
        "titles": _titles(inputs),
    }


def _titles(inputs: Inputs) -> dict[str, str]:
    """Titles in full, by short ones that leave something out."""
    known = {run.task: run.full_task for run in inputs.runs}
    for demos in inputs.recordings:
        known[short_title(demos.task, demos.parameters)] = full_title(demos.task, demos.parameters)
    return {short: full for short, full in known.items() if short != full}


def _models(inputs: Inputs) -> dict[str, Model]:
    """By name: models that were given, those of recordings, and those that runs learned."""
    found = {model.name: model for model in inputs.models}
    for demos in inputs.recordings:
        try:
            found.setdefault(short_title(demos.task, demos.parameters), recording(demos).model)
        except UserError as problem:
            inputs.leave_out(problem)
    for task in dict.fromkeys(run.task for run in inputs.runs if not run.recorded):
        name, *parameters = task.split()
        if task in found or name.endswith((".json", ".npz")):
            continue
        try:
            found[task] = named_model(name, parameters)
        except UserError as problem:
            inputs.leave_out(UserError(f"requirement of {task}", f"{problem}; give its model file as an input"))
    if len(found) > MOST_REQUIREMENTS:
        said = f"the first {MOST_REQUIREMENTS} of {len(found)} are shown; give fewer inputs to see the others"
        inputs.left_out.append(LeftOut("requirements", said))
    return {name: replace(model, name=name) for name, model in list(found.items())[:MOST_REQUIREMENTS]}


def render(sections: dict[str, Shown | None], left_out: Sequence[LeftOut], title: str) -> str:
    """Fill the templates; every text is escaped."""
    jinja2: Any = import_optional("jinja2", "report")
    verbatim: Any = import_optional("markupsafe", "report").Markup  # our own files, and what is already escaped
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"bits": _bits, "percent": _percent}
    charts: dict[str, Any] = {}

    def place(drawn: Shown) -> str:
        """Keep a chart for the script, and give the name of its place."""
        charts[f"chart-{len(charts) + 1}"] = drawn
        return f"chart-{len(charts)}"

    environment.globals["place"] = place
    script, library = (TEMPLATES / "page.js").read_text(encoding="utf-8"), _plotly()
    body = environment.get_template("sections.html").render(sections, left_out=left_out, title=title)
    machines = [model["machine"] for model in (sections["requirement"] or {"models": []})["models"]]
    steps = [model["steps"] for model in (sections["requirement"] or {"models": []})["models"]]
    cells = (sections["studies"] or {"cells": []})["cells"]
    data = {"charts": charts, "machines": machines, "steps": steps, "cells": cells}
    return environment.get_template("page.html").render(
        title=title,
        body=verbatim(body),
        style=verbatim((TEMPLATES / "page.css").read_text(encoding="utf-8")),
        script=verbatim(script),
        data=verbatim(embedded(data)),
        library=_packed(library),
        scripts=" ".join(f"'sha256-{_hash(text)}'" for text in (script, library)),
    )


def embedded(data: Any) -> str:
    """JSON that can stand inside a script element: no character of it can end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _plotly() -> str:
    return import_optional("plotly.offline", "report").get_plotlyjs()


@cache
def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _bits(value: float | None) -> str:
    return "—" if value is None else f"{round(value, 2) + 0.0:.2f}"


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value:.0%}"
