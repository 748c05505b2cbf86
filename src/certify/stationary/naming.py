"""Readable names of a machine's cells: the observation, and the decisions that its code stands for."""

from collections import deque

from certify.machines.exports import law_text
from certify.stationary.machine import StationaryMachine

Cell = tuple[str, int]  # observation, code
Label = tuple[str, str]  # action, next observation
_MOST_FACTS = 4  # in one name
_MOST_CELLS = 64  # of one observation that are distinguished by words


def cell_names(machine: StationaryMachine) -> dict[Cell, str]:
    """`hall [turn0 at fork]`: what the machine will do later because of what it remembers; a number where words fail.

    Of two cells with one observation the shortest word that both can follow and that ends in two laws says the
    difference.
    """
    after = cell_moves(machine)
    fibers: dict[str, list[Cell]] = {}
    for cell in sorted(machine.laws):
        fibers.setdefault(cell[0], []).append(cell)
    names: dict[Cell, str] = {}
    for observation, cells in fibers.items():
        facts = _facts(machine, after, cells) if len(cells) > 1 else {cells[0]: ()}
        told = {cell: [fact for fact in facts[cell] if fact] for cell in cells}
        if len(set(map(tuple, told.values()))) < len(cells):
            told = {cell: [*words, f"#{cell[1]}"] for cell, words in told.items()}
        names |= {cell: f"{observation} [{', '.join(words)}]" if words else observation for cell, words in told.items()}
    return names


def cell_moves(machine: StationaryMachine) -> dict[Cell, dict[Label, Cell]]:
    """Of each cell: what can be done and seen there, and the cell it leads to."""
    codes: dict[int, list[str]] = {}
    for observation, code in machine.laws:
        codes.setdefault(code, []).append(observation)
    result: dict[Cell, dict[Label, Cell]] = {cell: {} for cell in machine.laws}
    for (code, action, seen), target in sorted(machine.moves.items()):
        for observation in codes.get(code, ()):
            if action in machine.laws[observation, code] and (seen, target) in machine.laws:
                result[observation, code][action, seen] = (seen, target)
    return result


def _facts(
    machine: StationaryMachine, after: dict[Cell, dict[Label, Cell]], cells: list[Cell]
) -> dict[Cell, tuple[str, ...]]:
    """Of each cell: the decision after each chosen word, empty where the word cannot follow."""
    now = [law_text(machine.laws[cell]) for cell in cells]
    facts: dict[Cell, tuple[str, ...]] = dict.fromkeys(cells, ())
    if len(set(now)) > 1:
        facts = {cell: (law,) for cell, law in zip(cells, now, strict=True)}
    for _ in range(_MOST_FACTS if len(cells) <= _MOST_CELLS else 0):
        pairs = ((a, b) for k, a in enumerate(cells) for b in cells[:k] if facts[a] == facts[b])
        word = next((word for a, b in pairs if (word := _separating(machine, after, a, b)) is not None), None)
        if word is None:
            break
        facts = {cell: (*told, _fact(machine, after, cell, word)) for cell, told in facts.items()}
    return facts


def _fact(machine: StationaryMachine, after: dict[Cell, dict[Label, Cell]], cell: Cell, word: list[Label]) -> str:
    for label in word:
        if label not in after[cell]:
            return ""
        cell = after[cell][label]
    when = f" at {cell[0]}" if word else ""
    return law_text(machine.laws[cell]) + when + (f" in {len(word)}" if len(word) > 1 else "")


def _separating(
    machine: StationaryMachine, after: dict[Cell, dict[Label, Cell]], first: Cell, second: Cell
) -> list[Label] | None:
    """A shortest word that both cells can follow and that ends in two laws."""
    waiting: deque[tuple[Cell, Cell, list[Label]]] = deque([(first, second, [])])
    met = {(first, second)}
    while waiting:
        a, b, word = waiting.popleft()
        if machine.laws[a] != machine.laws[b]:
            return word
        for label in sorted(after[a].keys() & after[b].keys()):
            pair = (after[a][label], after[b][label])
            if pair not in met:
                met.add(pair)
                waiting.append((*pair, [*word, label]))
    return None
