"""Small inputs for the page: run folders with every file that the page reads, ledgers, and a hostile name."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from certify.zoo import build
from diacritic.files.ledger import write_ledger
from diacritic.files.run import CodedEpisodes, RunManifest

HOSTILE = "<script>alert(1)</script>"
RATES = {True: [0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0], False: [0.0] * 11}


def gap_codes() -> np.ndarray:
    """Codes [T, N] on the gap toy that hold both cues once they have been seen."""
    model = build("gap")
    last, T = model.graph.levels[-1], model.horizon
    seen = np.array([model.graph.history(T - 1, node)[::2] for node in range(last.size)]).T
    codes = np.zeros(seen.shape, np.uint16)
    codes[1:] += np.uint16(1) + 2 * (seen[1] == "cue1=1").astype(np.uint16)
    codes[2:] += (seen[2] == "cue2=1").astype(np.uint16)
    return codes


def make_run(
    folder: Path,
    seed: int,
    sufficient: bool = True,
    task: str = "gap",
    learner: str = "plain",
    weights: Path | None = None,
    codes: np.ndarray | None = None,
    **more: Any,
) -> Path:
    """A finished run of the gap toy with its manifest, `more` in it; its weights are a link to a file, or a word."""
    codes = (gap_codes() if sufficient else np.zeros_like(gap_codes())) if codes is None else codes
    path = folder / f"{seed:04d}{hashlib.sha256(f'{task}{learner}'.encode()).hexdigest()[:12]}"
    path.mkdir(parents=True)
    if weights is None:
        (path / "weights.safetensors").write_bytes(b"weights")
    else:
        (path / "weights.safetensors").hardlink_to(weights)
    np.savez_compressed(path / "codes.npz", codes=codes)
    parts = ("weights.safetensors", "codes.npz")
    fields: dict[str, Any] = {
        "kind": "recorded" if "task_version" in more else "symbolic",
        "task": task,
        "learner": learner,
        "run": {"seed": seed, "beta": 0.001},
        "episodes": CodedEpisodes("all", ((0, gap_codes().shape[1]),)),
        "sufficient": sufficient,
        "success": 1.0 if sufficient else 0.25,
        "rate": RATES[sufficient],
        "requirement": [0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0],
        "sha256": {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in parts},
    }
    manifest = RunManifest(preset="carousel", steps=10, plan="0", architecture={}, shape={}, **(fields | more))
    (path / "run.json").write_text(json.dumps(manifest.to_dict()), encoding="utf-8")
    return path


def add_verdict(path: Path, format: str = "diacritic-verdict/1") -> None:
    """The verdict beside a run, with one intervention and one probe."""
    manifest = json.loads((path / "run.json").read_text(encoding="utf-8"))
    yes = "yes" if manifest["sufficient"] else "no"
    trial: dict[str, Any] = {"name": "step 7, changed after 3", "pairs": 16}
    trial |= {"swap": {"partner": 1.0, "own": 0.0}, "shuffle": {"partner": 0.0, "own": 1.0}}
    trial |= {"reset": {"partner": 0.0, "own": 0.0}, "freeze": None}
    probe = {
        "phase": "gap1",
        "variable": "slot",
        "probe": "linear",
        "status": "hidden",
        "accuracy": 0.75,
        "chance": 0.5,
    }
    probe |= {"interval": [0.4, 0.95], "adjusted": 0.2, "passed": True}
    controls = [
        {"part": "sufficiency", "name": "audit flags", "passed": False, "text": "flag A", "data": ["A"]},
        {"part": "attribution", "name": "code swap, every history", "passed": True, "text": "100%", "data": [trial]},
        {"part": "attribution", "name": "previous actions", "passed": True, "text": "0.75", "data": [probe]},
    ]
    document = {
        "format": format,
        "run": path.name,
        "task": manifest["task"],
        "learner": manifest["learner"],
        "seed": manifest["run"]["seed"],
        "occupancy": "codes on every history",
        "sufficient": {"answer": yes, "because": "of the gate"},
        "surplus": {"answer": "not assessed", "because": "sufficiency comes first"},
        "sole": {"answer": "yes", "because": "one control speaks for it"},
        "impression": "An impression.",
        "controls": controls,
        "steps": {name: manifest[key] for name, key in (("rate", "rate"), ("required", "requirement"))},
    }
    (path / "verdict.json").write_text(json.dumps(document), encoding="utf-8")


def add_rollout(path: Path, episodes: int = 8) -> None:
    """Closed-loop numbers and codes beside a run; half of the episodes succeed."""
    half = [k % 2 == 0 for k in range(episodes)]
    document: dict[str, Any] = {"format": "diacritic-rollout/1", "success": 0.5, "side": 1.0, "slot": 0.5}
    document |= {"action_error_cm": 1.25, "episodes": episodes}
    document["by_episode"] = {"success": half, "side": [True] * episodes, "slot": half}
    (path / "rollout.json").write_text(json.dumps(document), encoding="utf-8")
    codes = np.tile(np.arange(episodes, dtype=np.uint16) % 4, (11, 1))
    latents: dict[str, Any] = {"latent:theta": np.arange(episodes, dtype=np.int32) % 4}
    np.savez_compressed(path / "rollout.npz", codes=codes, symbols=codes.astype(np.int32), **latents)


def ledger_row(cell: str, seed: int, sufficient: bool, **more: Any) -> dict[str, Any]:
    """One row with every required key."""
    row: dict[str, Any] = {"study": "blocks", "cell": cell, "task": cell, "learner": "plain", "preset": "carousel"}
    row |= {"seed": seed, "steps": 10, "K": 16, "beta": 0.01, "N": None, "gate": "full", "sufficient": sufficient}
    row |= {"diverged": False, "scores": {}, "rate": {"gap": 1.5}, "requirement": {"gap": 1.0}, "success": 1.0}
    row |= {"seconds": 1.0, "device": "cpu", "versions": {}, "code_version": "0", "demos_sha256": "0"}
    return row | more


def make_ledger(path: Path) -> Path:
    """Two cells whose seeds all pass, and a hostile one of which one seed does."""
    rows = [ledger_row("gap gap2=6", seed, True) for seed in range(8)]
    rows += [ledger_row("gap gap2=15", seed, True) for seed in range(8)]
    rows += [ledger_row(HOSTILE, s, s > 2, study="maze", learner="gru") for s in range(4)]
    write_ledger(path, rows)
    return path
