"""The films of README and docs, made again whenever tasks or shipped policies change."""

from dataclasses import dataclass
from pathlib import Path

from diacritic.commands.video import Video


@dataclass(frozen=True)
class Films:
    """Film every expert of the arm (NAME.gif), and the best shipped policy with one code swapped (swap.mp4, swap.gif).
    Needs OpenGL."""

    only: tuple[str, ...] = ()
    """Names of tasks, or swap; by default all."""
    out: Path = Path("docs") / "images"
    """Where they go."""

    def run(self) -> int:
        from diacritic.tasks.franka.tasks import TASKS

        for name in TASKS:
            if not self.only or name in self.only:
                Video(name, out=(self.out / f"{name}.gif",), small=True).run()
        if not self.only or "swap" in self.only:
            self._swap()
        return 0

    def _swap(self) -> None:
        from diacritic.shipped import FOLDER, provenance

        best = max(provenance()["runs"], key=lambda run: (run["success"], -run["seed"]))
        Video(run_=FOLDER / best["run"], swap=True, out=(self.out / "swap.mp4", self.out / "swap.gif")).run()
