"""The generated part of the arena's page: pictures, what is missing, longer episodes, costs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from certify.errors import UserError
from diacritic.files.atomic import read_text, write_text
from diacritic.files.ledger import Row
from diacritic.report.arena import Scores
from diacritic.report.dot_chart import Panel, dot_chart
from diacritic.report.markdown import folded
from diacritic.studies.arena import ENTRANTS, SHORT, Score, Setting

BEGIN, END = "<!-- arena: begin -->", "<!-- arena: end -->"


def insert(path: Path, text: str) -> None:
    """Put the generated part between the marks of a page."""
    before, begin, rest = read_text(path, "give the arena's page").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UserError(str(path), f"has no marks; put {BEGIN} and {END} around the place for the results")
    write_text(path, f"{before}{BEGIN}\n{text}{END}{after}")


def page(
    names: Sequence[str],
    scores: Scores,
    settings: Mapping[str, Setting],
    short: Sequence[Sequence[Row]],
    trials: tuple[int, int],
    superseded: int = 0,
) -> str:
    """The generated part of docs/arena.md: `short` are the rows of the 20-step task, by memory; `trials` says
    how many the search made, and has; `superseded` runs of the ledger have other settings."""
    done, (tried, every) = sum(score is not None for row in scores.values() for score in row), trials
    unequal = (
        f" The search of settings was broken off after {tried} of its {every} trials, so that the settings below do not"
        " have an equal budget; where none is named, a memory has those of its preset."
    )
    equal = " Every memory has the settings that its search chose; all searches had the same budget."
    other = f" {superseded:,} older runs in the ledger have other settings; nothing on this page counts them."
    missing = _missing(names, scores)
    said = (unequal if tried < every else equal) + (other if superseded else "")
    lines = [
        "[![Sufficient seeds by task and memory](images/arena/matrix.svg)](images/arena/matrix.svg)",
        "",
        f"{done} of {len(scores) * len(names)} cells have been run.{said}",
        "",
        f"Tasks in which every seed is sufficient: {_ranking(names, scores)}.",
        "",
        *(folded("What is missing", [f"{missing}."]) if missing else ()),
        "![Bits carried against success](images/arena/bits.svg)",
        "",
        "## Longer than trained",
        "",
        f"Trained on `{SHORT.title}`, episodes of 20 steps; the wait is then lengthened, and nothing is trained again.",
        "Seeds that solve every episode; a question mark: the state does not settle within 10,000 steps, or, of a",
        "Transformer, there are no positions beyond those of training.",
        "",
        "| memory | 20 | 100 | 1,000 | 10⁴ | 10⁶ |",
        "|---|---:|---:|---:|---:|---:|",
        *(_length_line(name, rows) for name, rows in zip(names, short, strict=True) if rows),
        "",
        *_arm(names, scores),
        "## What it costs",
        "",
        "Medians over the tasks that were run. Updates and seconds (of one run in its cohort) count until every action",
        "is right for the first time, among the seeds that got there; microseconds a step are those of one CPU thread.",
        "",
        *_costs(names, scores, settings),
    ]
    return "\n".join(lines) + "\n"


def _ranking(names: Sequence[str], scores: Scores) -> str:
    """Memories with the number of tasks in which no seed fails, the largest number first."""
    counts = [sum(_whole(row[k]) for row in scores.values()) for k in range(len(names))]
    ranked = sorted(zip(names, counts, strict=True), key=lambda one: -one[1])
    return ", ".join(f"{name} {count}" for name, count in ranked)


def _whole(score: Score | None) -> bool:
    return score is not None and score.sufficient == score.seeds


def _missing(names: Sequence[str], scores: Scores) -> str:
    """Tasks of which nothing was run, and those of which something was not; whichever list of memories is shorter."""
    whole = [task.title for task, row in scores.items() if not any(row)]
    texts = [f"all of {', '.join(whole)}"] if whole else []
    for task, row in scores.items():
        ran = [name for name, score in zip(names, row, strict=True) if score is not None]
        left = [name for name in names if name not in ran]
        if ran and left:
            said = ", ".join(left) if len(left) <= len(ran) else f"all but {', '.join(ran)}"
            texts.append(f"{task.title} ({said})")
    return "; ".join(texts)


def _length_line(name: str, rows: Sequence[Row]) -> str:
    texts = []
    for length in ("20", "100", "1000", "10000", "1000000"):
        values = [row["success"] if length == "20" else row["lengths"].get(length) for row in rows]
        measured = [value for value in values if value is not None]
        texts.append(f"{sum(value == 1 for value in measured)}/{len(rows)}" if len(measured) == len(rows) else "?")
    return f"| {name} | {' | '.join(texts)} |"


def _arm(names: Sequence[str], scores: Scores) -> list[str]:
    """Sufficient seeds and success in closed loop on the tasks that are recorded."""
    tasks = [task for task in scores if task.recorded]
    lines = []
    for k, name in enumerate(names):
        mine = [scores[task][k] for task in tasks]
        if any(mine):
            lines.append(f"| {name} | {' | '.join(_arm_text(score) for score in mine)} |")
    if not lines:
        return []
    return [
        "## On the arm",
        "",
        "Sufficient seeds, and beside them the mean success of all seeds in closed loop, 128 episodes each (–: was not",
        "played).",
        "",
        f"| memory | {' | '.join(task.title for task in tasks)} |",
        f"|---|{'---:|' * len(tasks)}",
        *lines,
        "",
    ]


def _arm_text(score: Score | None) -> str:
    if score is None:
        return ""
    return f"{score.text}, {'–' if score.closed_loop is None else f'{score.closed_loop:.2f}'}"


def costs_svg(names: Sequence[str], scores: Scores) -> str:
    """Parameters, microseconds, and updates until every action is right, by memory."""
    panels = {"parameters": "parameters", "latency": "µs a step", "updates": "updates"}
    lines = {}
    for k, name in enumerate(names):
        if mine := [row[k] for row in scores.values() if row[k] is not None]:
            medians = {key: _middle([getattr(score, key) for score in mine]) for key in panels}
            lines[name] = {title: {"median": medians[key]} for key, title in panels.items()}
    return dot_chart("arena-costs", lines, [Panel(title, log=True) for title in panels.values()])


def _costs(names: Sequence[str], scores: Scores, settings: Mapping[str, Setting]) -> list[str]:
    lines = list(_cost_lines(names, scores, settings))
    heads = "| memory | rate | size | parameters | µs a step | tasks with every seed | updates | seconds | trained on |"
    table = folded(f"The table: {len(lines)} memories", [heads, "|---|---:|---:|---:|---:|---:|---:|---:|---|", *lines])
    return ["![Parameters, microseconds a step and updates by memory](images/arena/costs.svg)", "", *table]


def _cost_lines(names: Sequence[str], scores: Scores, settings: Mapping[str, Setting]) -> Iterator[str]:
    for k, name in enumerate(names):
        mine = [row[k] for row in scores.values() if row[k] is not None]
        if not mine:
            continue
        full = sum(map(_whole, mine))
        like = ENTRANTS[name].like if name in ENTRANTS else None
        chosen = settings.get(like or name, Setting())
        keys = ("parameters", "latency", "updates", "seconds")
        numbers = [_middle([getattr(score, key) for score in mine]) for key in keys]
        texts = [f"{numbers[0]:,.0f}", f"{numbers[1]:.0f}", f"{full}/{len(mine)}"]
        texts += ["" if numbers[2] is None else f"{numbers[2]:,.0f}", "" if numbers[3] is None else f"{numbers[3]:.2f}"]
        texts.append(", ".join(sorted({score.device for score in mine if score})))
        yield f"| {name} | {chosen.rate or ''} | {chosen.size or ''} | {' | '.join(texts)} |"


def _middle(values: Sequence[float | None]) -> float | None:
    present = sorted(value for value in values if value is not None)
    return present[len(present) // 2] if present else None
