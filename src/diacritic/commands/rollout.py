"""`diacritic rollout`: trained runs in closed loop, all policies of a task in the same episodes."""

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from certify.errors import UserError
from certify.progress import working
from diacritic.commands.parameters import remedies

if TYPE_CHECKING:
    from diacritic.rollout.closed_loop import Rollouts
    from diacritic.rollout.run_loading import Group

FORMAT = "diacritic-rollout/1"


@dataclass(frozen=True)
class Rollout:
    """Play trained runs in closed loop: diacritic rollout runs. Each run's folder gets rollout.json (success,
    the accuracy of each class, action error) and rollout.npz (codes and symbols)."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")]
    """Folders of runs, or a folder that holds them."""
    episodes: int = 128
    """Episodes; every policy plays the same."""
    seed: int = 0
    """Seed of the episodes."""
    until: str | None = None
    """Let the expert drive until this phase begins (grasp, say) while the policy's memory watches."""
    threads: int = 0
    """Threads that simulate; 0 for one a core."""

    def run(self) -> int:
        if not self.runs:
            raise UserError("rollout", "give the folder of at least one run")
        with remedies():
            from diacritic.rollout.closed_loop import play, takeover
            from diacritic.rollout.run_loading import groups

            for group in groups(self.runs):
                first = 0 if self.until is None else takeover(group.task, self.until)
                with working(f"{group.task.name}: {len(group.runs)} policies × {self.episodes} episodes"):
                    found = play(
                        group.task, group.policies(), self.episodes, self.seed, group.binner, self.threads, first
                    )
                for k, run in enumerate(group.runs):
                    _write(run.path, self.seed, self.until, found, k)
                _show(group, found)
        return 0


def _write(path: Path, seed: int, until: str | None, found: "Rollouts", k: int) -> None:
    """The numbers of one policy as JSON, and its codes and symbols, each by atomic rename."""
    import numpy as np

    from diacritic.files.atomic import write_text
    from diacritic.measure.plugin import conditional_entropy

    assert found.symbols is not None  # a stored run brings its binner
    rates = [conditional_entropy(c, o) for c, o in zip(found.codes[k], found.symbols[k], strict=True)]
    episodes = {name: found.outcome[name][k].tolist() for name in found.shares}
    document: dict[str, Any] = {
        "format": FORMAT,
        "seed": seed,
        "until": until,
        **found.summary(k),
        "own_rate": rates,
        "by_episode": episodes,
    }
    content = io.BytesIO()
    latents = {f"latent:{name}": values for name, values in found.latents.items()}
    arrays = {"codes": found.codes[k].astype(np.uint16), "symbols": found.symbols[k], **latents}
    np.savez_compressed(content, allow_pickle=False, **arrays)
    partial = path / "rollout.npz.partial"
    partial.write_bytes(content.getvalue())
    partial.replace(path / "rollout.npz")
    write_text(path / "rollout.json", json.dumps(document, indent=1) + "\n")


def _show(group: "Group", found: "Rollouts") -> None:
    console = Console(width=None if sys.stdout.isatty() else 400)
    settings = " ".join(f"{key}={value}" for key, value in group.task.parameters.items())
    table = Table(title=f"{group.task.name} {settings}", title_justify="left", box=None)
    heads = ("learner", "seed", *found.shares, "action error (cm)", "unseen symbols", "run")
    for head in heads:
        table.add_column(head, justify="left" if head in ("learner", "run") else "right")
    for k, run in enumerate(group.runs):
        numbers = found.summary(k)
        shares = [f"{numbers[name]:.2f}" for name in found.shares]
        error = "—" if numbers["action_error_cm"] is None else f"{numbers['action_error_cm']:.2f}"
        name, seed = run.manifest.learner, str(run.manifest.seed)
        table.add_row(name, seed, *shares, error, str(numbers["unseen_symbols"]), str(run.path))
    console.print(table)
    share = found.simulated / found.seconds
    console.print(
        f"{len(group.runs)} × {found.success.shape[1]} episodes in {found.seconds:.1f} s, {share:.0%} simulation"
    )
