"""Closed loop on the Franka tasks: many policies in the same episodes, judged under their own occupancy."""

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
from diacritic.memory.layers import Parameters
from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture
from diacritic.rollout.paired_episodes import SharedEpisodes
from diacritic.rollout.policies import Floats, Ints, Player, Policies
from diacritic.tasks.franka.batch import LARGEST_MOVE
from diacritic.tasks.franka.pixels import Cameras, pixel_channels
from diacritic.tasks.franka.task import Latents, Task, draw_latents
from diacritic.tasks.franka.timeline import PHASES

EPISODES = 128
Bools = NDArray[np.bool_]


class Moment(NamedTuple):
    """Step t of every policy in every episode, just before its action is executed."""

    t: int
    seen: Floats  # O_t, [S, E, 27]
    symbols: Ints | None  # Ō_t, [S, E]
    codes: Ints  # C_t, [S, E]
    executed: Floats  # [S, E, 4]
    expert: Floats  # what the expert would do in this state, [S, E, 4]


@dataclass
class Loop:
    """The closed loop itself, step by step. Until `takeover` the expert acts while every memory watches."""

    core: SharedEpisodes
    player: Player
    latents: Latents | None = None
    binner: Binner | None = None
    takeover: int = 0
    cameras: Cameras | None = None
    simulated: float = field(default=0.0, init=False)
    """Seconds spent in the simulator."""

    def play(self) -> list[Moment]:
        """Every step, with cameras where the player looks at pictures."""
        self.cameras = Cameras(self.core) if self.player.pixels else None
        try:
            return list(self)
        finally:
            if self.cameras is not None:
                self.cameras.close()

    def __iter__(self) -> Iterator[Moment]:
        core, rows = self.core, (self.core.policies, self.core.episodes)
        reader = None if self.binner is None else OnlineReader(self.binner)
        self.player.begin(core.episodes)
        seen, executed = self._timed(core.reset, self.latents), None
        while core.t < core.task.horizon:
            symbols = None if reader is None else reader.read(seen).reshape(rows)
            frames = None if self.cameras is None else self._timed(self.cameras.frames, core)
            looked = seen if frames is None else pixel_channels(seen)
            pictures = None if frames is None else frames.reshape(*rows, *frames.shape[1:])
            codes, wanted = self.player.step(looked.reshape(*rows, -1), executed, symbols, pictures)
            expert = core.expert().astype(np.float32).reshape(*rows, -1)
            executed = executable(wanted) if core.t >= self.takeover else expert
            yield Moment(core.t, seen.reshape(*rows, -1), symbols, codes, executed, expert)
            seen, _ = self._timed(core.step, executed.reshape(core.envs, -1))

    def _timed(self, work: Any, *arguments: Any) -> Any:
        begun = time.perf_counter()
        result = work(*arguments)
        self.simulated += time.perf_counter() - begun
        return result


@dataclass(frozen=True)
class Rollouts:
    """S policies × E episodes of T steps."""

    success: Bools  # [S, E]
    side: Bools  # the right side was approached, [S, E]
    slot: Bools  # the object ended nearest to the right slot, [S, E]
    distance: Floats  # of the object from its slot in the end, metres, [S, E]
    error: Floats  # distance of the displacement from the expert's in the same state, centimetres, [S, T, E]
    codes: Ints  # C_t under the policy's own occupancy, [S, T, E]
    symbols: Ints | None  # Ō_t as the online binner reads it; −1 where it was never recorded, [S, T, E]
    observations: Floats | None  # [S, T, E, 27]
    latents: Latents  # each [E]
    takeover: int
    """The step from which the policies act."""
    seconds: float
    simulated: float
    """Seconds of these in the simulator."""

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
        accuracy = {name: float(getattr(self, name)[policy].mean()) for name in ("success", "side", "slot")}
        error, unseen = float(self.action_error[policy]), self.unseen
        return {
            **accuracy,
            "action_error_cm": None if np.isnan(error) else error,
            "unseen_symbols": None if unseen is None else int(unseen[policy]),
            "episodes": self.success.shape[1],
            "takeover": self.takeover,
        }


def closed_loop(
    task: Task,
    parameters: Parameters,
    architecture: Architecture,
    scale: Scale,
    episodes: int = EPISODES,
    seed: int = 0,
    binner: Binner | None = None,
    threads: int = 0,
    *,
    latents: Mapping[str, Any] | None = None,
    observations: bool = False,
) -> Rollouts:
    """S trained policies (stacked parameters) in the same episodes; hidden values are stratified unless given."""
    player = Policies(parameters, architecture, scale)
    return play(task, player, episodes, seed, binner, threads, latents=latents, observations=observations)


def hybrid(
    task: Task,
    parameters: Parameters,
    architecture: Architecture,
    scale: Scale,
    until: str,
    episodes: int = EPISODES,
    seed: int = 0,
    binner: Binner | None = None,
    threads: int = 0,
    *,
    latents: Mapping[str, Any] | None = None,
    observations: bool = False,
) -> Rollouts:
    """The expert drives until the phase `until` begins while each memory watches; then the policy acts alone."""
    player, first = Policies(parameters, architecture, scale), takeover(task, until)
    return play(task, player, episodes, seed, binner, threads, first, latents=latents, observations=observations)


def play(
    task: Task,
    player: Player,
    episodes: int = EPISODES,
    seed: int = 0,
    binner: Binner | None = None,
    threads: int = 0,
    takeover: int = 0,
    *,
    latents: Mapping[str, Any] | None = None,
    observations: bool = False,
) -> Rollouts:
    """Any player in closed loop; the same seed gives the same numbers for any number of simulation threads."""
    core = SharedEpisodes(task, player.runs, episodes, seed, threads)
    hidden = draw_latents(task, episodes, np.random.default_rng(seed)) if latents is None else dict(latents)
    loop = Loop(core, player, hidden, binner, takeover)
    begun = time.perf_counter()
    with _one_thread():
        moments = loop.play()
    seconds = time.perf_counter() - begun
    outcome = {name: values.reshape(player.runs, episodes) for name, values in core.outcome().items()}
    executed, expert = (np.stack([getattr(m, name) for m in moments], 1) for name in ("executed", "expert"))
    symbols = [moment.symbols for moment in moments if moment.symbols is not None]
    return Rollouts(
        outcome["success"],
        outcome["side"],
        outcome["slot"],
        outcome["distance"],
        100 * np.linalg.norm(executed[..., :3] - expert[..., :3], axis=-1),
        np.stack([moment.codes for moment in moments], 1),
        np.stack(symbols, 1) if symbols else None,
        np.stack([moment.seen for moment in moments], 1) if observations else None,
        {name: values[:episodes] for name, values in core.latents.items()},
        takeover,
        seconds,
        loop.simulated,
    )


def executable(wanted: Floats) -> Floats:
    """The action that the arm really takes: moves within its limit, the gripper fully open or closed, never NaN."""
    known = np.nan_to_num(np.asarray(wanted, np.float32))
    moves = np.clip(known[..., :3], -LARGEST_MOVE, LARGEST_MOVE)
    return np.concatenate([moves, np.where(known[..., 3:] < 0, -1, 1)], axis=-1, dtype=np.float32)


def takeover(task: Task, phase: str) -> int:
    """The first step of a phase, from which the policy acts."""
    steps = task.phase_steps(phase)
    if not steps:
        known = [name for name in PHASES if task.phase_steps(name)]
        raise UserError("until", f"{task.name} has no phase {phase!r}; there are {', '.join(known)}")
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
