"""A scripted expert for MiniGrid: it sees the whole grid, fetches keys, opens doors and boxes, and clears its way."""

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any

from certify.errors import UserError

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # right, down, left, up, as the environment counts directions
OBSTACLE = 1000  # steps that a locked door or an object in the way counts for
Cell = tuple[int, int]
Pose = tuple[int, int, int]


_OUTSIDE = SimpleNamespace(type="wall")


@dataclass(frozen=True)
class Goal:
    """A cell and what to do there: FORWARD is to stand on it, DROP to put something beside it, all else to face it."""

    cell: Cell
    action: int

    def reached(self, env: Any, pose: Pose) -> bool:
        if self.action == FORWARD:
            return pose[:2] == self.cell
        ahead = in_front(pose)
        if self.action == DROP:
            beside = abs(ahead[0] - self.cell[0]) + abs(ahead[1] - self.cell[1]) == 1
            return beside and _at(env, ahead) is None
        return ahead == self.cell


@dataclass(frozen=True)
class Route:
    """The first action of a shortest way (none: it is reached already), its cost, and the first thing in the way."""

    action: int | None
    cost: int
    obstacle: Cell | None


def plan(env: Any) -> int:
    """The next action towards the goal of an environment."""
    return _pursue(env, _goal(env))


def in_front(pose: Pose) -> Cell:
    return pose[0] + STEPS[pose[2]][0], pose[1] + STEPS[pose[2]][1]


def _pursue(env: Any, goal: Goal, *above: Goal) -> int:
    """The next action towards a goal, which serves those above it."""
    route = _way(env, lambda pose: goal.reached(env, pose))
    if route is None:
        raise UserError(env.spec.id, "the planner finds no way to the goal")
    if env.action_space.n <= FORWARD + 1:  # nothing can be moved: turn away from what is in front
        return LEFT if route.obstacle == in_front(_pose(env)) else LEFT if route.action is None else route.action
    target = env.grid.get(*goal.cell)
    locked = goal.action == TOGGLE and target.type == "door" and not _opens(target, env.carrying)
    obstacle = goal.cell if locked and route.obstacle is None else route.obstacle
    if obstacle is not None:
        return _pursue(env, _remedy(env, obstacle), goal, *above)
    if goal.action == PICKUP and env.carrying is not None:  # put it down once no door needs it
        without = _way(env, lambda pose: goal.reached(env, pose), held=None)
        if without is not None and without.obstacle is None:
            return _drop(env, goal, *above)
    return goal.action if route.action is None else route.action


def _remedy(env: Any, obstacle: Cell) -> Goal:
    """The key of a locked door, or the box that holds it; a full box is opened, anything else is picked up."""
    thing = env.grid.get(*obstacle)
    if thing.type != "door":
        return Goal(obstacle, TOGGLE if getattr(thing, "contains", None) is not None else PICKUP)
    for cell, other in _things(env):
        if other.type == "key" and other.color == thing.color:
            return Goal(cell, PICKUP)
        hidden = getattr(other, "contains", None)
        if hidden is not None and hidden.type == "key" and hidden.color == thing.color:
            return Goal(cell, TOGGLE)
    raise UserError(env.spec.id, f"the planner finds no key for the {thing.color} door")


def _drop(env: Any, *goals: Goal) -> int:
    """Towards the nearest empty cell where what is carried is in the way of no goal."""

    def obstacles(goal: Goal, start: Pose | None = None, filled: Cell | None = None) -> float:
        route = _way(env, lambda pose: goal.reached(env, pose), start, filled, None)
        return math.inf if route is None else route.cost // OBSTACLE

    def arrived(pose: Pose) -> bool:
        ahead = in_front(pose)
        return _at(env, ahead) is None and all(obstacles(goal, pose, ahead) <= most[goal] for goal in goals)

    most = {goal: obstacles(goal) for goal in goals}
    route = _way(env, arrived)
    if route is None or route.obstacle is not None:
        raise UserError(env.spec.id, "the planner finds no cell to put something down")
    return DROP if route.action is None else route.action


