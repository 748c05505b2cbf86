"""The live reports of the gallery, made with the commands that a user would type: a toy and the shipped arm."""

import json
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

from diacritic.cli import main
from diacritic.shipped import cohort

REPORTS = ("toy.html", "arm.html")


def write(folder: Path, steps: int = 1500, episodes: int = 64) -> None:
    """Train, play and report; `steps` are updates of the toy, `episodes` those that each arm policy plays."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, chdir(work):  # so that the reports name no folder of this machine
        _toy(steps)
        _arm(episodes)
        for name in REPORTS:
            shutil.copy(name, folder)


def _toy(steps: int) -> None:
    _type("train", "gap", "gap1=1", "gap2=2", "--seeds", 4, "--steps", steps, "--out", "toy")
    _type("measure", "toy")
    _type("report", "gap gap1=1 gap2=2", "toy", "-o", "toy.html")


def _arm(episodes: int) -> None:
    """With a film where OpenGL is available."""
    paths = cohort(Path("arm"))
    _type("rollout", "arm", "--episodes", episodes)
    _type("record", "two-cues", "gap=20", "--episodes", 128, "--no-checks", "--out", "two-cues")
    best = max(paths, key=lambda path: json.loads((path / "rollout.json").read_text(encoding="utf-8"))["success"])
    seed = json.loads((best / "run.json").read_text(encoding="utf-8"))["run"]["seed"]
    film = f"two-cues gap=20, seed {seed}.mp4"
    shown = [film] if main(["video", "--run", str(best), "--small", "-o", film]) == 0 else ["--no-film"]
    _type("report", "arm", "two-cues", *shown, "-o", "arm.html")


def _type(*words: object) -> None:
    """Run one command as if it had been typed."""
    status = main([str(word) for word in words])
    if status != 0:
        raise SystemExit(status)
