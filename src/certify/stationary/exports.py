"""A machine without a clock for other programs: KISS2, a finite-state controller as PAYNT writes it, a chain in DRN."""

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from certify.errors import UserError
from certify.machines.exports import kiss2, law_text
from certify.stationary.chain import pairs_chain
from certify.stationary.drawing import to_dot, to_svg
from certify.stationary.machine import StationaryMachine, numbered
from certify.stationary.process import Process

ENDINGS = (".dot", ".svg", ".fsc.json", ".json", ".kiss2", ".drn")


def export(machine: StationaryMachine, process: Process, name: str) -> str:
    """The text of a file of that name; the ending says what it holds."""
    ending = next(ending for ending in ENDINGS if name.endswith(ending))
    if ending == ".drn":
        return to_drn(machine, process)
    writers: dict[str, Callable[[StationaryMachine], str]] = {
        ".dot": to_dot,
        ".svg": to_svg,
        ".fsc.json": to_fsc,
        ".json": StationaryMachine.to_json,
        ".kiss2": to_kiss2,
    }
    return writers[ending](machine)


def to_kiss2(machine: StationaryMachine) -> str:
    """KISS2: an input is the code of (observation, previous action), an output the code of the law that is followed."""
    moves = [("start", "", o, f"c{c}", law_text(machine.laws[o, c])) for o, c in sorted(machine.first.items())]
    for (code, action, seen), after in sorted(machine.moves.items()):
        if (seen, after) in machine.laws:
            moves.append((f"c{code}", action, seen, f"c{after}", law_text(machine.laws[seen, after])))
    return kiss2(moves)


def to_fsc(machine: StationaryMachine) -> str:
    """PAYNT's controller: node × observation → law, and node × observation → next node, whatever is done or seen next.

    A node is a code and the action that was taken there, so that a machine that draws its actions has none.
    """
    seen = sorted({o for o, _ in machine.laws})
    acts = sorted({a for law in machine.laws.values() for a in law})
    nodes: dict[tuple[int, str] | None, int] = {None: 0}
    waiting: list[tuple[int, str] | None] = [None]
    laws: list[list[dict[int, float] | None]] = []
    updates: list[list[int | None]] = []
    for node in waiting:
        laws.append([None] * len(seen))
        updates.append([None] * len(seen))
        for k, observation in enumerate(seen):
            code = machine.first.get(observation) if node is None else machine.moves.get((*node, observation))
            law = None if code is None else machine.laws.get((observation, code))
            if code is None or law is None:
                continue
            if len(law) > 1:
                raise UserError("--machine", "draws its actions; PAYNT's controllers cannot remember which; use .json")
            (action,) = law
            if (after := (code, action)) not in nodes:
                nodes[after] = len(nodes)
                waiting.append(after)
            laws[-1][k], updates[-1][k] = {acts.index(action): 1.0}, nodes[after]
    document: dict[str, Any] = {"num_nodes": len(nodes), "num_observations": len(seen)}
    document |= {"action_function": laws, "update_function": updates, "action_labels": acts, "observation_labels": seen}
    return json.dumps(document) + "\n"


def to_drn(
    machine: StationaryMachine,
    process: Process,
    labels: Callable[[int], list[str]] | None = None,
    rewards: Mapping[str, Callable[[int], Fraction]] | None = None,
) -> str:
    """The Markov chain of the process and a machine that is right in it: Storm's explicit format, exact numbers.

    A state is labelled by its observation and code; `labels` and `rewards` add more by hidden state. An episode that
    ends stays where it is.
    """
    pairs = pairs_chain(process, *numbered(process, machine), restart=False)
    gains = rewards or {}
    lines = ["@type: DTMC", "@value_type: rational", "@parameters", "", "@reward_models", " ".join(gains)]
    count = pairs.chain.size + 1
    lines += ["@nr_states", str(count), "@nr_choices", str(count), "@model"]
    start = {k + 1: p for k, p in enumerate(pairs.chain.start) if p}
    lines += _state(0, "init", start, [Fraction(0) for _ in gains])
    for k, ((x, code), row) in enumerate(zip(pairs.pairs, pairs.chain.rows, strict=True), 1):
        words = [f"observation_{process.observation[x]}", f"code_{code}", *(labels(x) if labels else ())]
        left = 1 - sum(row.values(), Fraction(0))
        after = {j + 1: p for j, p in row.items()} | ({k: left} if left else {})
        lines += _state(k, " ".join(words), after, [gain(x) for gain in gains.values()])
    return "\n".join([*lines, ""])


def _state(number: int, labels: str, after: Mapping[int, Fraction], gains: list[Fraction]) -> list[str]:
    shown = f" [{', '.join(map(str, gains))}]" if gains else ""
    action = f"\taction 0{' [' + ', '.join('0' for _ in gains) + ']' if gains else ''}"
    return [f"state {number}{shown} {labels}", action, *(f"\t\t{j} : {p}" for j, p in sorted(after.items()))]
