"""MIKASA-Base from a checkout of its repository, unmodified, with scripted experts; Memory Gym's grid tasks among them.

Of tasks with too many hidden values, some episodes are played: the first so many seeds.
"""

import hashlib
import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from certify.core.model import Model
from certify.errors import UserError
from certify.sources.adapter import Adapter, Legend, to_model
from certify.sources.checkout import load
from certify.sources.dm import memory_chain
from certify.sources.gym import by_seed, from_gym, from_seeds
from certify.sources.minigrid import from_minigrid

SEEDS = 64
RIGHT, UP, DOWN = 0, 1, 3  # of the T-maze
WAIT, TURN_LEFT, TURN_RIGHT, WALK = range(4)  # of Memory Gym's grids
FACING = ((0, -1), (-1, 0), (0, 1), (1, 0))  # north, west, south, east, as the rotation counts
COMMANDS = {"command_count": [3], "command_show_duration": [1], "command_show_delay": [0]}


def from_mikasa(checkout: str | PathLike[str], name: str) -> Model:
    """The model of one id, such as ``MemoryLengthEasy-v0``."""
    if not Path(checkout, "mikasa_base").is_dir():
        raise UserError("--mikasa", "has no folder mikasa_base; give a checkout of MIKASA-Base")
    if name not in TASKS:
        raise UserError(name, f"is not a task that is read; there are {', '.join(TASKS)}")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")  # pygame looks for a sound card otherwise
    module, make, _ = TASKS[name]
    return to_model(make(load(checkout, f"mikasa_base.{module}"), name))


def _length(bits: int, delay: int) -> Callable[[Any, str], Adapter[Any]]:
    return lambda module, _: memory_chain(bits, delay, module.MemoryChain)


def _t_maze(length: int) -> Callable[[Any, str], Adapter[Any]]:
    """Walk to the junction, then to the side that was shown first."""

    def make(module: Any, name: str) -> Adapter[Any]:
        env = module.TMazeClassicPassive(corridor_length=length)

        def expert(goal: int, history: tuple[str, ...]) -> int:
            return (UP if goal > 0 else DOWN) if len(history) == 2 * length + 1 else RIGHT

        chosen = by_seed(lambda live: int(live.goal_y))
        return from_gym(env, [-1, 1], expert, length + 1, set_hidden=chosen, name=name)

    return make


def _cards(pairs: int) -> Callable[[Any, str], Adapter[int]]:
    """Choose the partner of the card that is shown, if it was seen; else the first card that was not."""

    def make(module: Any, name: str) -> Adapter[int]:
        seen: dict[int, int] = {}

        def act(env: Any) -> int:
            here = int(env.current_card)
            seen[here] = int(env.observation[here])
            partner = next((k for k, value in seen.items() if value == seen[here] and k != here), None)
            closed = (k for k in range(env.num_cards) if k not in seen and env.observation[k] == env.card_hidden)
            return next(closed, 0) if partner is None else partner

        return _by_seeds(module.Memory(num_pairs=pairs), act, 12, name, seen.clear)

    return make


def _numpad(module: Any, name: str) -> Adapter[int]:
    """Walk to the next tile of the sequence, which this expert knows."""

    def act(env: Any) -> int:
        row, column = divmod(int(env.seq[env.seq_cnt]), env.numpad_size)
        here = int(env.ball_pos[0]), int(env.ball_pos[1])
        if row != here[0]:
            return env.UP if row < here[0] else env.DOWN
        return env.LEFT if column < here[1] else env.RIGHT

    env = module.Numpad2DDiscrete()

    def start(live: Any, seed: int) -> Any:
        live.rng = np.random.RandomState(seed)
        return env.reset()

    return _by_seeds(env, act, 16, name, start=start)


def _memory(**given: Any) -> Callable[[Any, str], Adapter[int]]:
    return lambda module, name: from_minigrid(name, SEEDS, 24, env=module.MemoryEnv(**given))


def _mortar(module: Any, name: str) -> Adapter[int]:
    """Wait while commands are shown, then carry them out one after the other."""
    env = getattr(module, "GridMortarMayhemTaskBEnv", None) or module.GridMortarMayhemEnv

    def act(live: Any) -> int:
        shown = getattr(live, "_command_visualization", None)
        return WAIT if shown else _towards(live, live._target_pos)

    options = COMMANDS if name == "MortarMayhem-Grid-v0" else {"command_count": [3]}
    return _by_seeds(env(), act, 30, name, options=options, also="3 commands instead of 10")


