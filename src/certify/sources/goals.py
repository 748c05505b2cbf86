"""An expert for PRISM models: it sees the state and heads for the states that the model labels as its goal."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from certify.errors import UserError
from certify.sources.drn import Explicit
from certify.stationary.world import Privileged

LABELS = ("goal", "target", "done", "success", "traded", "deliveries")
DISCOUNT, SWEEPS, TIE = 0.95, 400, 1e-9


def to_goal(explicit: Explicit) -> Privileged:
    """Sooner is better, and more likely is better: the policy of the largest expected 0.95^(steps to the goal).

    Where no state is labelled, the goal is where episodes end.
    """
    world = explicit.world
    goals = [s for s, labels in enumerate(explicit.labels) if any(label in LABELS for label in labels)]
    goals = goals or [s for s in range(len(world.states)) if not any(rows.get(s) for rows in _tables(explicit))]
    if not goals:
        named = sorted({label for labels in explicit.labels for label in labels} - {"init", "deadlock"})
        raise UserError(world.name, f"never ends, and its labels ({', '.join(named) or 'none'}) name no goal")
    moves: list[list[tuple[str, Mapping[int, Fraction]]]] = [[] for _ in world.states]
    for action, rows in zip(world.actions, _tables(explicit), strict=True):
        for s, row in rows.items():
            moves[s].append((action, row))
    chances = [
        [(np.array([*row], np.int64), np.array([float(p) for p in row.values()])) for _, row in m] for m in moves
    ]
    value = np.zeros(len(world.states))
    value[goals] = 1.0
    worth = [np.zeros(len(m)) for m in moves]
    for _ in range(SWEEPS):
        worth = [np.array([DISCOUNT * float(p @ value[to]) for to, p in row]) for row in chances]
        after = np.array([row.max(initial=0.0) for row in worth])
        after[goals] = 1.0
        moved, value = np.abs(after - value).max(), after
        if moved < TIE:
            break
    best = [int((row >= row.max() - TIE).argmax()) if len(row) else 0 for row in worth]
    return Privileged({name: moves[s][best[s]][0] for s, name in enumerate(world.states) if moves[s]})


def _tables(explicit: Explicit) -> list[Mapping[int, Mapping[int, Fraction]]]:
    """Of each action: the states that have it, and where it leads."""
    return [rows if isinstance(rows, Mapping) else dict(enumerate(rows)) for rows in explicit.world.transitions]
