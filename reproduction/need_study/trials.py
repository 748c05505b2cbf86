"""One dataset, drawn by its seed, and what `need` says of it beside the truth."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diacritic.need.answer import Need, need
from diacritic.need.classes import joint
from reproduction.need_study import arm, controls, worlds
from reproduction.need_study.controls import CONTROLS
from reproduction.need_study.stress import STRESSES
from reproduction.need_study.worlds import WORLDS, Latents, World

CLOSE = 0.1  # bits
VERSION = 4  # of what decides an answer: 4 asks of a frame that shows a part of a cue to be read nearly without error


@dataclass(frozen=True)
class Trial:
    """A cell of the study and a draw of it."""

    part: str  # staircase, arm, control, power
    family: str
    episodes: int
    seed: int
    stress: str = "none"
    noise: float = 0.05
    strength: float = 1.0

    @property
    def held_out(self) -> bool:
        if self.part == "arm":
            return self.seed * self.episodes // arm.RECORDED not in arm.DEVELOPED
        return self.family in (*worlds.HELD_OUT, *controls.HELD_OUT)


def run_trial(trial: Trial, recordings: Path | None = None) -> dict[str, Any]:
    """The row of the ledger; `recordings` is the folder of the arm's."""
    rng = np.random.default_rng([trial.seed, trial.episodes, *map(ord, trial.family)])
    began = time.perf_counter()
    row: dict[str, Any] = {"study": "need", "version": VERSION, **asdict(trial)}
    row["held_out"] = trial.held_out
    if trial.part == "control":
        demos = CONTROLS[trial.family](trial.episodes, rng)
        if trial.stress != "none":
            demos = STRESSES[trial.stress](demos, rng)
        answer = need(demos, plants=0, seed=trial.seed)
    elif trial.part == "arm":
        folder, number = recordings or Path(), trial.seed * trial.episodes // arm.RECORDED
        demos = arm.kept(folder, trial.family, trial.seed, trial.episodes)
        answer = need(arm.visible(demos), plants=0, seed=trial.seed)
        whole = arm.kept(folder, trial.family, number, arm.RECORDED)
        row |= arm.compared_with_certificate(demos, whole, answer, CLOSE)
    else:
        world = WORLDS[trial.family]
        latents = world.draw(trial.episodes, rng)
        demos = world.record(latents, rng, trial.noise, trial.strength)
        answer = need(demos, plants=0, seed=trial.seed)
        row |= compared(world, latents, answer)
    return row | {"answer": answer.kind, "seconds": round(time.perf_counter() - began, 2)}


def compared(world: World, latents: Latents, answer: Need) -> dict[str, Any]:
    """Bits, cue frames and classes beside those of the world."""
    truth = world.requirement(latents)
    error = float(np.abs(np.array(truth) - np.array(answer.bits)).max())
    return {
        "bits_error": round(error, 4),
        "bits_right": error <= CLOSE,
        "most_bits": round(max(truth), 4),
        "frames_right": _frames_right(world, answer),
        "classes_right": _classes_right(world, latents, answer),
    }


def _frames_right(world: World, answer: Need) -> bool:
    """Whether every last sight of a cue before the first decision that uses it lies within one step of the truth."""
    truth = [t for part in world.shown for t in part.steps]
    said = {t for d in answer.remembered for cue in d.cues for t in range(d.steps[0]) if cue.names(t).max() > 0}
    first = min(part.step for part in world.asked)
    early = {t for t in said if t < first}
    needed = [max(t for t in part.steps if t < world.steps) for part in world.shown]
    near = all(min(abs(t - u) for u in truth) <= 1 for t in early)
    return near and all(any(abs(t - u) <= 1 for u in said) for t in needed if t < first)


def _classes_right(world: World, latents: Mapping[str, Any], answer: Need) -> float:
    """The least share, over the decisions of the world, of episodes whose class was found."""
    shares = []
    for part in world.asked:
        truth = part.rule(latents)
        here = [d for d in answer.remembered if part.step in d.steps]
        labels = np.zeros(len(truth), np.int64)
        for decision in here:
            labels = joint(labels, decision.labels)
        shares.append(sum(np.bincount(truth[labels == k]).max() for k in np.unique(labels)) / len(truth))
    return round(float(min(shares)), 4)
