"""`diacritic report`: one self-contained HTML file about tasks, runs, recordings and ledgers."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError


@dataclass(frozen=True)
class Report:
    """Write one HTML file from any mix of inputs: diacritic report "gap gap2=6" runs results -o report.html. Nothing is
    fetched when it is opened; it lists what could not be read."""

    inputs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="INPUT [INPUT ...]")]
    """Model files, zoo tasks with their parameters in one word, recordings, runs, ledgers (.jsonl), films (.mp4, .gif),
    or folders that hold them."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("report.html")
    """Where to write the report."""
    title: str = "Diacritic report"
    """Its title."""
    film: bool = True
    """Film a policy of a recorded task where no film is given; needs OpenGL."""

    def run(self) -> int:
        if not self.inputs:
            raise UserError("report", "give at least one input: a zoo task, a model, a run, a recording or a ledger")
        if self.out.is_dir():
            raise UserError(str(self.out), "is a folder; give the name of a file")
        from diacritic.report.page import report

        command = shlex.join(["diacritic", "report", *self.inputs, "-o", str(self.out)])
        page = report(*self.inputs, out=self.out, title=self.title, film=self.film, command=command)
        print(f"{self.out}: {self.out.stat().st_size / 1e6:.1f} MB")
        for item in page.left_out:
            print(f"left out: {item.where}: {item.reason}")
        return 0


COMMANDS = {"report": Report}
