"""The settings of one training, as `train` takes them and the command line offers them; nothing heavy is imported."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from certify.errors import UserError


@dataclass(frozen=True)
class TrainOptions:
    """How many seeds of which learner, and how they are trained."""

    learner: str = "auto"
    """What is minimised; `--learner help` lists the names. `auto` is `plain+revision` on finite models with the preset
    `carousel`, and `plain` elsewhere."""
    preset: str = "carousel"
    """`carousel`, which is ours, or `release` and its kin, the settings of the paper's public code."""
    seeds: int = 8
    """How many runs, with seeds 0, 1, …"""
    steps: int = 6000
    """Updates; 0 for a learner that revises codes: it then does that alone."""
    until: Literal["end", "sufficient"] = "end"
    """Train to the `end`, or stop once every seed is `sufficient` at three looks in a row, each a fiftieth of
    training apart."""
    codes: int = 16
    """Codebook size K."""
    beta: float = 1e-3
    """Weight β of the rate."""
    demonstrations: int | None = None
    """Draw so many demonstrations; without it every episode counts with its exact probability. Of a recording: learn
    from the first so many episodes (448 without it), and judge on the rest."""
    device: str = "auto"
    """`cpu`, `cuda`, or `auto`."""
    out: Path = Path("runs")
    """Where runs, checkpoints and metrics go; the same command again goes on where it was stopped."""
    warm_start: tuple[Path, ...] = ()
    """Start from these runs of an easier task, one for each seed (the gap curriculum)."""
    tensorboard: Path | None = None
    """Also write TensorBoard events here."""

    def check(self) -> None:
        """Refuse impossible settings in one line."""
        for name, least in (("seeds", 1), ("steps", 0), ("codes", 1)):
            if getattr(self, name) < least:
                raise UserError(f"--{name}", f"must be at least {least}")
