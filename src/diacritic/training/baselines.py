"""Policies that are not carriers, as traces: GRU states and full histories."""

import torch
from torch import Tensor

from diacritic.memory import full_history, gru
from diacritic.memory.layers import Parameters
from diacritic.training.data import Data
from diacritic.training.reference import collect
from diacritic.training.trace import Rows, Trace


def history(parameters: Parameters, data: Data, episode_weight: Tensor, precision: torch.dtype | None = None) -> Trace:
    """The full-history Transformer: every prefix at once, its state quantised for the readout alone."""
    low = parameters if precision is None else full_history.lowered(parameters, precision)
    seen, before = data.observation[data.observation_index], data.previous[data.previous_index]
    frames = None if data.frames is None else data.frames[data.observation_index]
    return collect(low, data, episode_weight, [full_history.remember(low, seen, before, frames)])


def recurrent(parameters: Parameters, data: Data, episode_weight: Tensor) -> Trace:
    """A GRU policy: a continuous state and no code at all (code 0 stands for none)."""
    seen, before = data.observation[data.observation_index], data.previous[data.previous_index]
    states, actions = gru.unroll(parameters, seen, before)
    flat = states.flatten(1, 2)
    return Trace(
        parameters,
        flat.new_zeros(len(flat), 1, 1),
        flat,
        flat,
        flat,
        flat,
        torch.zeros(flat.shape[:2], dtype=torch.long, device=flat.device),
        (episode_weight / data.horizon).repeat(1, data.horizon),
        episode_weight,
        Rows(data.horizon, data.episodes),
        actions=actions.flatten(1, 2),
    )
