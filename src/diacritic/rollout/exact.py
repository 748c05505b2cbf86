"""A machine in its task without sampling: the exact closed loop."""

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from certify import Model, UserError
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import act_on, law_table
from diacritic.tasks.world import LivingWorld, WorldState

BRANCH_LIMIT = 200_000  # branches followed at one step before a policy counts as too random to be enumerated

_Branch = tuple[WorldState, int, int, bool]


@dataclass(frozen=True)
class ClosedLoop:
    """The machine under its own occupancy; an episode that the world cannot answer ends there and has failed."""

    success: float  # P(every action of the episode lies in the support of the expert's law where it was taken)
    correct: float  # expected number of such actions
    running: tuple[float, ...]  # P(the episode reaches step t)


def closed_loop(machine: CodeMachine, model: Model) -> ClosedLoop:
    """Play the machine in the model's world, every branch with its probability.

    With dynamics the world answers any action, until it shows what no demonstration shows. Without, it answers what
    the expert does.
    """
    machine.check(model)
    return _recorded(machine, model) if model.dynamics is None else _living(machine, model)


def _recorded(machine: CodeMachine, model: Model) -> ClosedLoop:
    """Along the edges of the history graph: an action off the support leaves it."""
    graph, laws = model.graph, law_table(model.graph)
    first = graph.levels[0]
    node, code = np.arange(first.size), machine.begin(first.observation)
    weight = (first.mass / first.total).astype(np.float64)
    running: list[float] = []
    right: list[float] = []
    for t, level in enumerate(graph.levels):
        policy = machine.act[code, level.observation[node]]
        running.append(float(weight.sum()))
        right.append(float(weight @ (policy * (laws[level.law[node]] > 0)).sum(axis=1)))
        if t + 1 < graph.horizon:
            node, code, weight = act_on(machine, graph, t, node, code, weight)
    return ClosedLoop(right[-1], math.fsum(right), tuple(running))


def _living(machine: CodeMachine, model: Model) -> ClosedLoop:
    """Through the dynamics, state by state: the code and action that led there, and whether all was correct so far."""
    world = LivingWorld(model)
    starts = world.starts()
    total = sum(weight for _, weight in starts)
    masses = {(state, machine.codes, machine.actions, True): weight / total for state, weight in starts}
    running: list[float] = []
    right: list[float] = []  # masses of correct actions
    perfect: list[float] = []  # of those, the ones that end an episode without a wrong action
    for t in range(model.horizon):
        last = t + 1 == model.horizon
        following: defaultdict[_Branch, float] = defaultdict(float)
        weights: list[float] = []
        for (state, before, did, clean), weight in masses.items():
            observation, support = world.look(state)
            if observation is None:
                continue
            code = int(machine.move[before, observation, did])
            weights.append(weight)
            for action, p in enumerate(machine.act[code, observation].tolist()):
                if not p:
                    continue
                correct = action in support
                if correct:
                    right.append(weight * p)
                if correct and clean and last:
                    perfect.append(weight * p)
                for target, _ in () if last else world.answer(state, action):
                    following[target, code, action, correct and clean] += weight * p
        running.append(math.fsum(weights))
        masses = following
        if len(masses) > BRANCH_LIMIT:
            reason = f"more than {BRANCH_LIMIT:,} branches at step {t + 2}; play machine.greedy(), or sample"
            raise UserError("closed_loop", reason)
    return ClosedLoop(math.fsum(perfect), math.fsum(right), tuple(running))
