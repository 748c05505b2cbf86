"""Recorded demonstrations prepared for a learner: standardised and split."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from diacritic.files.demos import Demos
from diacritic.memory.scale import Scale
from diacritic.tasks.protocol import Task, policy_view
from diacritic.tasks.recorded import decision_class
from diacritic.training.cohort import Cohort
from diacritic.training.data import Data, from_arrays
from diacritic.training.learner import Learner
from diacritic.training.objectives.decisions import PendingDecisions
from diacritic.training.recorded import from_recording


@dataclass(frozen=True)
class Prepared:
    """What is learned from, what is judged on, and the scale of both, which comes from the former alone."""

    data: Data
    held_out: Data
    scale: Scale


def prepare(train: Demos, held_out: Demos, task: Task) -> Prepared:
    """Both parts of a recording of `task` as data; a policy of a recording with frames sees frames, not poses."""
    sizes = {"symbols": len(train.symbol_names), "classes": len(train.choice_names)}
    label = next(iter(train.convention.strata), None)
    sizes["labels"] = 0 if label is None else train.convention.strata[label]
    data, scale = from_recording(
        policy_view(task, train.observations, train.frames),
        train.actions,
        train.symbols,
        train.choices,
        None if label is None else train.latents[label],
        tuple(task.decisions.values()),
        task.reveals[-1],
        train.frames,
        train.mask,
    )
    joint, sizes["joint"] = pending_classes(train, task)
    # Not every symbol need occur in the training part.
    data = replace(data, shape=replace(data.shape, **sizes), joint=torch.from_numpy(joint))
    shown, acted = held_out.frames, torch.from_numpy(held_out.actions)
    seen = torch.from_numpy(policy_view(task, held_out.observations, shown))
    frames = None if shown is None else torch.from_numpy(shown.reshape(-1, *shown.shape[2:]))
    symbols = torch.from_numpy(held_out.symbols.astype(np.int64))
    judged = replace(from_arrays(scale.see(seen), scale.shrink(acted)), shape=data.shape, symbol=symbols, frames=frames)
    return Prepared(data, judged, scale)


def pending_classes(demos: Demos, task: Task) -> tuple[NDArray[np.int64], int]:
    """The joint class (β₁, β₂, …) of what is still to be decided, [T, N], and the number of its values.

    Between the last display and the first decision it names all classes, after that decision the others, and so on;
    it is −1 where nothing is pending.
    """
    label, values, begin = np.full(demos.phase.shape, -1, np.int64), 0, task.reveals[-1]
    order = sorted(task.decisions.items(), key=lambda pair: pair[1])
    for k, (_, step) in enumerate(order):
        combined, number = _joint_class(demos, task, order[k:])
        label[begin:step] = values + combined
        values, begin = values + number, max(begin, step)
    return label, values


def _joint_class(demos: Demos, task: Task, decisions: Sequence[tuple[str, int]]) -> tuple[NDArray[np.int64], int]:
    """One number for the classes of some decisions, [N], and how many values it has."""
    if not all(name in demos.latents for name, _ in decisions):
        classes = np.stack([decision_class(demos, name, step) for name, step in decisions])
        rows, which = np.unique(classes, axis=1, return_inverse=True)
        return which.reshape(-1).astype(np.int64), rows.shape[1]
    combined, number = np.zeros(demos.episodes, np.int64), 1
    for name, _ in decisions:
        combined, number = combined + number * demos.latents[name], number * task.levels[name]
    return combined, number


def fitted(learner: Learner, decisions: int) -> Learner:
    """The learner with as many pending decisions as the task has."""
    terms = tuple(
        replace(term, decisions=decisions) if isinstance(term, PendingDecisions) else term for term in learner.terms
    )
    return replace(learner, terms=terms)


@torch.no_grad()
def held_out_codes(cohort: Cohort, held_out: Data) -> NDArray[np.integer[Any]]:
    """The hard codes of every run on other episodes, [S, T, N], at the present state of training."""
    plan = replace(cohort.plan, batch=None, low=None)  # as a policy computes them
    watching = Cohort(plan, held_out, str(cohort.device), dict(cohort.parameters))
    watching.resume_at(cohort.step)
    return watching.trace().step_code.cpu().numpy()
