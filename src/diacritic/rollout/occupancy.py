"""What a memory holds while the expert acts: the joint law of history and code at every step, without sampling.

The code is a function of the history. On a tree of histories each node therefore has one code; a node of a merged graph
stands for many histories, and carries the share P(C_t = c | node) of each code among them. Shares are double precision
and exactly 1 wherever the node has one code.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from certify import Model
from certify.core.exact import Ints, group_sums, pair, rank, representatives
from certify.core.graph import Graph
from diacritic.rollout.machine import CodeMachine, Floats


@dataclass(frozen=True)
class Cells:
    """Step t: the pairs (node, code) that occur, with their observation and probability."""

    node: Ints
    code: Ints
    observation: Ints
    share: Floats  # P(C_t | node)
    weight: Floats  # P(node, C_t)


@dataclass(frozen=True)
class ExpertTrace:
    """The machine under the expert's occupancy; `steps[t]` belongs to `model.graph.levels[t]`."""

    machine: CodeMachine
    model: Model
    steps: tuple[Cells, ...]


class Branches(NamedTuple):
    """Every way on from a list of (node, code): the cell it starts from, its edge, and where it leads."""

    cell: Ints
    edge: Ints
    node: Ints
    code: Ints


def teacher_forced(machine: CodeMachine, model: Model) -> ExpertTrace:
    """Run the machine's memory along every history of the expert."""
    machine.check(model)
    graph = model.graph
    first = graph.levels[0]
    node, code, share = np.arange(first.size), machine.begin(first.observation), np.ones(first.size)
    steps: list[Cells] = []
    for t, level in enumerate(graph.levels):
        weight = (level.mass[node] / level.total).astype(np.float64) * share
        steps.append(Cells(node, code, level.observation[node], share, weight))
        if t + 1 < graph.horizon:
            way = branches(machine, graph, t, node, code)
            inflow = group_sums(level.child, level.flow, graph.levels[t + 1].size)[level.child]
            part = (level.flow / inflow).astype(np.float64)
            node, code, share = gather(way, share[way.cell] * part[way.edge])
            share = share / np.bincount(node, share)[node]  # a lone code has exactly the whole
    return ExpertTrace(machine, model, tuple(steps))


def branches(machine: CodeMachine, graph: Graph, t: int, node: Ints, code: Ints) -> Branches:
    """Follow every edge out of the nodes of level t; the code moves along."""
    level = graph.levels[t]
    begin, end = np.searchsorted(level.source, node), np.searchsorted(level.source, node, side="right")
    count = end - begin
    cell = np.repeat(np.arange(len(node)), count)
    edge = np.arange(len(cell)) + np.repeat(begin - np.cumsum(count) + count, count)
    child = level.child[edge]
    moved = machine.advance(code[cell], graph.levels[t + 1].observation[child], level.action[edge])
    return Branches(cell, edge, child, moved)


def gather(way: Branches, value: Floats) -> tuple[Ints, Ints, Floats]:
    """Branches that meet in one (node, code) are added up; nodes ascend."""
    label, count = rank(pair(way.node, way.code))
    one = representatives(label, count)
    return way.node[one], way.code[one], np.bincount(label, value, minlength=count).astype(np.float64)


def act_on(
    machine: CodeMachine, graph: Graph, t: int, node: Ints, code: Ints, weight: Floats
) -> tuple[Ints, Ints, Floats]:
    """The pairs (node, code) after the machine's own actions; one that the expert never takes leaves the graph."""
    level, way = graph.levels[t], branches(machine, graph, t, node, code)
    choice, choices = rank(pair(level.source, level.action))
    answer = (level.flow / group_sums(choice, level.flow, choices)[choice]).astype(np.float64)
    taken = machine.act[code, level.observation[node]][way.cell, level.action[way.edge]]
    return gather(way, weight[way.cell] * taken * answer[way.edge])


def law_table(graph: Graph) -> Floats:
    """P(A = a) of every law, one row a law."""
    table = np.zeros((len(graph.laws), len(graph.actions)))
    for k, law in enumerate(graph.laws):
        for action, p in law:
            table[k, action] = float(p)
    return table
