"""Whether a machine ever errs: its actions after every history that the expert can have, without sampling."""

import numpy as np

from certify import Model
from certify.core.exact import Ints, pair, rank, representatives
from certify.core.graph import Graph
from certify.sources.policy import Difference
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import branches, law_table

Steps = list[tuple[Ints, Ints]]  # of each step and each (node, code): the pair before it, and the edge between them


def first_error(machine: CodeMachine, model: Model) -> Difference | None:
    """The shortest history after which the machine may do what the expert never does; None proves that there is none.

    Where the expert is deterministic the machine then *is* the expert. It is followed along every edge of the history
    graph; (node, code) pairs are finitely many, so this is a proof for all histories, however many a node stands for.
    """
    machine.check(model)
    graph, laws = model.graph, law_table(model.graph)
    node = np.arange(graph.levels[0].size)
    code = machine.begin(graph.levels[0].observation)
    came: Steps = [(node, node)]
    for t, level in enumerate(graph.levels):
        policy = machine.act[code, level.observation[node]]
        wrong = np.flatnonzero(((policy > 0) & (laws[level.law[node]] == 0)).any(axis=1))
        if len(wrong):
            row = int(wrong[0])
            certain = policy[row].max() == 1
            chosen = graph.actions[int(policy[row].argmax())] if certain else "a random action"
            history = _history(graph, came, t, row)
            return Difference(t + 1, history, graph.law_text(int(level.law[node[row]])), chosen)
        if t + 1 < graph.horizon:
            way = branches(machine, graph, t, node, code)
            one = representatives(*rank(pair(way.node, way.code)))
            came.append((way.cell[one], way.edge[one]))
            node, code = way.node[one], way.code[one]
    return None


def _history(graph: Graph, came: Steps, t: int, row: int) -> str:
    """The history of one (node, code) pair in one line."""
    words: list[str] = []
    for step in range(t, 0, -1):
        before, edge = came[step]
        level = graph.levels[step - 1]
        child = level.child[edge[row]]
        words += [f"-{graph.actions[level.action[edge[row]]]}-> {_seen(graph, step, int(child))}"]
        row = int(before[row])
    return " ".join([_seen(graph, 0, int(came[0][0][row])), *reversed(words)])


def _seen(graph: Graph, t: int, node: int) -> str:
    return graph.observations[graph.levels[t].observation[node]]
