"""One question to a solver: does a machine with so many labels exist?"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from certify.core.code_states import Labels, Quotient
from certify.core.graph import Graph
from certify.core.relations import Matrix

_CLAUSES = 400_000  # of one question
_NAME, _IMPORT = "ortools.sat.python.cp_model", 1.0

Tables = dict[tuple[int, int, int], int]  # (step, label, continuation) → label; (−1, 0, observation) → first label


def solver_ready(seconds: float) -> bool:
    """Whether the solver is there, or can be imported in these seconds: a first import takes about one."""
    return _NAME in sys.modules or (seconds >= _IMPORT and find_spec("ortools") is not None)


def walk(graph: Graph, tables: Tables, stationary: bool) -> Labels:
    """The label that a machine gives to each node."""
    labels = [[tables[-1, 0, o] for o in graph.levels[0].observation.tolist()]]
    for t, level in enumerate(graph.levels[1:]):
        step, following = 0 if stationary else t, [0] * level.size
        for source, word, child in graph.edges(t):
            following[child] = tables[step, labels[t][source], word]
        labels.append(following)
    return labels


def solve(
    q: Quotient,
    matrices: list[Matrix],
    cliques: list[list[int]],
    stationary: bool,
    count: int,
    seconds: float,
) -> Tables | None:
    """A machine of so many labels; empty if there is none; None if undecided or too large. The solver is ready.

    States of the quotient may have several labels, since their histories may.
    """
    cp_model: Any = import_module(_NAME)
    codes, step = range(count), [0] * q.size if stationary else q.step
    arrows = [(s, word, target) for s, moves in enumerate(q.moves) for word, target in moves.items()]
    clauses = len(arrows) * count**2 + sum(int(m.sum()) for m in matrices) * count
    if clauses > _CLAUSES:
        return None
    model = cp_model.CpModel()
    reached = [[model.new_bool_var("") for _ in codes] for _ in range(q.size)]  # by some history, with some label
    rows = {(step[s], code, word) for s, word, _ in arrows for code in codes}
    table = {row: [model.new_bool_var("") for _ in codes] for row in sorted(rows)}
    for targets in table.values():
        model.add_exactly_one(targets)
    for s, word, target in arrows:
        for code in codes:
            for after, move in enumerate(table[step[s], code, word]):
                model.add_bool_or(~reached[s][code], ~move, reached[target][after])
    for some in reached:
        model.add_bool_or(some)
    for first, matrix, clique in zip(q.start, matrices, cliques, strict=False):
        for s, other in np.argwhere(np.triu(matrix)).tolist():
            for code in codes:
                model.add_bool_or(~reached[first + s][code], ~reached[first + other][code])
        for code, s in enumerate(clique):  # the members have no label in common, so these are without loss
            model.add_bool_or(reached[s][code])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 0  # clauses alone: relaxations only cost time
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return {} if status == cp_model.INFEASIBLE else None
    chosen = {key: [solver.boolean_value(move) for move in moves].index(True) for key, moves in table.items()}
    for s in range(q.start[1]):
        chosen[-1, 0, int(q.observation[s])] = [solver.boolean_value(has) for has in reached[s]].index(True)
    return chosen
