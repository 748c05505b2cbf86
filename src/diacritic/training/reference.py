"""The reference engine: every step in turn, exactly as the memory defines it. Slow, and obviously right."""

import torch
from torch import Tensor

from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import Flow, Inputs, Record
from diacritic.memory.quantise import code_vectors
from diacritic.memory.shape import Architecture
from diacritic.training.data import Data
from diacritic.training.parallel import seen, tokens
from diacritic.training.trace import Trace, step_trace


def trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    gradient: str = "full",
    strength: Tensor | float = 1.0,
    noise: Tensor | None = None,
    precision: torch.dtype | None = None,
    shown: Inputs | None = None,
    drawn: Tensor | None = None,
) -> Trace:
    """One pass over all episodes with the gradient of the memory itself; `noise` is [runs, T, N, d] where needed.

    `shown` holds every step as one row, t·N + n, where it is at hand; `precision` is for memories that allow a lower
    one. `drawn` [runs, N] says which episodes a run sees; weights and noise are then those of its own.
    """
    memory = memory_of(architecture)
    low = parameters if precision is None else memory.lowered(parameters, precision)
    episodes = whole_episodes(data, shown, noise, drawn)
    records = memory.unroll(low, architecture, episodes, Flow(gradient, strength))
    return collect(low, architecture, data, episode_weight, records, drawn)


def whole_episodes(
    data: Data, shown: Inputs | None = None, noise: Tensor | None = None, drawn: Tensor | None = None
) -> Inputs:
    """What all episodes show, [T, N, ·], or those drawn in each run, [runs, T, N, ·]."""
    shown, axis = seen(data, shown or tokens(data), drawn), 0 if drawn is None else 1

    def whole(rows: Tensor) -> Tensor:
        return rows.unflatten(axis, (data.horizon, -1))

    symbol, frame = (None if part is None else whole(part) for part in (shown.symbol, shown.frame))
    return Inputs(whole(shown.observation), whole(shown.previous), symbol, frame, noise)


def collect(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    records: list[Record],
    drawn: Tensor | None = None,
) -> Trace:
    """Records of T steps as one trace whose rows are t·N + n."""

    def every(name: str) -> Tensor | None:
        values = [value for record in records if (value := getattr(record, name)) is not None]
        return torch.cat(values, 1) if values else None

    second = [record.identification for record in records if record.identification is not None]
    own = None
    if second:
        theirs = {**parameters, "codebook": parameters["identification.codebook"]}
        own = collect(theirs, architecture, data, episode_weight, second, drawn)
    codebook = parameters.get("codebook", records[0].embedding.new_zeros(len(episode_weight), 1, 1))
    states = ((one.features, one.side, one.proposal, one.embedding, one.code) for one in records)
    outputs = (torch.cat(rows, 1) for rows in zip(*states, strict=True))
    parts = {name: every(name) for name in ("bits", "actions", "prior_input")}
    vectors = code_vectors(codebook, architecture.bound)
    return step_trace(parameters, episode_weight, data.horizon, drawn, vectors, outputs, identification=own, **parts)
