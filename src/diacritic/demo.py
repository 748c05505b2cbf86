"""``make demo``: from the question to the report, with the commands that a user would type.

Certify the zoo, train a small cohort and judge it, teach a certified carrier and keep its machine with a proof, record
a robot task and certify what was recorded, play the cohort that comes with the package in closed loop and film it,
catch a leak, and put all of it into one report.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from certify import Answer, Model, certify
from certify.plot import staircase
from certify.progress import track
from certify.zoo import build, instances

_MOST_STEPS = 13
_LEDGER = Path("results") / "learning-targets.jsonl"  # in a clone; our runs beside the paper's


@dataclass(frozen=True)
class Demo:
    """The whole way in a few minutes: requirement, training, verdict, machine with a proof, robot arm, leak, report."""

    out: Path = Path("out") / "demo"
    """Where everything is written."""
    seeds: int = 4
    """Seeds that train at once."""
    steps: int = 1500
    """Updates of the small cohort."""
    episodes: int = 128
    """Recorded demonstrations of the robot task."""
    rollouts: int = 128
    """Closed-loop episodes of each shipped policy of the arm."""

    def run(self) -> int:
        self.out.mkdir(parents=True, exist_ok=True)
        console = Console(width=None if sys.stdout.isatty() else 150)
        console.rule("1 How many bits must a policy carry at each step?")
        _zoo(console, self.out / "staircase.png")
        runs, taught, machine = self.out / "runs", self.out / "taught", self.out / "machine.json"
        toy = ["gap", "gap1=1", "gap2=2"]
        console.rule("2 Can a compact policy learn them? Does it carry them, and nothing else?")
        self._type(console, "train", *toy, "--seeds", self.seeds, "--steps", self.steps, "--out", runs)
        self._type(console, "measure", runs)
        console.rule("3 A memory with a proof")
        chain = ["memory-chain", "bits=2", "delay=30"]
        self._type(console, "train", *chain, "--learner", "certified", "--seeds", 1, "--out", taught)
        self._type(console, "export", next(taught.glob("*/run.json")).parent, "-o", machine)
        console.rule("4 The same questions of a robot arm")
        plain, leaked = self.out / "two-cues", self.out / "two-cues-leaked"
        recorded = ["--episodes", self.episodes, "--no-checks"]
        self._type(console, "record", "two-cues", "gap=20", *recorded, "--model", "--out", plain)
        answer = certify(Model.load(str(plain) + ".model.json"))
        console.print("required bits, step by step: " + " ".join(_bits(step.upper) for step in answer.steps))
        arm = self.out / "arm"
        films = self._arm(console, arm)
        console.rule("5 A recording that gives the answer away")
        self._type(console, "record", "two-cues", "leak=8", *recorded, "--out", leaked)
        self._type(console, "probe", leaked, expected=1)
        console.rule("6 All of it in one report")
        page = self.out / "report.html"
        ledgers = [_LEDGER] if _LEDGER.exists() else []
        shown = [" ".join(toy), plain, runs, arm, leaked, *ledgers, *(films or ["--no-film"])]
        self._type(console, "report", *shown, "-o", page)
        console.print(f"Open {page} in a browser.")
        return 0

    def _arm(self, console: Console, arm: Path) -> list[Path]:
        """Play the shipped cohort in closed loop and film its best policy.

        Where it is of another version of the task, or without OpenGL, one line says so.
        """
        from diacritic.shipped import cohort

        paths = cohort(arm)
        console.print(f"{len(paths)} policies that come with the package, trained at gap 20: {arm}")
        if self._typed(console, "rollout", arm, "--episodes", self.rollouts) != 0:
            return []
        best = max(paths, key=lambda path: json.loads((path / "rollout.json").read_text(encoding="utf-8"))["success"])
        seed = json.loads((best / "run.json").read_text(encoding="utf-8"))["run"]["seed"]
        film = self.out / f"two-cues gap=20, seed {seed}.mp4"
        return [film] if self._typed(console, "video", "--run", best, "--small", "-o", film) == 0 else []

    def _type(self, console: Console, *words: object, expected: int = 0) -> None:
        """Run one command as if it had been typed; the demo ends where it fails."""
        status = self._typed(console, *words)
        if status != expected:
            raise SystemExit(status or 1)

    def _typed(self, console: Console, *words: object) -> int:
        from diacritic.cli import main

        arguments = [str(word) for word in words]
        shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
        console.print(f"$ diacritic {shown}", style="bold", soft_wrap=True)
        return main(arguments)


def _zoo(console: Console, picture: Path) -> None:
    """Every instance of the zoo with its default parameters, and the staircase of one."""
    answers = [certify(build(item.name)) for item in track(instances(), "certifying the zoo")]
    table = Table(box=None)
    for head in ("task", "required bits, step by step", "history", "codes", "A2", "A4", "trans.", "certified"):
        table.add_column(
            head, no_wrap=True, justify="left" if head in ("task", "required bits, step by step") else "right"
        )
    for answer in answers:
        table.add_row(*_row(answer))
    console.print(table)
    staircase(next(answer for answer in answers if answer.name == "gap"), picture)
    console.print(f"The staircase of the gap toy: {picture}")


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
    sys.exit(Demo().run())
