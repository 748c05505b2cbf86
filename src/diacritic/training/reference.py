"""The reference engine: every step in turn, exactly as the cell defines it. Slow, and obviously right."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import Inputs, Record, begin, step
from diacritic.training.data import Data
from diacritic.training.trace import Rows, Trace


def inputs_at(data: Data, t: int, noise: Tensor | None = None) -> Inputs:
    """What every episode sees at step t."""
    seen = data.observation_index[t]
    one_hot = None
    if data.symbol is not None:
        one_hot = torch.nn.functional.one_hot(data.symbol[t], data.shape.symbols).to(data.observation.dtype)
    frame = None if data.frames is None else data.frames[seen]
    return Inputs(data.observation[seen], data.previous[data.previous_index[t]], one_hot, frame, noise)


def trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    gradient: str = "full",
    strength: Tensor | float = 1.0,
    noise: Tensor | None = None,
) -> Trace:
    """One pass over all episodes with the gradient of the loop itself; `noise` is [runs, T, N, d] where needed."""
    state = begin(parameters, architecture, data.episodes)
    records: list[Record] = []
    for t in range(data.horizon):
        shown = inputs_at(data, t, None if noise is None else noise[:, t])
        state, record = step(parameters, architecture, state, shown, gradient, strength)
        records.append(record)
    return collect(parameters, data, episode_weight, records)


def collect(parameters: Parameters, data: Data, episode_weight: Tensor, records: list[Record]) -> Trace:
    """Records of T steps as one trace whose rows are t·N + n."""
    rows = Rows(data.horizon, data.episodes)
    second = [record.identification for record in records if record.identification is not None]
    bits = [record.bits for record in records if record.bits is not None]
    return Trace(
        parameters,
        parameters["codebook"],
        torch.cat([record.features for record in records], 1),
        torch.cat([record.side for record in records], 1),
        torch.cat([record.proposal for record in records], 1),
        torch.cat([record.embedding for record in records], 1),
        torch.cat([record.code for record in records], 1),
        (episode_weight / data.horizon).repeat(1, data.horizon),
        episode_weight,
        rows,
        identification=collect(
            {**parameters, "codebook": parameters["identification.codebook"]}, data, episode_weight, second
        )
        if second
        else None,
        bits=torch.cat(bits, 1) if bits else None,
    )
