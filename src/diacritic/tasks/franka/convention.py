"""The observation convention of the Franka tasks: side, slot, and the sag of a load."""

from typing import TYPE_CHECKING

from diacritic.files.convention import Convention, Factor
from diacritic.tasks.franka.layout import NOISE, SLICES, WIDTH
from diacritic.tasks.franka.timeline import PHASES

if TYPE_CHECKING:
    from diacritic.tasks.franka.task import FrankaTask

MASS_CLASSES = 4  # of a mass that leaves no trace
SAG_SEPARATION = 0.006  # metres of height between the mass classes of `weighing`


def convention(task: "FrankaTask") -> Convention:
    """What of the observation counts as seen, with what the task shows by design at every step."""
    factors = _factors(task)
    sizes = {name: size for name, size in task.levels.items() if size > 1}
    position = SLICES["tool position"].start
    asked = {"mass": MASS_CLASSES} | {name: size for name, size in task.latents.items() if name != "hover"}
    return Convention(
        phases=PHASES,
        phase_columns=_columns("phase"),
        probe_columns=_columns("probe" if len(task.channels) == WIDTH else "display"),
        position_columns=(position, position + 1, position + 2),
        noise=0.0 if task.no_noise else NOISE,
        factors=factors,
        designed={factor.name: task.shows(factor.name) for factor in factors if factor.assumed is None},
        strata=task.hidden,
        nuisances={"distractor": task.latents["distractor"]},
        coins={"hover": task.latents["hover"]},
        hidden=sizes | asked,
        shown={"distractor": PHASES, **task.shown},
    )


def _factors(task: "FrankaTask") -> tuple[Factor, ...]:
    sizes = {name: size for name, size in task.levels.items() if size > 1}
    given = {name: [other for other in sizes if other != name and task.independent_classes] for name in sizes}
    factors = [Factor(name, name, size, tuple(given[name])) for name, size in sizes.items()]
    if task.sags > 1:
        assumed = None if task.sags == task.hidden["mass"] else task.sag_steps
        separation = SAG_SEPARATION if assumed is None else None
        factors.append(Factor("sag", "sag", task.sags, axes=(2,), separation=separation, assumed=assumed))
    return tuple(factors)


def _columns(field: str) -> tuple[int, int]:
    return SLICES[field].start, SLICES[field].stop
