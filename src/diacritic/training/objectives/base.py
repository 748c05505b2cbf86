"""What every term of a loss offers."""

from typing import Literal, Protocol

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.layers import Weight
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.distinct import distinct
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


class Term(Protocol):
    """A term of the loss: the parameters of its head, and its value for every run."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        """Parameters that this term adds; they are thrown away after training unless the policy acts with them."""
        ...

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        """One number a run, [S]."""
        ...


def need(value: Tensor | None, name: str, term: str) -> Tensor:
    """An input that a term cannot do without."""
    if value is None:
        raise UserError(f"data.{name}", f"the term {term!r} needs it; record or compute it before training")
    return value


def naming(trace: Trace, name: str, wanted: Tensor, weight: Tensor) -> Tensor:
    """Σ w (−log q(wanted | O_t, C_t)) of every run, from a head's law; classes and weights are [S or 1, T or 1, N]."""
    shape = trace.step_code.shape
    if trace.heads is not None and trace.heads.reads(name):
        return trace.heads.cross_entropy(name, *(values.expand(shape).flatten(1) for values in (wanted, weight)))
    key, heavy = (values.expand(shape).flatten(1) for values in (wanted, weight))
    if (rows := distinct(trace, key, heavy)) is not None:
        chance = torch.log_softmax(rows.read(name), -1).gather(-1, rows.pick(key).unsqueeze(-1)).squeeze(-1)
        return -(chance * rows.weight).sum(1)
    log_law = torch.log_softmax(trace.read_steps(name), -1)
    one_hot = torch.nn.functional.one_hot(wanted, log_law.shape[-1]).to(trace.weight.dtype)
    return (-(one_hot * log_law).sum(-1) * weight).sum((1, 2))


Numbers = Literal["mean", "sum"]
"""What is taken over the squared errors of an action's numbers."""


def discrepancy(prediction: Tensor, target: Tensor, symbolic: bool, numbers: Numbers = "mean") -> Tensor:
    """ℓ(prediction, target) over the last axis: cross-entropy for symbols, squared error for vectors."""
    if symbolic:
        return -(target * torch.log_softmax(prediction, -1)).sum(-1)
    squares = (prediction - target).square()
    return squares.mean(-1) if numbers == "mean" else squares.sum(-1)


def later_rows(data: Data, offset: Tensor, episode: Tensor | None = None) -> Tensor:
    """The step t + j of an episode as the row (t + j)·N + n of the data, [S, T, N]; beyond the end its last step."""
    time = torch.arange(data.horizon, device=offset.device).view(1, -1, 1)
    every = torch.arange(data.episodes, device=offset.device).view(1, 1, -1)
    return (time + offset).clamp(max=data.horizon - 1) * data.episodes + (every if episode is None else episode)
