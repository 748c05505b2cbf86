"""MiniGrid and BabyAI: some layouts of an environment with a planner or with BabyAIBot as the expert.

The hidden value is the layout, one of the first so many seeds, all equally likely; what is seen is the agent's view and
the mission. Answers are about these layouts and the first steps of an episode, and rows say how many.
"""

from collections import deque
from typing import Any

from certify.errors import UserError
from certify.optional import import_optional
from certify.sources._live import StateExpert
from certify.sources.adapter import Adapter, Legend
from certify.sources.gym import from_gym

LEFT, RIGHT, FORWARD, PICKUP, TOGGLE, DONE = 0, 1, 2, 3, 5, 6
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # right, down, left, up, as the environment counts directions
Pose = tuple[int, int, int]


def ids() -> list[str]:
    """Every registered id of the package."""
    import_optional("minigrid", "sources")
    registry = import_optional("gymnasium", "sources").registry
    return [name for name in registry if name.startswith(("MiniGrid-", "BabyAI-"))]


def from_minigrid(name: str, layouts: int = 16, horizon: int = 24, full: bool = False) -> Adapter[int]:
    """The first `horizon` steps of an environment in its first layouts; `full` shows the whole grid."""
    import_optional("minigrid", "sources")
    env = import_optional("gymnasium", "sources").make(name, disable_env_checker=True)
    if full:
        env = import_optional("minigrid.wrappers", "sources").FullyObsWrapper(env)
    by_bot = name.startswith("BabyAI-")
    live = env.unwrapped
    bots: list[Any] = []
    looked = [False]

    def start(_: Any, seed: int) -> Any:
        result = env.reset(seed=seed)
        looked[0] = not hasattr(live, "success_pos")  # where an object must be matched, the expert first looks at it
        if by_bot:
            bots[:] = [import_optional("minigrid.utils.baby_ai_bot", "sources").BabyAIBot(live)]
        return result

    def act(_: Any) -> int:
        if by_bot:
            return int(bots[0].replan(None))
        if not looked[0] and (int(live.agent_dir) != 2 or live.agent_pos[0] > 4):
            return LEFT if int(live.agent_dir) != 2 else FORWARD
        looked[0] = True
        return plan(live)

    modified = f"{layouts} layouts, at most {horizon} steps" + ", whole grid in view" * full
    legend, label = Legend(), name + " (full view)" * full
    return from_gym(
        env,
        list(range(layouts)),
        StateExpert(act),
        horizon,
        set_hidden=start,
        symbol=legend,
        name=label,
        modified=modified,
    )


def plan(env: Any) -> int:
    """The first action of a shortest way to the goal, by way of a key where a door is locked."""
    target = _target(env)
    if target is None:
        raise UserError(env.spec.id, "has no goal that the planner knows; write an expert for it")
    x, y = map(int, env.agent_pos)
    begin: Pose = (x, y, int(env.agent_dir))
    if begin[:2] == target:
        return DONE
    first: dict[Pose, int | None] = {begin: None}
    waiting = deque([begin])
    while waiting:
        pose = waiting.popleft()
        ahead = pose[0] + STEPS[pose[2]][0], pose[1] + STEPS[pose[2]][1]
        moves = {LEFT: (*pose[:2], (pose[2] - 1) % 4), RIGHT: (*pose[:2], (pose[2] + 1) % 4)}
        step = _entry(env, ahead, target)
        if step is not None:
            moves[step] = (*ahead, pose[2])
        for action, after in moves.items():
            if after not in first:
                first[after] = action if first[pose] is None else first[pose]
                waiting.append(after)
                if after[:2] == target:
                    return first[after] or LEFT
    raise UserError(env.spec.id, "the planner finds no way to the goal")


def _target(env: Any) -> tuple[int, int] | None:
    """The matching object's side, the key of a locked door, or the goal."""
    if hasattr(env, "success_pos"):
        return int(env.success_pos[0]), int(env.success_pos[1])
    cells = {(k % env.grid.width, k // env.grid.width): cell for k, cell in enumerate(env.grid.grid) if cell}
    locked = any(cell.type == "door" and cell.is_locked for cell in cells.values())
    wanted = "key" if locked and env.carrying is None else "goal"
    return next((place for place, cell in cells.items() if cell.type == wanted), None)


def _entry(env: Any, place: tuple[int, int], target: tuple[int, int]) -> int | None:
    """The action that makes way into a cell, or none."""
    cell = env.grid.get(*place)
    if cell is None or (cell.type in ("goal", "floor")):
        return FORWARD
    if cell.type == "door":
        return FORWARD if cell.is_open else TOGGLE if not cell.is_locked or env.carrying is not None else None
    return PICKUP if cell.type == "key" and place == target else None
