"""`diacritic measure`: the verdict on saved runs, with every control, as a report, JSON and a figure beside each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError


@dataclass(frozen=True)
class Measure:
    """Judge runs that `diacritic train` saved: sufficient? surplus? carried by the code alone?"""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or a folder that holds them."""
    task: str | None = None
    """What the runs learned, where they do not say it themselves: the path of a recording or of a model file, or a zoo
    task with its parameters in one word ("memory-chain bits=2 delay=30"). A recording that the runs have not seen is
    judged in full."""
    fresh: Path | None = None
    """An independent recording of the same task, on which every verdict is asked for again."""
    certificate: Path | None = None
    """Certificate of the symbolic task that the runs learned: it is checked, and its rates are what is required."""
    episodes: int = 128
    """Closed-loop episodes of a recorded task, for body memory and own occupancy; 0 leaves them out."""
    interventions: int = 16
    """Closed-loop episodes of each intervention on a recorded task; 0 leaves them out."""
    seed: int = 0
    """Seed of the closed-loop episodes."""
    threads: int = 0
    """Threads that simulate; 0 for one a core."""
    figure: bool = True
    """Draw staircase.png beside each run."""

    def run(self) -> int:
        if not self.runs:
            raise UserError("measure", "give the folder of at least one run")
        if self.episodes != 0 and self.episodes < 16:
            raise UserError("--episodes", f"{self.episodes} are too few to judge by; give 0 or at least 16")
        if self.interventions != 0 and self.interventions < 8:
            raise UserError("--interventions", f"{self.interventions} are too few to judge by; give 0 or at least 8")
        from diacritic.demos.readers import load
        from diacritic.measure.recorded_run import Effort
        from diacritic.measure.report import show, summary
        from diacritic.measure.runs import measure

        effort = Effort(self.episodes, self.interventions, self.seed, self.threads)
        fresh = None if self.fresh is None else load(self.fresh)
        verdicts = measure(self.runs, task=self.task, fresh=fresh, certificate=self.certificate, effort=effort)
        verdicts.save(self.figure)
        for verdict in verdicts:
            show(verdict)
        if len(verdicts) > 1:
            summary(verdicts)
        return 0


COMMANDS = {"measure": Measure}
