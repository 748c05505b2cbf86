"""What `diacritic need` writes: need.json (`diacritic-need/1`) and witnesses.json (`diacritic-witnesses/1`)."""

from pathlib import Path
from typing import Any

from diacritic.files.atomic import read_json, write_json
from diacritic.files.fields import Fields

FORMAT, WITNESSES = "diacritic-need/1", "diacritic-witnesses/1"
REMEDY = "run `diacritic need` again"
KINDS = ("memory needed", "short history is enough", "no evidence of need", "cannot tell")


def write_need(path: Path, document: dict[str, Any]) -> None:
    write_json(path, {"format": FORMAT, **document})


def write_witnesses(path: Path, document: dict[str, Any]) -> None:
    write_json(path, {"format": WITNESSES, **document})


def read_need(path: Path) -> dict[str, Any]:
    """A need.json, checked."""
    return checked_need(read_json(path, FORMAT, REMEDY), str(path))


def checked_need(document: dict[str, Any], path: str) -> dict[str, Any]:
    """The document, or one line that names the field that is wrong."""
    given = Fields(document, path, REMEDY)
    if given.text("answer") not in KINDS:
        raise given.refusal("answer", f"one of {', '.join(KINDS)}")
    for name in ("reason", "recording", "digest", "aligned"):
        given.text(name)
    for name in ("episodes", "steps", "channels", "actions"):
        given.integer(name)
    given.numbers("bits")
    given.texts("notes")
    given.texts("lines")
    for k, item in enumerate(given.items("decisions")):
        decision = Fields.of(item, f"{path}: decisions[{k}]", REMEDY)
        decision.numbers("steps")
        decision.numbers("shown")
        for name in ("p", "told", "classes"):
            decision.number(name)
        decision.text("kind")
    for k, item in enumerate(given.items("elsewhere")):
        step = Fields.of(item, f"{path}: elsewhere[{k}]", REMEDY)
        for name in ("step", "velocity", "filter", "actions", "recent", "older", "error"):
            step.number(name)
    return document


def read_witnesses(path: Path) -> dict[str, Any]:
    """A witnesses.json, checked."""
    document = read_json(path, WITNESSES, REMEDY)
    given = Fields(document, str(path), REMEDY)
    given.text("digest")
    given.number("tolerance")
    for k, item in enumerate(given.items("decisions")):
        decision = Fields.of(item, f"{path}: decisions[{k}]", REMEDY)
        for name in ("episodes", "rows", "classes"):
            decision.numbers(name)
    for k, item in enumerate(given.items("pairs")):
        pair = Fields.of(item, f"{path}: pairs[{k}]", REMEDY)
        pair.integer("decision", 1, len(given.items("decisions")))
        pair.numbers("episodes")
        for name in ("distance", "nearer", "action"):
            pair.number(name)
    return document
