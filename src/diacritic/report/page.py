"""The report: one HTML file that shows what a task requires, what policies carry, and where they differ.

Nothing is fetched when it is opened. A content security policy names the digest of the one script that may run, so text
that slipped through the escaping would still be inert.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certify import Answer, Model
from certify.optional import import_optional
from diacritic.files.atomic import make_folder, write_text
from diacritic.files.demos import Demos
from diacritic.need.answer import Need
from diacritic.need.document import need_document
from diacritic.report import audit, cards, closed_loop, colours, run_table
from diacritic.report import ledgers as ledger_section
from diacritic.report import need as need_section
from diacritic.report.inputs import Inputs, LeftOut, collect
from diacritic.report.provenance import provenance
from diacritic.report.subjects import Subject, subjects, views

LIMIT = 6_000_000  # bytes of a report
TEMPLATES = Path(__file__).with_name("templates")
SCRIPTS = ("draw.js", "dots.js", "timeline.js", "machine.js", "tables.js", "page.js")
Shown = dict[str, Any]


def report(
    *subjects: Any,
    out: Path | str = "report.html",
    title: str = "Diacritic report",
    film: bool = True,
    ledgers: ledger_section.View = ledger_section.view,
    command: str = "",
) -> Inputs:
    """Write one self-contained HTML file about any mix of requirements, models, recordings, runs, and paths of them.

    A text names a path, or a zoo task with its parameters. The report and the result list what was left out.
    `ledgers` says what is shown of ledgers; another view may put a reference beside them. `command` is told as the
    origin of the report.
    """
    inputs = gather(subjects)
    text = build(inputs, film, title, ledgers, command)
    path = Path(out)
    make_folder(path.parent)
    write_text(path, text)
    return inputs


def gather(subjects: Sequence[Any]) -> Inputs:
    """The inputs of a report from Python objects and words."""
    inputs = Inputs()
    for subject in subjects:
        if isinstance(subject, Answer):
            inputs.models.append(subject.model)
        elif isinstance(subject, Model):
            inputs.models.append(subject)
        elif isinstance(subject, Need):
            inputs.needs.append(need_document(subject))
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
    command: str = "",
) -> str:
    """The report as text, below the limit: the film goes first if it must, then the code strips, then the verdicts."""
    shown = sections(inputs, filmed, ledgers) | {"origin": provenance(inputs, command)}
    text = render(shown, inputs.left_out, title)
    for part in ("film", "strips", "verdicts"):
        if len(text.encode()) <= LIMIT:
            break
        if _drop(shown, part):
            inputs.left_out.append(LeftOut(part, f"the report would be larger than {LIMIT / 1e6:g} MB with it"))
            text = render(shown, inputs.left_out, title)
    return text


def _drop(shown: Shown, part: str) -> bool:
    """Take one part out of every section that has it; whether there was any."""
    holders = [holder for holder in [*shown["tasks"], shown["audit"] or {}] if holder.get(part)]
    for holder in holders:
        holder[part] = None if part == "film" else []
    return bool(holders)


def sections(inputs: Inputs, filmed: bool, ledgers: ledger_section.View) -> Shown:
    """What every section shows."""
    listed = subjects(inputs)
    tasks = views(listed, inputs)
    _place_film(tasks, closed_loop.film(inputs, filmed))
    studies = ledgers(inputs.ledgers, inputs.figures)
    return {
        "cards": [cards.card(subject, task) for subject, task in zip(listed, tasks, strict=True)]
        + list(cards.further(audit.probed_cells(inputs), studies)),
        "needs": need_section.view(inputs),
        "tasks": tasks,
        "runs": run_table.view(inputs.runs),
        "audit": audit.view(inputs),
        "studies": studies,
        "titles": {subject.name: subject.full for subject in listed if subject.full not in ("", subject.name)},
    }


def _place_film(tasks: list[Shown], film: Shown | None) -> None:
    """With its task; one that was given goes with the first, and makes a place for itself where there is none."""
    if film is None:
        return
    named = next((task for task in tasks if task["name"] == film["task"]), None)
    if named is None and not tasks:
        tasks += views([Subject(film["title"], robot=True)], Inputs())
    (named or tasks[0])["film"] = film


def render(shown: Shown, left_out: Sequence[LeftOut], title: str) -> str:
    """Fill the templates; every text is escaped."""
    jinja2: Any = import_optional("jinja2", "report")
    verbatim: Any = import_optional("markupsafe", "report").Markup  # our own files, and what is already escaped
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"bits": _bits, "percent": _percent}
    charts: dict[str, Any] = {}

    def chart_id(drawn: Shown) -> str:
        """Keep a chart for the script, and give the name of its place."""
        charts[f"chart-{len(charts) + 1}"] = drawn
        return f"chart-{len(charts)}"

    environment.globals["chart_id"] = chart_id
    body = environment.get_template("sections.html").render(shown, left_out=left_out, title=title)
    script = '"use strict";\n' + "".join(_file(name) for name in SCRIPTS)
    studies = shown["studies"] or {"cells": [], "rates": None}
    data = {"charts": charts, "tasks": [_without_film(task) for task in shown["tasks"]], "cells": studies["cells"]}
    return environment.get_template("page.html").render(
        title=title,
        body=verbatim(body),
        style=verbatim(colours.style() + _file("page.css")),
        script=verbatim(script),
        data=verbatim(embedded(data | {"rates": studies["rates"], "colours": len(colours.CLASSES)})),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _without_film(task: Shown) -> Shown:
    return {key: value for key, value in task.items() if key not in ("film", "badges", "sentences")} | {
        "times": (task["film"] or {}).get("times", [])
    }


def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def embedded(data: Any) -> str:
    """JSON that can stand inside a script element: no character of it can end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _bits(value: float | None) -> str:
    return "—" if value is None else f"{round(value, 2) + 0.0:.2f}"


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value:.0%}"