def _mystery(module: Any, name: str) -> Adapter[int]:
    """Walk along the invisible path, which this expert knows."""

    def act(live: Any) -> int:
        path = [(node.x, node.y) for node in live.mystery_path.path]
        path = path if path[0] == tuple(live.start) else path[::-1]
        here = path.index((int(live.agent.grid_position[0]), int(live.agent.grid_position[1])))
        return _towards(live, path[here + 1])

    return _by_seeds(module.GridMysteryPathEnv(), act, 24, name)


def _towards(live: Any, target: Any) -> int:
    """Turn towards a neighbouring tile and walk there."""
    away = tuple(int(a - b) for a, b in zip(target, live.agent.grid_position, strict=True))
    if away not in FACING:
        return WAIT
    turns = (FACING.index(away) - live.agent.rotation // 90) % 4
    return (WALK, TURN_LEFT, TURN_LEFT, TURN_RIGHT)[turns]


def _by_seeds(
    env: Any,
    act: Callable[[Any], int],
    horizon: int,
    name: str,
    forget: Callable[[], None] = lambda: None,
    start: Callable[[Any, int], Any] | None = None,
    options: dict[str, Any] | None = None,
    also: str = "",
) -> Adapter[int]:
    def begin(live: Any, seed: int) -> Any:
        forget()
        if start is not None:
            return start(live, seed)
        return env.reset(seed=seed, options=options) if options else env.reset(seed=seed)

    modified = ", ".join(filter(None, [also, f"{SEEDS} seeds, first {horizon} steps"]))
    legend = Legend(8)
    given = {"symbol": lambda raw: legend(_digest(raw)), "name": name, "modified": modified}
    return from_seeds(env, SEEDS, act, horizon, begin, **given)


def _digest(raw: Any) -> str:
    """A short text that no other picture has."""
    parts = raw.values() if isinstance(raw, dict) else [raw]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


TASKS: dict[str, tuple[str, Callable[[Any, str], Adapter[Any]], str]] = {
    "MemoryLengthEasy-v0": ("Bsuite.env.memory_chain", _length(1, 10), ""),
    "MemoryLengthMedium-v0": ("Bsuite.env.memory_chain", _length(1, 30), ""),
    "MemoryLengthHard-v0": ("Bsuite.env.memory_chain", _length(3, 100), ""),
    "T-Maze-v0": ("Passive_T_Maze.env.env_passive_t_maze", _t_maze(10), ""),
    "T-Maze-v0 corridor_length=40": ("Passive_T_Maze.env.env_passive_t_maze", _t_maze(40), ""),
    "MemoryCardsEasy-v0": ("MemoryCards.env.memory_cards_env", _cards(5), f"{SEEDS} seeds, first 12 steps"),
    "MemoryCardsMedium-v0": ("MemoryCards.env.memory_cards_env", _cards(10), f"{SEEDS} seeds, first 12 steps"),
    "MemoryCardsHard-v0": ("MemoryCards.env.memory_cards_env", _cards(30), f"{SEEDS} seeds, first 12 steps"),
    "Numpad-Discrete-v0": ("Numpad.env.numpad_discrete", _numpad, f"{SEEDS} seeds, first 16 steps"),
    "MiniGrid-MemoryS7-v0": ("MinigridMemory.env.memory", _memory(size=7), f"{SEEDS} layouts, first 24 steps"),
    "MiniGrid-MemoryS13-v0": ("MinigridMemory.env.memory", _memory(size=13), f"{SEEDS} layouts, first 24 steps"),
    "MortarMayhem-Grid-v0": (
        "MemoryGym.env.mortar_mayhem_grid",
        _mortar,
        f"3 commands instead of 10, each shown once, {SEEDS} seeds, first 30 steps",
    ),
    "MortarMayhemB-Grid-v0": (
        "MemoryGym.env.mortar_mayhem_b_grid",
        _mortar,
        f"3 commands instead of 10, {SEEDS} seeds, first 30 steps",
    ),
    "MysteryPath-Grid-v0": ("MemoryGym.env.mystery_path_grid", _mystery, f"{SEEDS} seeds, first 24 steps"),
}
"""By id: the module, what makes an adapter of it, and how it differs from the whole task."""
OTHERS = {
    "Ballet-v0": "Ballet.env.ballet_env",
    "Passive-VisualMatch-v0": "PassiveVisualMatch2D.env.passive_visual_match_env",
    "ViZDoomTwoColorsBase-v0": "ViZDoom_Two_Colors.env.env_vizdoom",
    "MemoryMaze-9x9-v0": "MemoryMaze.env.tasks",
}
"""Ids whose simulators are not among our requirements."""


def try_other(checkout: str | PathLike[str], name: str) -> Model:
    """Ids that are not read: what their modules lack, or that they have no expert."""
    load(checkout, f"mikasa_base.{OTHERS[name]}")
    raise UserError(
        name, "shows pictures of a simulator and comes without an expert; record one and use `diacritic need`"
    )
