"""Ledgers as pages: our counts beside the paper's, cell by cell.

`python -m diacritic.studies.tables results docs/results` writes one page a ledger.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from diacritic.studies.cells import CELLS
from diacritic.studies.ledger import Row, read_ledger
from diacritic.studies.symbolic import Cell

INTRODUCTIONS = {
    "toys": "Finite toys: enumeration, rate pressure, ablations, a violated (A2), a stochastic expert.",
    "cue-corridor": "The cue–corridor T-maze: a cue of one or two bits, L equal cells, a junction.",
    "signpost-corridor": "The signpost corridor: M goals spelled by signs, two halls, W drifts that never matter.",
    "community": "The memory chain and the passive T-maze, 512 drawn demonstrations.",
}


def page(study: str, rows: list[Row], declared: Sequence[Cell] = ()) -> str:
    """A table: sufficient seeds of each preset beside the paper's count, and the rates of the sufficient ones.

    Declared cells without rows are shown as not run.
    """
    counted = {(cell.name, cell.learner): cell.paper for cell in declared}
    known = {(row["cell"], row["learner"]) for row in rows} | set(counted)
    cells = sorted(known, key=lambda key: (key[1], _numbers(key[0])))
    windows = list(dict.fromkeys(name for row in rows for name in row["rate"]))
    lines = [
        f"# {study}",
        "",
        INTRODUCTIONS.get(study, ""),
        "",
        "Counts are sufficient seeds. Rates are bits, averaged over the sufficient seeds of the preset `carousel`",
        "(of `textbook` where that is the only one), with the requirement in parentheses. A dash is a cell that was",
        "not run or that the paper does not report.",
        "",
        "| task | learner | carousel | textbook | paper | " + " | ".join(windows) + " |",
        "|---|---|---|---|---|" + "---|" * len(windows),
    ]
    for cell, learner in cells:
        mine = [row for row in rows if (row["cell"], row["learner"]) == (cell, learner)]
        by_preset = {name: [row for row in mine if row["preset"] == name] for name in ("carousel", "textbook")}
        shown = by_preset["carousel"] or by_preset["textbook"]
        paper = next((row["paper"] for row in mine if row.get("paper")), counted.get((cell, learner)))
        counts = [
            _count(by_preset["carousel"]),
            _count(by_preset["textbook"]),
            f"{paper[0]}/{paper[1]}" if paper else "–",
        ]
        rates = [_rate(shown, window) for window in windows]
        lines.append(f"| {cell} | {learner} | " + " | ".join([*counts, *rates]) + " |")
    used = sorted({(row["device"], row["versions"]["torch"], row["code_version"]) for row in rows})
    lines += ["", *(f"Trained on {device}, torch {torch}, sources {code}." for device, torch, code in used), ""]
    return "\n".join(lines)


def _count(rows: list[Row]) -> str:
    if not rows:
        return "–"
    lost = sum(row["diverged"] for row in rows)
    return f"{sum(row['sufficient'] for row in rows)}/{len(rows)}" + (f" ({lost} diverged)" if lost else "")


def _rate(rows: list[Row], window: str) -> str:
    good = [row for row in rows if row["sufficient"] and row["rate"].get(window) is not None]
    if not good:
        return "–"
    need = good[0]["requirement"].get(window)
    return f"{sum(row['rate'][window] for row in good) / len(good):.2f}" + ("" if need is None else f" ({need:.2f})")


def _numbers(text: str) -> list[tuple[int, float, str]]:
    """Words in order, numbers by size."""
    parts: Iterable[str] = text.replace("=", " ").split()
    return [(1, float(part), "") if part.replace(".", "", 1).isdigit() else (0, 0.0, part) for part in parts]


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for study in INTRODUCTIONS:
        path = source / f"{study}.jsonl"
        if path.exists():
            declared = [cell for cell in CELLS if cell.study == study]
            (target / f"{study}.md").write_text(page(study, read_ledger(path), declared))


if __name__ == "__main__":
    main()
