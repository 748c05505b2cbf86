"""What a learner's terms regress besides the recording: forecasts, or a teacher's states, one network for each seed."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from certify.progress import working
from diacritic.training import forecaster
from diacritic.training.data import Data
from diacritic.training.forecaster import Form, Targets
from diacritic.training.learner import Learner
from diacritic.training.networks import Turns, completed, trained
from diacritic.training.objectives.base import Term
from diacritic.training.objectives.decisions import PendingDecisions
from diacritic.training.objectives.future import FutureBehaviour
from diacritic.training.objectives.identification import TeacherState
from diacritic.training.objectives.later_actions import AllLaterActions
from diacritic.training.preset import PRESETS, Preset
from diacritic.training.teacher import TEACHER_STEPS, teacher_turns

FORECASTER_STEPS = 3000
CAROUSEL = PRESETS["carousel"]


def supervise(
    data: Data,
    learner: Learner,
    seeds: Sequence[int],
    device: str = "cpu",
    steps: int = FORECASTER_STEPS,
    folder: Path | None = None,
    teacher_steps: int = TEACHER_STEPS,
    how: Preset = CAROUSEL,
) -> Data:
    """The data with what the learner's terms regress: forecasts or a teacher's states, one network for each seed.

    With a folder, trained networks are kept there and found again by what they were trained on.
    """
    turns = supervision(data, learner, seeds, device, steps, folder, teacher_steps, how, set())
    with working("supervision") as say:
        return completed(turns, say)


def supervised(learner: Learner) -> bool:
    """Whether networks must be trained before the learner can be."""
    return any(_regressed(term) is not None for term in learner.terms)


def supervision(
    data: Data,
    learner: Learner,
    seeds: Sequence[int],
    device: str,
    steps: int,
    folder: Path | None,
    teacher_steps: int,
    how: Preset,
    busy: set[Path],
) -> Turns[Data]:
    """`supervise` in turns; those that take turns with each other share `busy`, and train no network twice."""
    chosen = forecaster.form(how, data.frames is not None)
    for term in learner.terms:
        name = _regressed(term)
        if name == "teacher":
            value = yield from teacher_turns(data, seeds, device, teacher_steps, folder, busy)
        elif name is not None:
            targets = _targets(term, data, device)
            value = yield from _forecasts(data, targets, seeds, device, steps, folder, chosen, busy)
        else:
            continue
        data = replace(data, **{name: value})
    return data


def _regressed(term: Term) -> Literal["forecast", "pending", "teacher"] | None:
    """The field of the data that a term regresses and that networks provide; none: it needs no network."""
    if isinstance(term, FutureBehaviour | AllLaterActions) and term.target == "forecast":
        return "forecast"
    if isinstance(term, PendingDecisions) and term.target == "forecast":
        return "pending"
    return "teacher" if isinstance(term, TeacherState) else None


def _targets(term: Term, data: Data, device: str) -> Targets:
    """What the forecasters of a term predict."""
    if not isinstance(term, PendingDecisions):
        return forecaster.every_offset(data.horizon, device)
    since = data.last_reveal if term.since == "last-reveal" else 0
    return forecaster.decisions(data.horizon, torch.tensor(data.decisions, device=device), since)


def _forecasts(
    data: Data,
    targets: Targets,
    seeds: Sequence[int],
    device: str,
    steps: int,
    folder: Path | None,
    how: Form,
    busy: set[Path],
) -> Turns[Tensor]:
    """ã of every run, [S, T, N, J, A], on the CPU."""
    name = hashlib.sha256(repr((tuple(seeds), steps, device, data.decisions, how)).encode())
    for tensor in (targets.when, targets.asked, data.observation, data.previous, data.target, data.frames):
        name.update(b"" if tensor is None else tensor.cpu().contiguous().numpy().tobytes())
    path = None if folder is None else folder / f"forecaster-{name.hexdigest()[:12]}.safetensors"

    def begin() -> forecaster.Forecasters:
        return forecaster.Forecasters(data, targets, seeds, how)

    kept = yield from trained(begin, seeds, steps, path, busy, f"{len(seeds)} forecasters")
    parameters = {key: value.to(device) for key, value in kept.items()}
    return forecaster.forecast(parameters, data, targets).cpu()
