"""`diacritic record`: demonstrations of a simulated task, checked before they are believed."""

from dataclasses import dataclass, field
from typing import Annotated

import tyro

from diacritic.commands.parameters import remedies, simulated_task
from diacritic.demos.command import RecordOptions
from diacritic.demos.command import run as record_and_check
from diacritic.tasks.protocol import Simulation


@dataclass(frozen=True)
class Record:
    """Record the scripted expert of a task and check what was recorded: diacritic record two-cues gap=20. The
    exit status is 1 where an acceptance check fails."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """two-cues, full-reveal, hidden-mass, readout-2, readout-3 or weighing; the paper's names are accepted."""
    parameters: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[KEY=VALUE ...]")] = ()
    """Parameters of the task, such as gap=20 jitter=0."""
    options: Annotated[RecordOptions, tyro.conf.arg(name="")] = field(default_factory=RecordOptions)
    pixels: bool = False
    """Also take a camera frame at every step; policies then see frames instead of poses. Needs OpenGL."""
    processes: int = 1
    """Processes that render."""
    threads: int = 0
    """Threads that simulate; 0 for one a core."""

    def run(self) -> int:
        task = simulated_task(self.task, self.parameters)
        with remedies():
            return record_and_check(task, self.options, Simulation(self.threads, self.pixels, self.processes))


COMMANDS = {"record": Record}
