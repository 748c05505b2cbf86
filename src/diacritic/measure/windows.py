"""Where a memory is looked at: the waiting gaps and decision steps of a task, or those that a certificate implies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certify.errors import UserError
from diacritic.tasks.protocol import Task
from diacritic.tasks.recorded import POSITIVE, decision_steps, required_spans

Steps = tuple[int, ...]


@dataclass(frozen=True)
class Windows:
    """Stretches of steps by name, counted from 0."""

    memory: Mapping[str, Steps]  # where something may have to be carried
    decisions: Mapping[str, int]  # where the expert's action depends on it for the first time
    acting: Mapping[str, Steps] = field(default_factory=dict)  # the phases in which a task acts on a class

    def reported(self, required: Sequence[float]) -> dict[str, Steps]:
        """The steps over which a rate is averaged: a window, and the decision that ends it if memory is required."""
        ends = set(self.decisions.values())
        windows = {}
        for name, steps in self.memory.items():
            after = steps[-1] + 1
            more = (after,) if after in ends and required[after] > POSITIVE else ()
            windows[name] = (*steps, *more)
        return windows


def task_windows(task: Task) -> Windows:
    """What a simulated task declares."""
    gaps = {name: tuple(steps) for name, steps in task.windows.items()}
    acting = {name: tuple(t for t, phase in enumerate(task.phases) if phase == name) for name in task.acting_phases}
    return Windows(gaps, dict(task.decisions), {name: steps for name, steps in acting.items() if steps})


def derived_windows(required: Sequence[float | None], decision: Sequence[float]) -> Windows:
    """From a certificate: runs of steps with R_t > 0 (or not proved to be 0), and every step with H(G_t|Ō_t) > 0."""
    if len(required) != len(decision) or not len(required):
        raise UserError("decision", f"{len(decision)} steps, but the requirement has {len(required)}")
    memory = {name: tuple(steps) for name, steps in required_spans(required).items()}
    return Windows(memory, decision_steps(decision))
