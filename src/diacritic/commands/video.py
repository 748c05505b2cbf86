"""`diacritic video`: one episode of a simulated task as a short film."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError
from certify.progress import working
from diacritic.commands.parameters import pairs, remedies, simulated_task


@dataclass(frozen=True)
class Video:
    """Film the expert, or with --run a trained policy: diacritic video weighing --hidden mass=3 -o weighing.gif. A
    panel tells phase, display, required bits and the code. Needs OpenGL."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TASK]")] = ""
    """two-cues, full-reveal, hidden-mass, readout-2, readout-3 or weighing; left out with --run."""
    parameters: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[KEY=VALUE ...]")] = ()
    """Parameters of the task, such as gap=20."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out.gif")
    """Where to write, as .gif or .mp4 (the latter needs the extra 'report')."""
    run_: Annotated[Path | None, tyro.conf.arg(name="run")] = None
    """The folder of a run that `diacritic train` saved: film its policy on its task."""
    hidden: tuple[str, ...] = ()
    """Hidden values of the episode, such as theta=3; the others are drawn."""
    seed: int = 0
    """Seed of the episode."""

    def run(self) -> int:
        if bool(self.task) == (self.run_ is not None):
            raise UserError("video", "give either the name of a task or --run")
        latents = {name: _whole(f"hidden.{name}", text) for name, text in pairs(self.hidden).items()}
        with remedies(), working("filming"):
            player = binner = None
            if self.run_ is not None:
                from diacritic.rollout.run_loading import groups

                (group,) = groups([self.run_])
                if len(group.runs) != 1:
                    raise UserError(str(self.run_), "holds several runs; give one of them")
                task, player, binner = group.task, group.policies(), group.binner
            else:
                task = simulated_task(self.task, self.parameters)
            from diacritic.report.video import film, write_film

            write_film(film(task, player, binner, latents, self.seed), self.out)
        print(f"{self.out}: {self.out.stat().st_size / 1000:.0f} kB")
        return 0


def _whole(place: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(place, f"{text!r} is not a whole number") from None
