"""Two ways to train the same carrier: the one that works, and the one of the textbooks."""

from dataclasses import dataclass
from typing import Literal

from certify.errors import UserError


@dataclass(frozen=True)
class Preset:
    """How gradients flow and where training starts."""

    name: str
    gradient: Literal["carousel", "full"]
    """`carousel` stops the gradient where the code enters f; `full` differentiates the whole recurrence."""
    code_start: Literal["normal", "uniform"]
    code_scale: float
    """Deviation of the code vectors' entries at the start, or half the width of their interval."""
    residual_scale: float
    """Factor on the residual's last layer at the start: small, so that a code persists before anything is learned."""
    restarts: int
    """Every so many steps codes that nothing uses move onto sampled proposals; 0 never."""
    restart_until: float
    """… until this share of training."""
    rate: float
    """Learning rate of Adam."""
    clip: float | None
    """Largest gradient norm of a run."""
    pressure: tuple[float, float]
    """β rises linearly from 0 to its value between these shares of training; (0, 0) is constant."""


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("carousel", "carousel", "normal", 0.1, 0.3, 100, 0.6, 1e-3, 1.0, (0.0, 0.5)),
        Preset("textbook", "full", "uniform", 1 / 16, 1.0, 0, 0.0, 3e-4, None, (0.0, 0.0)),
    )
}


def preset(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise UserError("--preset", f"no preset is called {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]
