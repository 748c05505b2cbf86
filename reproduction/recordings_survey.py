"""All recordings of the Franka tasks in one ledger: what the acceptance checks found, and the tables of the docs.

`python -m reproduction recordings-survey` records what is missing under out/acceptance, as `diacritic record` does, and
writes results/acceptance.jsonl, one line a recording. With `--page docs/demos.md` its tables are renewed as well.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diacritic.demos import command
from diacritic.demos.leaks import LEVEL
from diacritic.files.atomic import write_text
from diacritic.files.demos import Demos, load
from diacritic.report.markdown import write_pictures
from diacritic.tasks.protocol import Simulation
from diacritic.tasks.registry import make as make_task
from reproduction import recordings_tables
from reproduction.recordings_figures import pictures

Row = dict[str, Any]
COLUMNS = ("requirement", "instantaneous", "strong", "history")


@dataclass(frozen=True)
class Dataset:
    """One recording of the survey."""

    name: str
    task: str
    parameters: Mapping[str, Any]
    episodes: int | None = None
    """As many as the authors record, unless it is said."""
    flaw: str | None = None
    """Positive control: what is wrong with it on purpose."""
    pixels: bool = False
    seed: int = 0

    def record(self, folder: Path) -> Demos:
        """The recording with its checks; made if it is not there."""
        stem = folder / self.name
        task = make_task(self.task, **self.parameters)
        if not stem.with_suffix(".json").exists() or load(stem).acceptance is None:
            fresh = self.flaw is None and not self.pixels
            episodes = self.episodes or task.least_episodes
            options = command.RecordOptions(episodes, self.seed, stem, fresh=fresh, pictured=("side", "slot"))
            command.run(task, options, Simulation(frames=self.pixels))
        return load(stem, task.name, task.version)


DATASETS = (
    Dataset("two-cues-gap6", "two-cues", {"gap": 6}),
    Dataset("two-cues-gap10", "two-cues", {"gap": 10}),
    Dataset("two-cues-gap20", "two-cues", {"gap": 20}),
    Dataset("two-cues-classes4", "two-cues", {"classes": 4}),
    Dataset("full-reveal-4", "full-reveal", {"modes": 4}),
    Dataset("full-reveal-32", "full-reveal", {"modes": 32}),
    Dataset("full-reveal-512", "full-reveal", {"modes": 512}),
    Dataset("hidden-mass-4", "hidden-mass", {"modes": 4}),
    Dataset("hidden-mass-32", "hidden-mass", {"modes": 32}),
    Dataset("hidden-mass-512", "hidden-mass", {"modes": 512}),
    Dataset("readout-2-32", "readout-2", {"modes": 32}),
    Dataset("readout-2-128", "readout-2", {"modes": 128}),
    Dataset("readout-2-512", "readout-2", {"modes": 512}),
    Dataset("readout-3-32", "readout-3", {"modes": 32}),
    Dataset("readout-3-128", "readout-3", {"modes": 128}),
    Dataset("readout-3-512", "readout-3", {"modes": 512}),
    Dataset("weighing-gap6", "weighing", {"gap": 6}),
    Dataset("weighing-gap20", "weighing", {"gap": 20}),
    Dataset("weighing-hold8", "weighing", {"gap": 6, "hold": 8}),
    Dataset("pixels", "two-cues", {"gap": 6}, pixels=True),
    Dataset("late-frame", "two-cues", {"late_frame": True}, flaw="frame after the step", pixels=True),
    Dataset("no-fixture", "weighing", {"gap": 6, "no_fixture": True}, flaw="no fixture"),
    Dataset("contact-no-noise", "two-cues", {"contact": True, "no_noise": True}, flaw="contact, and no noise"),
    Dataset("leak4", "two-cues", {"leak": 4.0}, flaw="in-hand height tells the slot, ±4 mm"),
    Dataset("analog", "readout-3", {"modes": 512, "analog": True}, flaw="one analog channel"),
)


def row(dataset: Dataset, demos: Demos) -> Row:
    """What the ledger says of one recording."""
    assert demos.acceptance is not None  # survey recordings are always checked
    checks = {name: check["data"] for name, check in demos.acceptance["checks"].items()}
    fresh, readings = checks.get("fresh recording"), checks["binner agreement"]
    succeeded = checks["expert success"]
    sag = readings.get("sag", {}).get("agreement")
    return {
        "dataset": dataset.name,
        "flaw": dataset.flaw,
        "task": dataset.task,
        "task_version": demos.task_version,
        "parameters": dict(demos.parameters),
        "seed": demos.seed,
        "episodes": demos.episodes,
        "sha256": demos.digest,
        "versions": dict(demos.versions),
        "passed": demos.acceptance["passed"],
        "failed": [name for name, check in demos.acceptance["checks"].items() if not check["passed"]],
        "expert_success": [succeeded["succeeded"], succeeded["of"]],
        "coverage": {key: value for key, value in (checks["coverage"] or {}).items() if key != "unseen"},
        "disagreements": {
            name: [item["wrong"], item["wrong_given_other"], item["pairs"]]
            for name, item in readings.items()
            if demos.convention.factor(name).sharp
        },
        "sag_agreement": sag and {phase: round(share, 4) for phase, share in sag.items()},
        "certificate": _certificate(demos, checks.get("certificate")),
        "fresh": fresh and {"identical": not fresh["differences"], **fresh},
        "leaks": _leaks(checks["leaks"]),
        "pixel_leaks": _leaks(checks["pixel leaks"]) if "pixel leaks" in checks else None,
    }


def _certificate(demos: Demos, certificate: Mapping[str, Any] | None) -> Row | None:
    """Bits of every phase, step by step, and where the checks of the theory fail (steps from 1)."""
    if certificate is None:
        return None
    phases = [demos.convention.phases[k] for k in demos.phase[:, 0]]
    bits = {
        column: {
            phase: [round(value, 4) for value, other in zip(certificate[column], phases, strict=True) if other == phase]
            for phase in dict.fromkeys(phases)
        }
        for column in COLUMNS
    }
    return {**bits, "failing": certificate["failing"]}


def _leaks(cells: list[Row]) -> Row:
    """How many cells are as expected, those that are not, and the hidden one with the least p."""
    hidden = [cell for cell in cells if cell["status"] == "hidden"]
    visible = {(c["phase"], c["variable"]) for c in cells if c["status"] == "visible" and c["passed"]}
    bad = [c for c in cells if not c["passed"] and (c["phase"], c["variable"]) not in visible]
    return {
        "level": LEVEL,
        "cells": len(cells),
        "hidden": len(hidden),
        "worst": _short(min(hidden, key=lambda cell: cell["p"])) if hidden else None,
        "failed": [_short(cell) for cell in bad],
        "accuracy": {f"{c['phase']} × {c['variable']} ({c['probe']})": round(c["accuracy"], 4) for c in cells},
    }


def _short(cell: Row) -> Row:
    kept = {name: cell[name] for name in ("phase", "variable", "probe", "status", "accuracy", "chance")}
    return {**kept, "p": float(np.format_float_scientific(cell["adjusted"], 3))}


def survey(out: Path, recordings: Path, page: Path | None = None, only: Sequence[str] = ()) -> None:
    """Record what is missing, write the ledger of all recordings, and renew the tables of a page."""
    path = out / "acceptance.jsonl"
    by_name = {row["dataset"]: row for row in read(path)} if path.exists() else {}
    for dataset in DATASETS:
        if not only or dataset.name in only:
            by_name[dataset.name] = row(dataset, dataset.record(recordings))
    rows = [by_name[dataset.name] for dataset in DATASETS if dataset.name in by_name]
    out.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in rows))
    if page is not None:
        write_text(page, recordings_tables.renewed(page.read_text(encoding="utf-8"), rows))
        write_pictures(page.parent, pictures(rows))


def read(path: Path) -> list[Row]:
    """The rows of a ledger."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
