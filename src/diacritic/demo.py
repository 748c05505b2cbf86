"""``make demo``: certify the toy zoo, print what each step requires, and draw the staircase of the gap toy."""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from certify import Answer, certify
from certify.plot import staircase
from certify.progress import track
from certify.zoo import build, instances

_MOST_STEPS = 13


def main(folder: Path = Path("out")) -> int:
    """Certify every instance of the zoo with its default parameters."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    answers = [certify(build(item.name)) for item in track(instances(), "certifying the zoo")]
    table = Table(title="How many bits must a policy carry at each step?", title_justify="left", box=None)
    for head in ("task", "required bits, step by step", "history", "codes", "A2", "A4", "trans.", "certified"):
        table.add_column(
            head, no_wrap=True, justify="left" if head in ("task", "required bits, step by step") else "right"
        )
    for answer in answers:
        table.add_row(*_row(answer))
    console.print(table)
    folder.mkdir(exist_ok=True)
    picture = folder / "staircase.png"
    staircase(next(answer for answer in answers if answer.name == "gap"), picture)
    console.print(f"The staircase of the gap toy: {picture}")
    console.print("Next: python -m certify gap --gap2 6 --machine machine.svg, or your own MODEL.json")
    return 0


def _row(answer: Answer) -> list[str]:
    bits = [_bits(step.upper) for step in answer.steps]
    if len(bits) > _MOST_STEPS:
        bits = [*bits[: _MOST_STEPS - 2], "…", bits[-1]]
    flags = [all(getattr(step, name) for step in answer.steps) for name in ("a2", "a4", "transitive")]
    codes = answer.codes["time_indexed"]
    return [
        answer.name,
        " ".join(bits),
        _bits(max(step.history for step in answer.steps)),
        "?" if codes is None else str(codes),
        *("yes" if flag else "no" for flag in (*flags, answer.certified)),
    ]


def _bits(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    sys.exit(main())
