"""The page with all published models: what their experts require for ever."""

import re
from collections.abc import Sequence

from certify.errors import UserError
from diacritic.report.markdown import figure
from reproduction.forever import EXPERTS, Row

_HEAD = """# For ever: all files

<!-- Written by reproduction.forever_page: change it there. -->

Every model that was found, with the experts that it was asked for. `python -m reproduction forever FOLDER` runs what
has no row in `results/forever.jsonl` yet; [For ever](for_ever.md) says what is asked. Bits are those of the long run.
A bracket stands where they are not proved; with ~ its upper end is a machine that errs a little. A dash stands where
no answer was found, with the reason below; an empty cell was not run yet. In parentheses: the fewest codes of one
machine, and the number of past steps (with actions) that fix the law, ∞ where no number does. An episode that ends is
followed by another one. Random controllers have three nodes, policy graphs up to thirty; QMDP is a rule on beliefs; a
privileged expert sees the state. Without a folder a file is PAYNT's; the others come from pomdp-solve, ZMDP,
POMDPFiles.jl and pomdps-reveal (worlds with formulas instead of rewards: an expert is paid 1 for the observations of
the first proposition). Files that state the same world count once. Rows of probabilities that miss 1 by up to a
quarter are divided by their sum; † marks files with such rows off by more than rounding can explain. *Exact*: the bits
are proved for ever; *not transitive*: compatibility is not transitive in so many of the exact ones.
"""
_MOST_REASON = 160
WORLDS, MODELS = "images/for-ever-worlds.svg", "images/for-ever-models.svg"


def page(rows: Sequence[Row]) -> str:
    """The whole page; `forever_figures` draws its pictures."""
    unread = [row for row in rows if _unread(row)]
    read = [row for row in rows if not _unread(row)]
    lines = [_HEAD, *counts(read), "", "## Cassandra's files", "", *_cassandra_section(read), "## PRISM models", ""]
    lines += [*_prism_section(read), "## Reasons", "", *_reasons(read), "", "## Files that are not read", ""]
    faults = dict(sorted({_short(row["file"]): row["reason"].splitlines()[0][:_MOST_REASON] for row in unread}.items()))
    return "\n".join([*lines, *(f"- {name}: {fault}." for name, fault in faults.items()), ""])


def _cassandra_section(rows: Sequence[Row]) -> list[str]:
    table = _cassandra(rows)
    words = "Each dot is a world: its states, and the bits of the long run; a bar spans a bracket."
    return [
        figure("Bits over states, expert by expert", WORLDS, words, "\n".join(table), f"{len(table) - 2} files"),
        "",
    ]


def _prism_section(rows: Sequence[Row]) -> list[str]:
    table = _prism(rows)
    words = "Random controllers of three nodes: states, bits of the long run, and seconds of one core."
    return [figure("Bits and seconds over states", MODELS, words, "\n".join(table), f"{len(table) - 2} models"), ""]


def _unread(row: Row) -> bool:
    """Whether the file was refused, whatever the expert."""
    return row.get("reason", "").startswith("line ")


def _short(name: str) -> str:
    return (
        name.removesuffix("/sketch.templ")
        .removeprefix("models/")
        .removeprefix("cassandra/pomdp/")
        .removesuffix(".pomdp")
    )


