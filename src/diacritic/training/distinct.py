"""Readings that are all alike: where rows are contexts, a head need read each distinct one only once.

A term that tells its head more than (O_t, C_t), or that teaches unlike things in one row, reads steps and not rows.
Many of those readings still agree in everything: in their row, in what the head is told and in what it is taught.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.layers import linear, read
from diacritic.memory.quantise import look_up, straight_through
from diacritic.training.futures import ByShare
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Distinct:
    """G distinct readings of every run; a run with fewer repeats its first one, with no weight."""

    trace: Trace
    example: Tensor  # a reading of each kind, [S, G]
    observation: Tensor  # likewise
    embedding: Tensor  # e, straight-through into all readings of the kind, [S, G, d]
    weight: Tensor  # what the readings of a kind weigh together, [S, G]
    kind: Tensor  # of each reading, [S, M]

    def pick(self, values: Tensor) -> Tensor:
        """Values of all readings, [S or 1, M], as values of the distinct ones."""
        return values.expand(len(self.example), -1).gather(1, self.example)

    def read(self, name: str, extra: Tensor | None = None) -> Tensor:
        """A head on every distinct reading, with an extra term in its first layer: [S, G, outputs]."""
        parameters = self.trace.parameters
        part = look_up(linear(parameters, f"{name}.observation", self.trace.features), self.observation)
        return read(parameters, name, part if extra is None else part + extra, self.embedding)


def distinct(trace: Trace, key: Tensor, weight: Tensor) -> Distinct | None:
    """The distinct ones among the readings of all M = T·N steps; none: each is its own.

    `key` [S or 1, M] numbers whatever the term adds to a row, from 0. The result has a size of its own in every update,
    which no program recorded once can have: on CUDA there is none.
    """
    token, observation = trace.rows.token, trace.rows.observation
    if token is None or observation is None or trace.running is None or trace.rows.law is None:
        return None
    runs, rows = trace.code.shape
    row = token.flatten(1)
    keys = int(key.max()) + 1
    named = (row + rows * torch.arange(runs).unsqueeze(1)) * keys + key
    names, number = torch.unique(named, return_inverse=True)
    count = torch.bincount(names // (rows * keys), minlength=runs)
    kind = number - (count.cumsum(0) - count).unsqueeze(1)
    most = int(count.max())
    reading = torch.arange(kind.shape[1]).expand_as(kind)
    example = torch.zeros(runs, most, dtype=torch.long).scatter_(1, kind, reading)
    together = weight.new_zeros(runs, most).scatter_add_(1, kind, weight)
    share = weight / together.clamp(min=torch.finfo(weight.dtype).tiny).gather(1, kind)
    path = ByShare.apply(trace.running.flatten(1, 2), kind, share, most)
    met = row.gather(1, example)
    embedding = straight_through(look_up(trace.codebook, trace.code.gather(1, met)), path)
    return Distinct(trace, example, observation.gather(1, met), embedding, together, kind)
