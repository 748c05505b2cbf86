"""A verdict on the screen: coloured in a terminal, the same words as plain text elsewhere."""

import sys
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diacritic.measure.statistics import wilson
from diacritic.measure.verdict import QUESTIONS, Control, Verdict

_GOOD = {"sufficient": "yes", "surplus": "no", "sole": "yes"}
_PARTS = ("sufficiency", "rate", "attribution")
# controls that ask for the verdict a second time: what the first one, and what the second one, was found on
_TWICE: tuple[tuple[str, str, str], ...] = (
    ("own occupancy", "expert occupancy", "own occupancy"),
    ("fresh recording", "first recording", "fresh recording"),
)


def show(verdict: Verdict, console: Console | None = None) -> None:
    """One report."""
    console = console or wide_console()
    subject = verdict.subject
    console.print(Text(f"{subject.task} · {subject.learner} · seed {subject.seed}", style="bold"))
    console.print(Text(f"run {subject.run}; {subject.occupancy}", style="dim"))
    answers = _grid()
    for name, question in QUESTIONS.items():
        finding = getattr(verdict, name)
        answers.add_row(Text(question), Text(finding.answer, _mood(name, finding.answer)), Text(finding.because))
    console.print(answers)
    console.print(Text("Controls", style="bold"))
    console.print(_controls(verdict.controls))
    console.print(Text.assemble(("Impression: ", "bold"), verdict.impression))
    console.print()


def summary(verdicts: Sequence[Verdict], console: Console | None = None) -> None:
    """One line a run, and how many are sufficient."""
    console = console or wide_console()
    table = Table(box=None)
    for head in ("run", "learner", "seed", "sufficient", "surplus", "code alone"):
        table.add_column(head, justify="right" if head == "seed" else "left")
    for verdict in verdicts:
        answers = [Text(answer := getattr(verdict, name).answer, _mood(name, answer)) for name in QUESTIONS]
        table.add_row(verdict.subject.run, verdict.subject.learner, str(verdict.subject.seed), *answers)
    console.print(table)
    passed = sum(verdict.sufficient.answer == "yes" for verdict in verdicts)
    attributed = sum(verdict.sufficient.answer == verdict.sole.answer == "yes" for verdict in verdicts)
    console.print(f"{passed}/{len(verdicts)} sufficient; {attributed} of them carried by the code alone")
    for name, first, second in _TWICE:
        console.print("\n".join(_agreement(verdicts, name, first, second)), end="", markup=False)


def _agreement(verdicts: Sequence[Verdict], name: str, first: str, second: str) -> list[str]:
    """Two verdicts of every run that has both, as a table; nothing where there are none."""
    pairs = [
        (control.data["first"], control.data["second"], verdict.subject.seed)
        for verdict in verdicts
        for control in verdict.controls
        if control.name == name and control.data is not None
    ]
    if not pairs:
        return []
    one, two, seeds = zip(*pairs, strict=True)
    return [*agreement(one, two, seeds, (first, second)), ""]


def wide_console() -> Console:
    """Lines are not broken where the output is not a terminal."""
    return Console(width=None if sys.stdout.isatty() else 400)


def _controls(controls: Sequence[Control]) -> Table:
    table = _grid()
    for part in _PARTS:
        for control in (control for control in controls if control.part == part):
            word, style = {True: ("passed", "green"), False: ("FAILED", "bold red"), None: ("—", "dim")}[control.passed]
            table.add_row(Text(control.name), Text(word, style), Text(control.text))
    return table


def _grid() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 2))
    for _ in range(3):
        table.add_column(overflow="fold")
    return table


def _mood(question: str, answer: str) -> str:
    if answer == "not assessed":
        return "yellow"
    return "bold green" if answer == _GOOD[question] else "bold red" if question != "surplus" else "bold yellow"


def agreement(first: Sequence[bool], second: Sequence[bool], seeds: Sequence[int], names: tuple[str, str]) -> list[str]:
    """How many runs pass the first, the second, both or neither of two verdicts, in words; `names` are theirs."""
    one, two = np.asarray(first, np.bool_), np.asarray(second, np.bool_)
    counts = [[int((a & b).sum()) for b in (two, ~two)] for a in (one, ~one)]
    agree, runs = counts[0][0] + counts[1][1], len(one)
    low, high = wilson(agree, runs)
    heads = [f"{names[0]} {word}" for word in ("passes", "fails")]
    table = [
        f"{head:{len(heads[0])}}  {a:>{len(names[1]) + 7}}  {b:>5}" for head, (a, b) in zip(heads, counts, strict=True)
    ]
    said = f"{agree}/{runs} verdicts agree ({agree / runs:.2f}, 95 % {low:.2f}–{high:.2f})"
    switched = ", ".join(str(seed) for seed, a, b in zip(seeds, one, two, strict=True) if a != b) or "none"
    return [f"{'':{len(heads[0])}}  {names[1]} passes  fails", *table, f"{said}; switched: {switched}"]
