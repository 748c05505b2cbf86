"""The ledger of recordings as two tables of the docs: what was accepted, and how the flaws are caught."""

from collections.abc import Mapping, Sequence
from typing import Any

from certify.errors import UserError
from diacritic.demos.acceptance import ranges
from diacritic.report.markdown import figure
from diacritic.tasks.registry import make as make_task

Row = Mapping[str, Any]
STRIPS, FLAWS = "images/recordings.svg", "images/recordings-flaws.svg"
# the flawed recording, its clean twin, and the question at which the flaw shows
QUESTIONS = {
    "late-frame": ("pixels", "pixel_leaks", "place", "slot"),
    "no-fixture": ("weighing-gap6", "leaks", "gap1", "mass"),
    "contact-no-noise": ("two-cues-gap6", "leaks", "gap2", "mass"),
    "leak4": ("two-cues-gap6", "leaks", "gap2", "slot"),
    "analog": ("readout-3-512", "leaks", "scan", "slot"),
}

_DEFAULTS = {"classes": 2, "first_gap": 2, "hold": 4, "leak": 0.0} | dict.fromkeys(
    ("no_noise", "contact", "late_frame", "analog", "no_fixture"), False
)


def renewed(page: str, rows: Sequence[Row]) -> str:
    """The page with its tables between their marks written again."""
    for name, part in (("recordings", _recordings_part(rows)), ("controls", _controls_part(rows))):
        begin, end = f"<!-- {name}: written by reproduction.recordings_survey -->", f"<!-- {name}: end -->"
        head, marker, rest = page.partition(begin)
        _, closed, tail = rest.partition(end)
        if not marker or not closed:
            raise UserError("page", f"has no table of {name}; put the lines {begin} and {end} where it shall stand")
        page = "\n".join([head + begin, "", part, "", end + tail])
    return page


def _recordings_part(rows: Sequence[Row]) -> str:
    table = recordings(rows)
    words = "Required bits of each recording, step by step; a white line begins each phase."
    return figure("Required bits over the steps", STRIPS, words, "\n".join(table), f"{len(table) - 2} recordings")


def _controls_part(rows: Sequence[Row]) -> str:
    table = controls(rows)
    words = "Accuracy of the best probe on held-out episodes, asked where the flaw shows."
    return figure("Probes of flawed recordings", FLAWS, words, "\n".join(table), f"{len(table) - 2} flaws")


def recordings(rows: Sequence[Row]) -> list[str]:
    """One line for each recording without a flaw."""
    heads = ("recording", "episodes", "expert", "binner wrong", "H(Γ\\|Ō)", "H(Γˢ\\|Ō)", "H(H\\|Ō) in gap₂")
    heads += ("(A4) fails at", "sag read right", "seed + 1", "leaks", "least Holm p where hidden")
    lines = [_line(heads), _line(["---"] * len(heads))]
    for row in rows:
        if row["flaw"] is None:
            lines.append(_line(_recording(row)))
    return lines


def controls(rows: Sequence[Row]) -> list[str]:
    """One line for each flaw: the accuracy with it and without it where it shows, and whether the checks caught it."""
    heads = ("flaw", "recording", "question", "chance", "clean", "flawed", "Holm p", "checks that fail")
    by_name = {row["dataset"]: row for row in rows}
    lines = [_line(heads), _line(["---"] * len(heads))]
    for row in rows:
        if row["flaw"] is not None:
            lines.append(_line(_control(row, by_name)))
    return lines


def _recording(row: Row) -> list[str]:
    proof, fresh = row["certificate"], row["fresh"]
    wrong = [sum(item[k] for item in row["disagreements"].values()) for k in (0, 2)]
    sag = row["sag_agreement"]
    return [
        named(row),
        f"{row['episodes']}",
        _of(row["expert_success"]) + (f" + {_of([fresh['succeeded'], fresh['of']])}" if fresh else ""),
        f"{wrong[0]} of {wrong[1]}",
        _levels(proof["requirement"]),
        _levels(proof["strong"]) if proof["strong"] != proof["requirement"] else "the same",
        _levels({"gap2": proof["history"]["gap2"]}) if "gap2" in proof["history"] else "–",
        ranges(proof["failing"]["a4"]) if proof["failing"]["a4"] else "–",
        ", ".join(f"{phase} {share:.3f}" for phase, share in sag.items()) if sag else "–",
        ("identical" if fresh["identical"] else f"{len(fresh['differences'])} differences") if fresh else "–",
        *_verdict(row),
    ]


