"""From the results of training to the cohort that is shipped: judged, played, unpacked, and small.

`python -m reproduction ship RESULTS` puts trained policies in place of the shipped ones. RESULTS is what `python -m
diacritic.training FOLDER --half` wrote for the cell "two-cues gap=20, event-agnostic" of learning-targets. Its
recording, and a fresh one to judge by, are made again where they are not found.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from certify.errors import UserError
from certify.progress import working
from diacritic._version import __version__
from diacritic.files.archive import extracted
from diacritic.files.atomic import write_text
from diacritic.rollout.closed_loop import EPISODES
from diacritic.shipped import FOLDER, FORMAT, PROVENANCE
from diacritic.studies.cell import Cell
from diacritic.studies.collect import unpack
from diacritic.studies.job_manifest import read_placed
from diacritic.studies.recorded import Measured, measure
from diacritic.studies.recordings import DEMOS, recording
from diacritic.studies.tasks import task
from diacritic.training.worker import Result, read_result
from reproduction.catalogue.learning_targets import CELLS

LARGEST = 4_000_000  # bytes of a cohort
_FAR = ("event-agnostic", "carousel", task("two-cues", gap=20))
CELL = replace(next(cell for cell in CELLS if (cell.learner, cell.preset, cell.task) == _FAR), seeds=8)
TOLD = ("sufficient", "fresh_sufficient", "success", "side", "slot", "episodes", "same_codes")


def ship(
    results: Path, out: Path = FOLDER, demos: Path = DEMOS, cell: Cell = CELL, episodes: int = EPISODES
) -> dict[str, Any]:
    """Put a cell's trained runs in place of the shipped ones; what says where they come from."""
    with extracted(results) as folder:
        result, chosen = _trained(folder, cell)
    learned = recording(cell, demos)
    fresh = recording(cell, demos, fresh=True)
    with working(f"judging and playing {len(result.train_job.runs)} policies"):
        measured = measure(result, learned, fresh, episodes)
    partial = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        names = unpack(measured, learned, partial)
        for name in {*names} - {names[k] for k in chosen}:
            shutil.rmtree(partial / name)
        document = _provenance(measured, cell, {k: names[k] for k in chosen})
        write_text(partial / PROVENANCE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        size = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
        if size > LARGEST:
            said = f"makes a cohort of {size / 1e6:.1f} MB, more than {LARGEST / 1e6:g}; train it with --half"
            raise UserError(str(results), said)
        shutil.rmtree(out, ignore_errors=True)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return document


def _trained(folder: Path, cell: Cell) -> tuple[Result, Sequence[int]]:
    """The result that holds the cell's runs, and which of its runs they are."""
    train_jobs, placed = read_placed(folder)
    asked = next((item for item in placed if item.cell.digest == cell.digest), None)
    if asked is None:
        raise UserError(str(folder), f"no training job here trains {cell.name} with {cell.learner}, {cell.preset}")
    names = {name for name, _ in asked.positions}
    result = read_result(train_jobs[names.pop()], folder)
    if result is None or names:
        raise UserError(str(folder), f"holds no single result of {cell.name}, {cell.learner}; train it first")
    return result, [k for _, k in asked.positions]


def _provenance(measured: Measured, cell: Cell, names: dict[int, str]) -> dict[str, Any]:
    """Everything that one needs to make the cohort again, and what was found of each run."""
    train_job, notes = measured.result.train_job, measured.result.notes
    only = f"{train_job.recording}-{train_job.learner.replace('+', '-')}-{train_job.preset}"
    words = " ".join([*(f"{key}={value}" for key, value in cell.task.parameters), cell.learner, cell.preset])
    asked = f'--only "{words}" --seeds {cell.seeds}'
    rows = {k: measured.row(k, cell.gate) for k in names}
    return {
        "format": FORMAT,
        "cell": cell.name,
        "recording": {"name": train_job.recording, "sha256": train_job.demos_sha256},
        "order": asdict(train_job),
        "commands": [
            f"python -m reproduction export {cell.study} {asked} --results NONE --out FOLDER",
            f"python -m diacritic.training FOLDER --device cuda --half --only {only} --out RESULTS",
            "python -m reproduction ship RESULTS",
        ],
        "trained": {key: notes[key] for key in ("code_version", "device", "torch", "seconds", "supervising")},
        "versions": {"diacritic": __version__},
        "runs": [
            {"run": name, "seed": train_job.runs[k].seed, **{key: rows[k][key] for key in TOLD}}
            for k, name in names.items()
        ],
    }
