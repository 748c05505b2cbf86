"""`diacritic video`: one episode of a simulated task as a short film."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from certify.errors import UserError
from diacritic.commands.parameters import pairs, remedies, simulated_task

if TYPE_CHECKING:
    from diacritic.report.video import Film


@dataclass(frozen=True)
class Video:
    """Film the expert, or with --run a trained policy: diacritic video weighing --hidden mass=3 -o weighing.mp4. Below
    the picture stand the required bits and the code. --swap shows one episode twice: left the memory is intact, right
    one code is swapped during the wait. Needs OpenGL."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TASK]")] = ""
    """two-cues, full-reveal, hidden-mass, readout-2, readout-3 or weighing; left out with --run."""
    parameters: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[KEY=VALUE ...]")] = ()
    """Parameters of the task, such as gap=20."""
    out: Annotated[tuple[Path, ...], tyro.conf.arg(aliases=["-o"])] = (Path("out.gif"),)
    """Where to write: .mp4 (1280×720, 30 frames a second; needs the extra 'report'), .gif (smaller), or both."""
    run_: Annotated[Path | None, tyro.conf.arg(name="run")] = None
    """The folder of a run that `diacritic train` saved: film its policy on its task."""
    swap: bool = False
    """With --run: split the screen, and swap one code on the right."""
    small: bool = False
    """A quick film: 640×360, 10 frames a second."""
    hidden: tuple[str, ...] = ()
    """Hidden values of the episode, such as theta=3; the others are drawn."""
    seed: int = 0
    """Seed of the episode."""

    def run(self) -> int:
        if bool(self.task) == (self.run_ is not None):
            raise UserError("video", "give either the name of a task or --run")
        if self.swap and self.run_ is None:
            raise UserError("swap", "codes are those of a trained policy; give it with --run")
        latents = {name: _whole(f"hidden.{name}", text) for name, text in pairs(self.hidden).items()}
        with remedies():
            from diacritic.report.film_files import check_name, write_film

            for path in self.out:
                check_name(path)
            made = self._film(latents)
            for path in self.out:
                write_film(made.frames, path, made.rate, made.times)
        for path in self.out:
            print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
        return 0

    def _film(self, latents: dict[str, int]) -> "Film":
        from diacritic.report.video import FULL, SMALL, film, swap_film

        form = SMALL if self.small else FULL
        if self.run_ is None:
            return film(simulated_task(self.task, self.parameters), None, None, latents, self.seed, form)
        from diacritic.rollout.run_loading import groups

        (group,) = groups([self.run_])
        if len(group.runs) != 1:
            raise UserError(str(self.run_), "holds several runs; give one of them")
        make = swap_film if self.swap else film
        return make(group.task, group.policies(), group.binner, latents, self.seed, form)


def _whole(where: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(where, f"{text!r} is not a whole number") from None


COMMANDS = {"video": Video}
