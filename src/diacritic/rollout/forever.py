"""Trained machines at every horizon: proved against a process without a last step, and reduced for it."""

from fractions import Fraction

from certify.core.graph import Graph
from certify.errors import UserError
from certify.stationary.machine import StationaryMachine, Verdict, right_for_ever
from certify.stationary.process import Process
from certify.stationary.reduction import reduced
from diacritic.files.machine import MachineFile
from diacritic.rollout.machine import CodeMachine


def stationary_machine(machine: CodeMachine, graph: Graph) -> StationaryMachine:
    """A learned table by the names of its training task; where it draws an action, the most probable one is taken."""
    seen = [graph.observations[k] for k in range(len(graph.observations))]
    acts = [graph.actions[k] for k in range(len(graph.actions))]
    move, best = machine.move, machine.act.argmax(-1)
    codes = range(len(best))
    return StationaryMachine(
        len(best),
        {o: int(move[-1, i, -1]) for i, o in enumerate(seen)},
        {(c, a, o): int(move[c, i, j]) for c in codes for i, o in enumerate(seen) for j, a in enumerate(acts)},
        {(o, c): {acts[int(best[c, i])]: Fraction(1)} for c in codes for i, o in enumerate(seen)},
    )


def machine_of_file(file: MachineFile) -> StationaryMachine:
    """An exported machine, as it stands in its file."""
    laws = {(o, c): {action: Fraction(1)} for (c, o), action in file.acts.items()}
    return StationaryMachine(file.codes, file.first, file.moves, laws)


def proved(machine: StationaryMachine, process: Process) -> StationaryMachine:
    """The machine with as few codes as its behaviour needs; refused, with a shortest history, where it ever errs."""
    verdict: Verdict = right_for_ever(machine, process)
    if not verdict.right:
        raise UserError("forever", f"the machine is {verdict.text}; train on longer episodes, or export another seed")
    smaller, _ = reduced(machine, process)
    assert right_for_ever(smaller, process).right, "a reduced machine must not err either"
    return smaller
