"""Closed loop: many policies in the same episodes of a simulated task, judged under their own occupancy."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.demos.binner import UNSEEN, Binner, OnlineReader
from diacritic.rollout.policies import Floats, Ints, Player
from diacritic.tasks.protocol import Batch, Latents, Task, policy_view

EPISODES, SEED = 128, 900  # every policy of a task meets the same episodes


class Moment(NamedTuple):
    """Step t of every policy in every episode, just before its action is executed."""

    t: int
    seen: Floats  # O_t, [S, E, channels]
    symbols: Ints | None  # Ō_t, [S, E]
    codes: Ints  # C_t, [S, E]
    executed: Floats  # [S, E, A]
    expert: Floats  # the expert's action in this state, [S, E, A]


@dataclass
class Loop:
    """The closed loop itself, step by step. Until `takeover` the expert acts while every memory watches.

    A policy's previous action is what it wanted, not what the body made of it.
    """

    task: Task
    batch: Batch
    player: Player
    latents: Latents | None = None
    binner: Binner | None = None
    takeover: int = 0
    simulated: float = field(default=0.0, init=False)
    """Seconds spent in the simulator."""

    def play(self) -> list[Moment]:
        """Every step; cameras are released at the end."""
        try:
            return list(self)
        finally:
            self.batch.close()

    def __iter__(self) -> Iterator[Moment]:
        task, batch, rows = self.task, self.batch, (self.batch.policies, self.batch.episodes)
        reader = None if self.binner is None else OnlineReader(self.binner)
        self.player.begin(batch.episodes)
        seen, previous = self._timed(batch.reset, self.latents), None
        while batch.t < task.horizon:
            symbols = None if reader is None else reader.read(seen).reshape(rows)
            frames = self._timed(batch.frames) if self.player.pixels else None
            pictures = None if frames is None else frames.reshape(*rows, *frames.shape[1:])
            view = policy_view(task, seen, frames).reshape(*rows, -1)
            codes, wanted = self.player.step(view, previous, symbols, pictures)
            expert = batch.expert().astype(np.float32).reshape(*rows, -1)
            previous = wanted if batch.t >= self.takeover else expert
            executed = task.executable(previous)
            yield Moment(batch.t, seen.reshape(*rows, -1), symbols, codes, executed, expert)
            seen = self._timed(batch.step, executed.reshape(-1, executed.shape[-1]))

    def _timed(self, work: Any, *arguments: Any) -> Any:
        begun = time.perf_counter()
        result = work(*arguments)
        self.simulated += time.perf_counter() - begun
        return result


@dataclass(frozen=True)
class Rollouts:
    """S policies × E episodes of T steps."""

    outcome: Mapping[str, NDArray[Any]]  # by name, each [S, E]: `success`, whether each class was decided correctly, …
    classes: tuple[str, ...]  # of the task
    error: Floats  # distance of the executed action from the expert's in the same state, centimetres, [S, T, E]
    codes: Ints  # C_t under the policy's own occupancy, [S, T, E]
    symbols: Ints | None  # Ō_t as the online binner reads it; −1 where it was never recorded, [S, T, E]
    observations: Floats  # O_t, [S, T, E, channels]
    executed: Floats  # A_t, [S, T, E, A]
    latents: Latents  # each [E]
    choices: Latents  # what the expert would choose, each [E]
    takeover: int
    """The step from which the policies act."""
    seconds: float
    simulated: float
    """Seconds of these in the simulator."""

    @property
    def success(self) -> NDArray[np.bool_]:
        return self.outcome["success"]

    @property
    def shares(self) -> tuple[str, ...]:
        """The names of the outcomes that are reported as shares of the episodes."""
        return ("success", *self.classes)

    @property
    def action_error(self) -> Floats:
        """Mean error of each policy where it acts itself, centimetres, [S]; NaN where it never does."""
        own = self.error[:, self.takeover :]
        return own.mean((1, 2)) if own.shape[1] else np.full(len(own), np.nan)

    @property
    def unseen(self) -> Ints | None:
        """How many (step, episode) pairs of each policy show a symbol that was never recorded, [S]."""
        return None if self.symbols is None else (self.symbols == UNSEEN).sum((1, 2))

    def summary(self, policy: int) -> dict[str, Any]:
        """The numbers of one policy."""
        accuracy = {name: float(self.outcome[name][policy].mean()) for name in self.shares}
        error, unseen = float(self.action_error[policy]), self.unseen
        return {
            **accuracy,
            "action_error_cm": None if np.isnan(error) else error,
            "unseen_symbols": None if unseen is None else int(unseen[policy]),
            "episodes": self.success.shape[1],
            "takeover": self.takeover,
        }


def play(
    task: Task,
    player: Player,
    episodes: int = EPISODES,
    seed: int = SEED,
    binner: Binner | None = None,
    threads: int = 0,
    takeover: int = 0,
    *,
    latents: Mapping[str, Any] | None = None,
) -> Rollouts:
    """Any player in closed loop; the same seed gives the same numbers for any number of simulation threads."""
    batch = task.batch(episodes, seed, player.runs, threads)
    hidden = task.draw(episodes, seed) if latents is None else dict(latents)
    loop = Loop(task, batch, player, hidden, binner, takeover)
    begun = time.perf_counter()
    with _one_thread():
        moments = loop.play()
    seconds = time.perf_counter() - begun
    executed, expert = (np.stack([getattr(m, name) for m in moments], 1) for name in ("executed", "expert"))
    symbols = [moment.symbols for moment in moments if moment.symbols is not None]
    return Rollouts(
        {name: values.reshape(player.runs, episodes) for name, values in batch.outcome().items()},
        tuple(task.levels),
        task.action_error(executed, expert),
        np.stack([moment.codes for moment in moments], 1),
        np.stack(symbols, 1) if symbols else None,
        np.stack([moment.seen for moment in moments], 1),
        executed,
        {name: values[:episodes] for name, values in batch.latents.items()},
        {name: values[:episodes] for name, values in batch.choices.items()},
        takeover,
        seconds,
        loop.simulated,
    )


def takeover(task: Task, phase: str) -> int:
    """The first step of a phase, from which the policy acts."""
    steps = task.phase_steps(phase)
    if not steps:
        there = ", ".join(dict.fromkeys(task.phases))
        raise UserError("until", f"{task.name} has no phase {phase!r}; there are {there}")
    return steps[0]


@contextmanager
def _one_thread() -> Iterator[None]:
    """The policies are small: a second torch thread would only take time from the physics."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
