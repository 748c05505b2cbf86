"""`diacritic need`: how much memory raw demonstrations ask for."""

import sys
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import numpy as np
import tyro

from certify.errors import UserError


@dataclass(frozen=True)
class NeedCommand:
    """Ask of raw demonstrations whether a policy must remember, what, from when, and how many bits."""

    dataset: Annotated[str, tyro.conf.Positional]
    """A recording: a folder, a file, or a Minari id."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path(".")
    """Folder of need.json, witnesses.json and need.html."""
    camera: str | None = None
    """Pictures or a video to read beside the numbers."""
    embedding: str | None = None
    """What frames show, as further columns: `learned` by a small network from the dataset itself, a .npy of [T, N, e],
    or MODULE:FUNCTION from frames [n, height, width, 3] to [n, e]."""
    align: str = "auto"
    """The clock: auto, step, progress, phase, phase:COLUMN or events."""
    tolerance: float = 0.05
    """Action errors that do not matter, as a share of each channel's spread."""
    plants: int = 16
    """Cues to plant, by which power is measured; 0 leaves it out."""
    seed: int = 0
    """Equal seeds give equal answers."""
    card: bool = False
    """Also write need.md, a card for the dataset's README."""
    labelled: Path | None = None
    """Also write the recording with the symbols that were found, for `diacritic train`, `audit` and `report`."""
    check: Path | None = None
    """A witnesses.json: verify it against the dataset, and do nothing else. The exit status is 1 where it is wrong."""

    def run(self) -> int:
        from diacritic.demos.readers import load

        if self.plants < 0:
            raise UserError("--plants", "must not be negative")
        demos = original = load(self.dataset, camera=self.camera)
        if self.embedding is not None:
            from diacritic.need.embedding import with_embedding

            demos = with_embedding(demos, _embedding(self.embedding), self.seed)
        if self.check is not None:
            from diacritic.files.need import read_witnesses
            from diacritic.need.check import check_witnesses

            document = read_witnesses(self.check)
            problems = check_witnesses(document, demos)
            print("\n".join(problems) or f"{len(document['pairs'])} pairs verified")
            return 1 if problems else 0
        from diacritic.files.atomic import write_text
        from diacritic.need.answer import need
        from diacritic.need.card import card
        from diacritic.need.document import save
        from diacritic.need.text import lines

        answer = need(demos, align_by=self.align, tolerance=self.tolerance, plants=self.plants, seed=self.seed)
        print("\n".join(lines(answer)))
        paths = save(answer, self.out)
        if self.card:
            paths.append(self.out / "need.md")
            write_text(paths[-1], card(answer))
        if self.labelled is not None:
            from diacritic.files.demos import save as save_demos

            paths.append(save_demos(answer.labelled(original), self.labelled))
        from diacritic.report.page import report

        paths.append(self.out / "need.html")
        report(answer, out=paths[-1], title=f"Need of {answer.recording.task}", film=False)
        print("wrote " + ", ".join(str(path) for path in paths))
        return 0


def _embedding(word: str) -> Any:
    """An array, a function, or nothing where the network is to be learned."""
    if word == "learned":
        return None
    if not word.endswith(".npy"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return resolve_name(word)
        except (ImportError, AttributeError, ValueError):
            raise UserError(word, "is not a function; give `learned`, a file .npy, or MODULE:FUNCTION") from None
        finally:
            sys.path.pop(0)
    try:
        return np.load(word, allow_pickle=False)
    except (OSError, ValueError):
        raise UserError(word, "is not a file of one array; write it with numpy.save") from None


COMMANDS = {"need": NeedCommand}
