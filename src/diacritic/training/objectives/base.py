"""What every term of a loss offers."""

from typing import Protocol

import torch
from torch import Tensor

from certify.errors import ModelError
from diacritic.carrier.layers import Weight
from diacritic.carrier.shape import Architecture, Shape
from diacritic.training.clock import Clock
from diacritic.training.data import Data
from diacritic.training.trace import Trace


class Term(Protocol):
    """A term of the loss: the parameters of its head, and its value for every run."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        """Parameters that this term adds; they are thrown away after training unless the policy acts with them."""
        ...

    def loss(self, trace: Trace, data: Data, clock: Clock) -> Tensor:
        """One number a run, [S]."""
        ...


def need(value: Tensor | None, name: str, term: str) -> Tensor:
    """An input that a term cannot do without."""
    if value is None:
        raise ModelError(f"data.{name}", f"the term {term!r} needs it; record or compute it before training")
    return value


def discrepancy(prediction: Tensor, target: Tensor, symbolic: bool) -> Tensor:
    """ℓ(prediction, target) over the last axis: cross-entropy for symbols, mean squared error for vectors."""
    if symbolic:
        return -(target * torch.log_softmax(prediction, -1)).sum(-1)
    return (prediction - target).square().mean(-1)
