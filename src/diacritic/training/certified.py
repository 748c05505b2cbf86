"""The certified learner: its codes are the classes Γ_t that `certify` proves, and only the transition is learned.

It uses two things that imitation alone does not have: the symboliser Ō_t, which says when two histories look alike, and
the certificate, which says which of those must be distinguished. In return it is minimal by construction, trains every
step in parallel, and no horizon is too long.
"""

import numpy as np
import torch

from certify.core.exact import Ints
from certify.errors import UserError
from certify.machines.merging import NONE
from diacritic.memory.certified_codes import Labels
from diacritic.training.cohort import Cohort, Plan, start
from diacritic.training.data import Data
from diacritic.training.fit_transition import Effort, FitResult, fit_transition
from diacritic.training.learner import learner
from diacritic.training.transition_dataset import transition_dataset

CERTIFIED = learner("certified")


def words(data: Data) -> Ints:
    """(previous action, observation) of every step as one number, [T, N]."""
    return (data.previous_index * len(data.observation) + data.observation_index).cpu().numpy()


def train_certified(
    plan: Plan, data: Data, labels: Labels, device: str = "cpu", effort: Effort | None = None
) -> tuple[Cohort, FitResult]:
    """Every run of the plan, fitted to the certified transition; the cohort is an ordinary one, for any judge."""
    count = plan.carrier.codes
    if labels.machine.codes > count:
        raise UserError("--codes", f"{count} are too few; this machine needs {labels.machine.codes}")
    along = labels.machine.walk(words(data))
    if (along == NONE).any():
        t, n = np.argwhere(along == NONE)[0]
        raise UserError(f"episode {n}, step {t + 1}", "is not a history of the certified model; certify the recording")
    given = data.to(device, plan.precision)
    codes = torch.from_numpy(along).to(device).expand(len(plan.runs), -1, -1)
    begun = {name: value.to(device) for name, value in start(plan, data).items()}
    fit = fit_transition(begun, plan.carrier, given, transition_dataset(given, codes, count), effort)
    return adopt(plan, data, fit, device), fit


def adopt(plan: Plan, data: Data, fit: FitResult, device: str = "cpu") -> Cohort:
    """Fitted parameters as a trained cohort."""
    cohort = Cohort(plan, data, device, fit.parameters)
    cohort.optimiser.diverged |= fit.diverged
    cohort.resume_at(plan.steps)
    return cohort
