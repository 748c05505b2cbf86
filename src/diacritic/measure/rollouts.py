"""Saved runs in closed loop: played, measured under their own occupancy, and kept beside each run."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certify.progress import working
from diacritic.files.arrays import write_npz
from diacritic.files.atomic import write_json
from diacritic.files.run import RunsLike, run_paths
from diacritic.measure.plugin import conditional_entropy
from diacritic.rollout.closed_loop import EPISODES, SEED, Rollouts, play, takeover
from diacritic.rollout.run_loading import Group, groups

FORMAT = "diacritic-rollout/1"


@dataclass(frozen=True)
class Played:
    """Runs of one task in the same episodes."""

    group: Group
    rollouts: Rollouts
    seed: int
    until: str | None

    def summary(self) -> dict[Path, dict[str, Any]]:
        """The numbers of each run, by its folder."""
        return {run.path: self.rollouts.summary(k) for k, run in enumerate(self.group.runs)}

    def save(self) -> None:
        """`rollout.json` and `rollout.npz` beside every run."""
        rollouts = self.rollouts
        assert rollouts.symbols is not None  # a stored run brings its binner
        latents = {f"latent:{name}": values for name, values in rollouts.latents.items()}
        for k, run in enumerate(self.group.runs):
            codes, symbols = rollouts.codes[k], rollouts.symbols[k]
            document: dict[str, Any] = {
                "format": FORMAT,
                "seed": self.seed,
                "until": self.until,
                **rollouts.summary(k),
                "own_rate": [conditional_entropy(c, o) for c, o in zip(codes, symbols, strict=True)],
                "by_episode": {name: rollouts.outcome[name][k].tolist() for name in rollouts.shares},
            }
            write_npz(run.path / "rollout.npz", codes=codes.astype(np.uint16), symbols=symbols, **latents)
            write_json(run.path / "rollout.json", document)


def rollout(
    runs: RunsLike,
    episodes: int = EPISODES,
    seed: int = SEED,
    *,
    until: str | None = None,
    threads: int = 0,
    save: bool = True,
) -> list[Played]:
    """Play runs of recorded tasks in closed loop, all policies of a task in the same episodes.

    With `until`, the expert drives until this phase begins, while the policy's memory watches.
    """
    return list(rollouts(runs, episodes, seed, until, threads, save))


def rollouts(runs: RunsLike, episodes: int, seed: int, until: str | None, threads: int, save: bool) -> Iterator[Played]:
    """The same, one task after the other."""
    for group in groups(run_paths(runs)):
        first = 0 if until is None else takeover(group.task, until)
        with working(f"{group.task.name}: {len(group.runs)} policies × {episodes} episodes"):
            outcome = play(group.task, group.policies(), episodes, seed, group.binner, threads, first)
        played = Played(group, outcome, seed, until)
        if save:
            played.save()
        yield played
