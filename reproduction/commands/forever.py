"""Answers for every horizon on published models."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError


@dataclass(frozen=True)
class Forever:
    """Ask every model of a folder what its experts require for ever, and renew the table of the docs."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Where .pomdp files and PRISM models lie; nothing of them is copied."""
    out: Path = Path("results/forever.jsonl")
    """The rows; cases that have one are not run again."""
    page: Path | None = Path("docs/for_ever_files.md")
    """The page with the table of all files."""
    seconds: int = 60
    """Limit of one case, in seconds of one core."""
    jobs: int = 1
    """Cases that run side by side."""
    only: str = ""
    """Files whose name holds this."""

    def run(self) -> int:
        from certify.atomic import write_text
        from diacritic.report.markdown import write_pictures
        from reproduction.forever import run
        from reproduction.forever_figures import pictures
        from reproduction.forever_page import page

        if not self.folder.is_dir():
            raise UserError(str(self.folder), "is not a folder")
        rows = [json.loads(line) for line in self.out.read_text().splitlines()] if self.out.exists() else []
        for row in run(self.folder, self.seconds, rows, self.only, self.jobs):
            rows.append(row)
            rows.sort(key=lambda row: (row["file"], row["expert"]))
            write_text(self.out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
            print(row["file"], row["expert"], row.get("reason", row.get("upper")), flush=True)
        if self.page is not None:
            write_text(self.page, page(rows))
            write_pictures(self.page.parent, pictures(rows))
        return 0


@dataclass(frozen=True)
class ForeverTraining:
    """Train on the first steps of tasks without an end, and prove the learned machines at every horizon."""

    out: Path = Path("results/forever-training.jsonl")
    """The rows; families that have theirs are not run again."""
    page: Path | None = Path("docs/for_ever.md")
    """The page whose table is renewed."""
    steps: int = 4000
    """Updates."""
    only: str = ""
    """Tasks whose name holds this."""

    def run(self) -> int:
        from certify.atomic import write_text
        from reproduction.forever_page import renewed
        from reproduction.forever_training import FAMILIES, run_family, section, table

        rows = [json.loads(line) for line in self.out.read_text().splitlines()] if self.out.exists() else []
        for family in FAMILIES:
            if self.only in family.task and family.task not in {row["task"] for row in rows}:
                rows += run_family(family, self.steps)
                write_text(self.out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
                print(table(rows)[-1], flush=True)
        if self.page is not None:
            write_text(self.page, renewed(self.page.read_text(encoding="utf-8"), "forever-training", section(rows)))
        return 0
