"""The observation convention of the Franka tasks: side, slot, height of the hover, and the sag of a load."""

from typing import TYPE_CHECKING

from diacritic.files.convention import Convention, Factor
from diacritic.tasks.franka.layout import NOISE, SLICES
from diacritic.tasks.franka.timeline import PHASES

if TYPE_CHECKING:
    from diacritic.tasks.franka.task import FrankaTask

SAG_SEPARATION = 0.006  # metres of height between the mass classes of `weighing`


def convention(task: "FrankaTask") -> Convention:
    """What of the observation counts as seen, with what the task shows by design at every step."""
    factors = _factors(task)
    sizes = {name: size for name, size in task.levels.items() if size > 1}
    position = SLICES["tool position"].start
    return Convention(
        phases=PHASES,
        phase_columns=_columns("phase"),
        probe_columns=_columns("display"),
        position_columns=(position, position + 1, position + 2),
        noise=0.0 if task.no_noise else NOISE,
        factors=factors,
        designed={factor.name: _designed(task, factor.name) for factor in factors if factor.assumed is None},
        strata={name: size for name, size in task.latents.items() if name in task.deciding},
        nuisances={name: size for name, size in task.latents.items() if name not in task.deciding},
        hidden=sizes | task.latents,
        shown={"distractor": ("gap2",)},
    )


def _factors(task: "FrankaTask") -> tuple[Factor, ...]:
    sizes = {name: size for name, size in task.levels.items() if size > 1}
    sizes |= {name: size for name, size in task.latents.items() if name == "hover"}
    factors: list[Factor] = []
    for name, size in sizes.items():
        nested = {"side", "slot"} if not task.independent_classes and name != "hover" else {name}
        factors.append(Factor(name, name, size, tuple(other for other in sizes if other not in nested)))
    if task.sags > 1:
        assumed = _designed(task, "sag") if task.sag_assumed else None
        separation = None if task.sag_assumed else SAG_SEPARATION
        factors.append(Factor("sag", "sag", task.sags, axes=(2,), separation=separation, assumed=assumed))
    return tuple(factors)


def _designed(task: "FrankaTask", factor: str) -> tuple[int, ...]:
    """Steps at which the task means the factor to be seen."""
    if factor == "hover":
        return tuple(t for t in range(task.horizon) if task.at_hover(t))
    # an octile shows its quartile
    shows = {factor, "slot"} if factor == "side" and task.slots > task.sides > 1 else {factor}
    return tuple(t for t, step in enumerate(task.steps) if shows & set(step.shows))


def _columns(field: str) -> tuple[int, int]:
    return SLICES[field].start, SLICES[field].stop