def _way(
    env: Any, arrived: Callable[[Pose], bool], start: Pose | None = None, filled: Cell | None = None, held: Any = ...
) -> Route | None:
    """A shortest way to a pose; where given, as if an object lay in the cell `filled` and `held` were carried."""
    start, tie = start or _pose(env), count()
    held = env.carrying if held is ... else held
    waiting: list[tuple[int, int, Pose, int | None, Cell | None]] = [(0, next(tie), start, None, None)]
    done: set[Pose] = set()
    while waiting:
        cost, _, pose, first, obstacle = heapq.heappop(waiting)
        if pose in done:
            continue
        done.add(pose)
        if arrived(pose):
            return Route(first, cost, obstacle)
        ahead = in_front(pose)
        turns = [(LEFT, (*pose[:2], (pose[2] - 1) % 4), 1, None), (RIGHT, (*pose[:2], (pose[2] + 1) % 4), 1, None)]
        for action, after, price, thing in [*turns, *_enter(env, ahead, pose[2], filled, held)]:
            if after not in done:
                met = obstacle if obstacle is not None else thing
                heapq.heappush(waiting, (cost + price, next(tie), after, action if first is None else first, met))
    return None


def _enter(
    env: Any, cell: Cell, direction: int, filled: Cell | None, held: Any
) -> Iterator[tuple[int, Pose, int, Cell | None]]:
    """How a cell is entered: the first action, the pose there, the price, and what is in the way."""
    thing, there = _at(env, cell), (*cell, direction)
    if cell == filled:
        yield FORWARD, there, OBSTACLE, cell
    elif thing is None or thing.type in ("goal", "floor") or (thing.type == "door" and thing.is_open):
        yield FORWARD, there, 1, None
    elif thing.type == "door":
        yield (TOGGLE, there, 2, None) if _opens(thing, held) else (TOGGLE, there, OBSTACLE, cell)
    elif thing.type in ("ball", "box", "key"):
        yield FORWARD, there, OBSTACLE, cell


def _opens(door: Any, held: Any) -> bool:
    return not door.is_locked or (held is not None and held.type == "key" and held.color == door.color)


def _at(env: Any, cell: Cell) -> Any:
    """What lies in a cell; a wall outside the grid."""
    grid = env.grid
    return grid.get(*cell) if 0 <= cell[0] < grid.width and 0 <= cell[1] < grid.height else _OUTSIDE


def _pose(env: Any) -> Pose:
    return int(env.agent_pos[0]), int(env.agent_pos[1]), int(env.agent_dir)


def _things(env: Any) -> list[tuple[Cell, Any]]:
    return [((k % env.grid.width, k // env.grid.width), thing) for k, thing in enumerate(env.grid.grid) if thing]


def _goal(env: Any) -> Goal:
    """What an environment asks for, as its attributes say it."""

    def where(fits: Callable[[Any], bool], action: int) -> Goal:
        cell = next((cell for cell, thing in _things(env) if fits(thing)), None)
        if cell is None:
            raise UserError(env.spec.id, "has no goal that the planner knows; write an expert for it")
        return Goal(cell, action)

    if hasattr(env, "success_pos"):
        return Goal((int(env.success_pos[0]), int(env.success_pos[1])), FORWARD)
    if hasattr(env, "red_door"):
        door = env.blue_door if env.red_door.is_open else env.red_door
        return where(lambda thing: thing is door, TOGGLE)
    if hasattr(env, "move_type"):
        wanted, held = (env.move_type, env.moveColor), env.carrying
        if held is not None and (held.type, held.color) == wanted:
            return Goal((int(env.target_pos[0]), int(env.target_pos[1])), DROP)
        return where(lambda thing: (thing.type, thing.color) == wanted, PICKUP)
    if hasattr(env, "target_pos"):
        return Goal((int(env.target_pos[0]), int(env.target_pos[1])), DONE)
    if hasattr(env, "targetColor"):
        return where(lambda thing: (thing.type, thing.color) == (env.targetType, env.targetColor), PICKUP)
    if hasattr(env, "instrs"):
        return _instructed(env, where)
    if hasattr(env, "obj"):
        return where(lambda thing: thing is env.obj, PICKUP)
    if hasattr(env, "door"):
        return where(lambda thing: thing is env.door, TOGGLE)
    return where(lambda thing: thing.type == "goal", FORWARD)


def _instructed(env: Any, where: Callable[[Callable[[Any], bool], int], Goal]) -> Goal:
    """The goal of one BabyAI instruction: open, pick up, or put next to."""
    told = env.instrs
    if not hasattr(told, "desc_move"):
        action = TOGGLE if type(told).__name__ == "OpenInstr" else PICKUP
        return where(lambda thing: any(thing is wanted for wanted in told.desc.obj_set), action)
    if any(env.carrying is wanted for wanted in told.desc_move.obj_set):
        return where(lambda thing: any(thing is other for other in told.desc_fixed.obj_set), DROP)
    return where(lambda thing: any(thing is wanted for wanted in told.desc_move.obj_set), PICKUP)
