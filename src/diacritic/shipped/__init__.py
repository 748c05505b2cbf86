"""A trained cohort that comes with the package: eight policies of the robot arm that remember over twenty steps.

Two cues at gap 20, the default learner, in half precision. `two-cues-gap20/` holds one run folder a seed, as every
command reads them, and `provenance.json`: the recording, the order, the machine, and what was found of each run. It is
written by `python -m reproduction.ship RESULTS` from what `python -m diacritic.training FOLDER --half` left in RESULTS.
"""

import shutil
from pathlib import Path
from typing import Any

from certify.errors import UserError
from diacritic.files.atomic import read_json

FORMAT = "diacritic-shipped/1"
PROVENANCE = "provenance.json"
FOLDER = Path(__file__).parent / "two-cues-gap20"


def provenance(folder: Path = FOLDER) -> dict[str, Any]:
    """Where the cohort comes from, and what was found of each of its runs."""
    document = read_json(folder / PROVENANCE, FORMAT, "install the package again")
    lacking = [run["run"] for run in document["runs"] if not (folder / run["run"]).is_dir()]
    if lacking:
        raise UserError(str(folder), f"lacks the run {lacking[0]}; install the package again")
    return document


def cohort(out: Path, folder: Path = FOLDER) -> list[Path]:
    """The shipped runs by seed, copied to where rollouts and verdicts may be written beside them."""
    folders = []
    for run in provenance(folder)["runs"]:
        shutil.copytree(folder / run["run"], out / run["run"], dirs_exist_ok=True)
        folders.append(out / run["run"])
    return folders