def renewed(text: str, name: str, lines: Sequence[str]) -> str:
    """A page with the lines between its two marks renewed."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if begin not in text or end not in text:
        raise UserError(name, f"the page lacks the marks {begin} and {end}")
    return "\n".join([text.partition(begin)[0] + begin, *lines, end + text.partition(end)[2]])


def counts(rows: Sequence[Row]) -> list[str]:
    lines = ["| models, expert | cases | exact | not transitive | bracket | no bits | no answer |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for kind, inside in (("Cassandra", is_cassandra), ("PRISM", lambda row: not is_cassandra(row))):
        for expert in EXPERTS:
            own = [row for row in rows if inside(row) and row["expert"] == expert]
            if own:
                exact = [row for row in own if row.get("certified")]
                counts = (len(own), len(exact), sum(row["transitive"] is False for row in exact))
                answered = [row for row in own if "regime" in row and not row["certified"]]
                open_ones = sum(row["upper"] is not None for row in answered)
                counts += (open_ones, len(answered) - open_ones, sum("regime" not in row for row in own))
                lines.append(f"| {kind}, {expert} | {' | '.join(map(str, counts))} |")
    return lines


def is_cassandra(row: Row) -> bool:
    return row["file"].endswith(".pomdp")


def _cassandra(rows: Sequence[Row]) -> list[str]:
    """One row a file: bits and codes of each expert."""
    lines = [f"| file | states | {' | '.join(EXPERTS)} |", f"|---|---:|{'---:|' * len(EXPERTS)}"]
    files: dict[str, dict[str, Row]] = {}
    for row in filter(is_cassandra, rows):
        files.setdefault(row["file"], {})[row["expert"]] = row
    for name, by_expert in sorted(files.items()):
        states = max(row.get("states", 0) for row in by_expert.values())
        short = _short(name) + (" †" if any(row.get("repaired_rows") for row in by_expert.values()) else "")
        cells = [_cell(by_expert[expert]) if expert in by_expert else "" for expert in EXPERTS]
        lines.append(f"| {short} | {states or '–'} | {' | '.join(cells)} |")
    return lines


def _prism(rows: Sequence[Row]) -> list[str]:
    lines = [
        "| model | states | bits | codes | frames with actions | frames | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        if not is_cassandra(row) and "regime" in row:
            name = _short(row["file"]) + (f" ({row['constants']})" if "constants" in row else "")
            frames = [_frames(row, key) for key in ("frames_with_actions", "frames_without_actions")]
            cells = [f"{row['states']:,}", _bits(row), _codes(row), *frames, f"{row['seconds']:.1f}"]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _reasons(rows: Sequence[Row]) -> list[str]:
    """Each reason with the number of its cases and their names, by expert."""
    cases: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if "reason" in row:
            name = _short(row["file"]) if is_cassandra(row) else _short(row["file"]).rsplit("/", 1)[-1]
            cases.setdefault(_plain(row), {}).setdefault(row["expert"], []).append(name)
    lines: list[str] = []
    for reason, by_expert in sorted(cases.items()):
        names = "; ".join(f"{expert}: {', '.join(own)}" for expert, own in sorted(by_expert.items()))
        lines.append(f"- {reason} ({sum(map(len, by_expert.values()))}). {names}.")
    return lines


def _plain(row: Row) -> str:
    """The reason without what differs from file to file: its name, and how far a search came."""
    reason = row["reason"].splitlines()[0].removeprefix(f"{row['file'].rsplit('/', 1)[-1]}: ").rstrip(".")
    reason = re.sub(r"with windows of up to \d+ labels, ", "", reason).removeprefix("controller: ")
    return reason if len(reason) <= _MOST_REASON else f"{reason[:_MOST_REASON]} …"


def _cell(row: Row) -> str:
    if "regime" not in row:
        return "–"
    frames = _frames(row, "frames_with_actions").replace("none", "∞")
    return f"{_bits(row)} ({_codes(row)}, {frames})"


def _bits(row: Row) -> str:
    if row["upper"] is None:
        return "?"
    if row["certified"]:
        return f"{row['upper'] if row['lower'] else 0:.4g}"
    error = "" if row["error"] == "0" else "~"
    return f"[{row['lower'] or 0:.4g}, {row['upper']:.4g}{error}]"


def _codes(row: Row) -> str:
    codes = row["codes"]
    if codes is None:
        return "–"
    return str(codes["count"]) if codes["count"] is not None else f"{codes['low']}–{codes['high']}"


def _frames(row: Row, key: str) -> str:
    return "–" if key not in row else "none" if row[key] is None else str(row[key])
