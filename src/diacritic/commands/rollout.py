"""`diacritic rollout`: trained runs in closed loop, all policies of a task in the same episodes."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Table

from certify.errors import UserError

if TYPE_CHECKING:
    from diacritic.rollout.closed_loop import Rollouts
    from diacritic.rollout.run_loading import Group


@dataclass(frozen=True)
class Rollout:
    """Play trained runs in closed loop: diacritic rollout runs. Each run's folder gets rollout.json (success,
    the accuracy of each class, action error) and rollout.npz (codes and symbols)."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")]
    """Folders of runs, or a folder that holds them."""
    episodes: int = 128
    """Episodes; every policy plays the same."""
    seed: int = 900
    """Seed of the episodes."""
    until: str | None = None
    """Let the expert drive until this phase begins (grasp, say) while the policy's memory watches."""
    threads: int = 0
    """Threads that simulate; 0 for one a core."""

    def run(self) -> int:
        if not self.runs:
            raise UserError("rollout", "give the folder of at least one run")
        from diacritic.measure.rollouts import rollouts

        for played in rollouts(self.runs, self.episodes, self.seed, self.until, self.threads, save=True):
            _show(played.group, played.rollouts)
        return 0


def _show(group: "Group", rollouts: "Rollouts") -> None:
    console = Console(width=None if sys.stdout.isatty() else 400)
    settings = " ".join(f"{key}={value}" for key, value in group.task.parameters.items())
    table = Table(title=f"{group.task.name} {settings}", title_justify="left", box=None)
    heads = ("learner", "seed", *rollouts.shares, "action error (cm)", "unseen symbols", "run")
    for head in heads:
        table.add_column(head, justify="left" if head in ("learner", "run") else "right")
    for k, run in enumerate(group.runs):
        numbers = rollouts.summary(k)
        shares = [f"{numbers[name]:.2f}" for name in rollouts.shares]
        error = "—" if numbers["action_error_cm"] is None else f"{numbers['action_error_cm']:.2f}"
        name, seed = run.manifest.learner, str(run.manifest.seed)
        table.add_row(name, seed, *shares, error, str(numbers["unseen_symbols"]), str(run.path))
    console.print(table)
    share = rollouts.simulated / rollouts.seconds
    console.print(
        f"{len(group.runs)} × {rollouts.success.shape[1]} episodes in {rollouts.seconds:.1f} s, {share:.0%} simulation"
    )


COMMANDS = {"rollout": Rollout}
