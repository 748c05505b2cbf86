"""Recording in one word: demonstrations of a task with its own physics, or drawn from a finite model."""

from dataclasses import dataclass
from pathlib import Path

from certify import Model
from certify.errors import UserError
from diacritic.demos.record import record as record_task
from diacritic.files.demos import Demos, save
from diacritic.tasks.protocol import Simulation, Task
from diacritic.tasks.registry import find

EPISODES = 1024


@dataclass(frozen=True)
class Drawn:
    """Demonstrations that are drawn from a finite model, by their number and seed."""

    model: Model
    episodes: int
    seed: int = 0


def record(
    task: Task | Model | str,
    episodes: int = EPISODES,
    seed: int = 0,
    *,
    out: Path | str | None = None,
    frames: bool = False,
    threads: int = 0,
) -> Demos | Drawn:
    """Record the expert of a task; the same seed gives the same recording.

    With `out`, the recording is also saved as OUT.npz and OUT.json. Of a finite model, episodes are drawn when they are
    learned from.
    """
    if episodes < 1:
        raise UserError("episodes", f"must be at least 1, not {episodes}")
    resolved = find(task) if isinstance(task, str) else task
    if isinstance(resolved, Model):
        if out is not None:
            raise UserError("out", "episodes of a finite model are drawn, not saved; save the model instead")
        return Drawn(resolved, episodes, seed)
    demos, binner = record_task(resolved, episodes, seed, simulation=Simulation(threads, frames))
    if out is not None:
        stem = Path(out)
        save(demos, stem)
        binner.save(stem.with_name(stem.name + ".binner.json"))
    return demos