def named(row: Row) -> str:
    """The recording as it is asked for; one of an earlier version of the task says so."""
    version = row.get("task_version", 1)
    return f"`{_command(row)}`" + (f", version {version}" if version < make_task(row["task"]).version else "")


def _verdict(row: Row) -> list[str]:
    """The leak tables in short: what failed, and the least p of a hidden cell."""
    tables = [row[name] for name in ("leaks", "pixel_leaks") if row[name] is not None]
    failed = [cell for table in tables for cell in table["failed"]]
    cells = sum(table["cells"] for table in tables)
    told = f"{cells} of {cells} cells" if not failed else "; ".join(_cell(cell) for cell in failed)
    worst = min((table["worst"] for table in tables if table["worst"]), key=lambda cell: cell["p"])
    return [told, _cell(worst)]


def flaw_accuracies(row: Row, by_name: Mapping[str, Row]) -> list[str]:
    """The best probe on the clean twin, if it is there, and on the flawed recording."""
    twin, table, phase, variable = QUESTIONS[row["dataset"]]
    return [_best(by_name[name][table], phase, variable) for name in (twin, row["dataset"]) if name in by_name]


def _control(row: Row, by_name: Mapping[str, Row]) -> list[str]:
    _, table, phase, variable = QUESTIONS[row["dataset"]]
    accuracies = flaw_accuracies(row, by_name)
    failed = [cell for cell in (row[table] or {"failed": []})["failed"] if cell["phase"].startswith(phase)]
    caught = [cell for cell in failed if cell["variable"] == variable]
    clean, flawed = accuracies if len(accuracies) == 2 else ("–", accuracies[0])
    least = min((cell["p"] for cell in caught), default=None)
    return [
        row["flaw"],
        named(row),
        f"{variable} in {phase}",
        f"{caught[0]['chance']:.2f}" if caught else "–",
        clean,
        flawed,
        "–" if least is None else f"{least:.1g}",
        ", ".join(row["failed"]) or "none",
    ]


def _best(table: Row, phase: str, variable: str) -> str:
    """The best probe of one question; of frames, the first of the phase."""
    here = [(key, share) for key, share in table["accuracy"].items() if key.startswith(phase)]
    asked = [(key, share) for key, share in here if f" × {variable} (" in key]
    first = asked[0][0].partition(" × ")[0]
    return f"{max(share for key, share in asked if key.partition(' × ')[0] == first):.2f}"


def _command(row: Row) -> str:
    """The task and its parameters as on the command line, without what the survey never varies."""
    usual = {"jitter", "place_by"} | ({"gap"} if row["task"] not in ("two-cues", "weighing") else set())
    told = {key: value for key, value in row["parameters"].items() if key not in usual and value != _DEFAULTS.get(key)}
    pixels = [] if row["pixel_leaks"] is None else ["--pixels"]
    return " ".join([row["task"], *(f"{key}={str(value).lower()}" for key, value in told.items()), *pixels])


def _levels(phases: Mapping[str, Sequence[float]]) -> str:
    """The levels of a staircase, each once."""
    words = [f"{value:.2f}".rstrip("0").rstrip(".") for values in phases.values() for value in values]
    return " → ".join(word for k, word in enumerate(words) if k == 0 or word != words[k - 1])


def _cell(cell: Row) -> str:
    text = f"{cell['phase']} × {cell['variable']} {cell['accuracy']:.2f} ({cell['chance']:.2f})"
    return f"{text}, p {min(cell['p'], 1):.2g}"


def _of(counts: Sequence[int]) -> str:
    return f"{counts[0]}/{counts[1]}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
