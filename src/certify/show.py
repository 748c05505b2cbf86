"""The answer for people: a table with the curves drawn beside it, and the witnesses in words."""

from collections.abc import Callable
from statistics import fmean

from certify.answer import Answer, Step
from certify.errors import inert

_COLUMNS: list[tuple[str, Callable[[Step], str]]] = [
    ("t", lambda s: str(s.t)),
    ("histories", lambda s: _count(s.histories)),
    ("history", lambda s: bits(s.history)),
    ("strong", lambda s: bits(s.strong)),
    ("required", lambda s: bits(s.rate) if s.rate is not None else f"[{bits(s.lower)}, {bits(s.upper)}]"),
    ("present", lambda s: bits(s.instantaneous)),
    ("states", lambda s: "?" if s.states is None else str(s.states)),
    ("A2", lambda s: "yes" if s.a2 else "NO"),
    ("A4", lambda s: "yes" if s.a4 else "no"),
    ("trans.", lambda s: "yes" if s.transitive else "no"),
]
_MOST_ROWS = 60
_MOST_LEGEND, _MOST_LETTERS = 20, 100  # lines, and letters of one
_WIDTH = 24


def show(answer: Answer, out: Callable[[str], None] = print) -> None:
    """Print the table (with rich when it is installed), the verdict and the witnesses."""
    rows = [[cell(step) for _, cell in _COLUMNS] + [_bar(step, answer)] for step in answer.steps]
    heads = [name for name, _ in _COLUMNS] + ["bits: █ required ░ history"]
    if len(rows) > _MOST_ROWS:
        rows = _collapse(rows)
    title = f"{inert(answer.name) or 'model'}: memory required at each step, in bits"
    if not _rich_table(title, heads, rows):
        widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
        out(title)
        for row in [heads, *rows]:
            out("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for line in verdict(answer):
        out(inert(line))


def verdict(answer: Answer) -> list[str]:
    """What was established, one sentence a line."""
    lines: list[str] = []
    codes = answer.codes_found
    if answer.observational:
        lines.append("(A2) fails: everything is computed for P(A_t | H_t), what a history shows of the expert.")
    lines.append(
        "Certified: the least memory of every step is proved."
        if answer.certified
        else "Not certified at every step: where a bracket is shown, the minimum lies inside it."
    )
    machine = {
        True: f"One machine attains every step's minimum: {bits(answer.joint_sum or 0.0)} bits summed over the steps.",
        False: f"No single machine attains every step's minimum; the best sums to {_bracket(answer.joint_bracket)}.",
        None: f"Undecided whether one machine attains every minimum; its sum lies in {_bracket(answer.joint_bracket)}.",
    }
    lines.append(machine[answer.simultaneous])
    counts = [f"{_codes(*bracket)} with {kind.replace('_', '-')} updates" for kind, bracket in codes.brackets.items()]
    lines.append(f"Fewest codes of one machine: {', '.join(counts)}.")
    least = _bracket((answer.clock_free.lower, answer.clock_free.upper))
    mean = _bracket((fmean(s.lower for s in answer.steps), fmean(s.upper for s in answer.steps)))
    lines.append(f"Without a clock, at a random step: {least}; with one, {mean}.")
    lines += [f"Fewest {kind.replace('_', '-')} codes are a bracket: {why}." for kind, why in codes.reasons.items()]
    lines += [f"{w.claim} fails at step {w.t}: {w.text}" for w in answer.witnesses]
    legend = [f"{label}: {_cut(name)}" for label, name in answer.model.graph.legend.items()]
    return lines + legend[:_MOST_LEGEND] + ["… more in the answer's legend (--json)"] * (len(legend) > _MOST_LEGEND)


def _cut(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else f"{name[:_MOST_LETTERS]}… ({len(name):,} letters)"


def _codes(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def bits(value: float) -> str:
    """A number of bits to four places."""
    return f"{value + 0.0:.4f}".rstrip("0").rstrip(".") if value >= 0.00005 else "0"


def _bracket(bracket: tuple[float, float]) -> str:
    low, high = map(bits, bracket)
    return f"{low} bits" if low == high else f"[{low}, {high}] bits"


def _count(number: int) -> str:
    return (
        f"{number:,}" if number < 10**9 else f"2^{number.bit_length() - 1}" + ("" if number.bit_count() == 1 else "+")
    )


def _bar(step: Step, answer: Answer) -> str:
    most = max((s.history for s in answer.steps), default=0) or 1
    required, history = (round(_WIDTH * value / most) for value in (step.upper, step.history))
    return "█" * required + "░" * max(0, history - required)


def _collapse(rows: list[list[str]]) -> list[list[str]]:
    """Runs of steps that require the same become one row ``3–101``; what history holds is then shown as a range."""
    result: list[list[str]] = []
    for row in rows:
        if result and result[-1][3:-1] == row[3:-1]:
            for k in range(3):
                first = result[-1][k].split("–")[0]
                result[-1][k] = first if first == row[k] else f"{first}–{row[k]}"
            result[-1][-1] = row[-1]
        else:
            result.append(list(row))
    return result


def _rich_table(title: str, heads: list[str], rows: list[list[str]]) -> bool:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(title=Text(title, style="italic"), title_justify="left", box=None, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="left" if head.startswith("bits") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell, style="bold red" if cell == "NO" else "") for cell in row))
    Console(width=None if Console().is_terminal else 140).print(table)
    return True
