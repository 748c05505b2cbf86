"""A machine that is right for ever, with as little memory as its own later behaviour allows."""

import numpy as np

from certify.core.exact import Ints
from certify.core.graph import Law
from certify.stationary.machine import StationaryMachine
from certify.stationary.merging import fewest_codes
from certify.stationary.naming import Cell
from certify.stationary.observer import Observer
from certify.stationary.process import Process
from certify.stationary.relation import compatibility, conflicts


def reduced(machine: StationaryMachine, process: Process) -> tuple[StationaryMachine, dict[Cell, int]]:
    """The machine with codes merged wherever no later behaviour differs, and the new code of each cell.

    Only the machine's own laws are asked, on the words that the process can show it, without a last step: a memory that
    a longer episode would need is not forgotten because training ended.
    """
    observer, cells = _cells(machine, process)
    relation = compatibility(observer)
    strong = relation.observer
    labels = relation.classes if relation.transitive else np.arange(strong.size)
    classes = strong.quotient(labels, int(labels.max()) + 1)
    few = fewest_codes(classes, conflicts(classes)[0], 0.0).labels
    assert few is not None, "without a solver every class has one code"
    code: Ints = few[labels[relation.state]]
    smaller = StationaryMachine.from_labels(observer, code)
    return smaller, {cell: int(code[k]) for k, cell in enumerate(cells)}


def _cells(machine: StationaryMachine, process: Process) -> tuple[Observer, list[Cell]]:
    """The (observation, code) pairs that can occur, as an automaton on the labels that can follow them."""
    pairs = [(x, machine.begin(process.observations[process.observation[x]])) for x, _ in process.start]
    met = set(pairs)
    numbers: dict[Cell, int] = {}
    edges: set[tuple[int, int, int]] = set()
    parent: dict[int, tuple[int, int]] = {}

    def cell(x: int, code: int) -> int:
        return numbers.setdefault((process.observations[process.observation[x]], code), len(numbers))

    first = {process.observation[x]: cell(x, code) for x, code in pairs}
    for x, code in pairs:
        here = cell(x, code)
        for label, targets in process.after[x].items():
            following = machine.advance(code, *process.words(label))
            fresh = cell(targets[0], following)
            edges.add((here, label, fresh))
            if fresh not in first.values():
                parent.setdefault(fresh, (here, label))
            for pair in ((y, following) for y in targets):
                if pair not in met:
                    met.add(pair)
                    pairs.append(pair)
    seen = {name: k for k, name in enumerate(process.observations)}
    acts = {name: k for k, name in enumerate(process.actions)}
    laws: dict[Law, int] = {}
    law = [laws.setdefault(tuple(sorted((acts[a], p) for a, p in machine.law(*c).items())), len(laws)) for c in numbers]
    source, label, target = np.array(sorted(edges), np.int64).reshape(-1, 3).T.copy()
    observer = Observer(
        process.observations,
        process.actions,
        "model",
        np.array([seen[o] for o, _ in numbers]),
        np.array(law),
        tuple(laws),
        source,
        label,
        target,
        first,
        np.array([parent.get(k, (-1, 0))[0] for k in range(len(numbers))]),
        np.array([parent.get(k, (-1, 0))[1] for k in range(len(numbers))]),
    )
    return observer, list(numbers)
