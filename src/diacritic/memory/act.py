"""From memory to action: the heads that a policy keeps after training."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, linear, read
from diacritic.memory.protocol import Record
from diacritic.memory.shape import Architecture


def act(parameters: Parameters, architecture: Architecture, record: Record) -> Tensor:
    """The action, or the logits over action symbols: [runs, rows, A]."""
    if record.actions is not None:
        return record.actions
    part = linear(parameters, "act.observation", record.features)
    if architecture.readout == "direct":
        return read(parameters, "act", part, record.embedding)
    chosen = read(parameters, "choose", linear(parameters, "choose.observation", record.side), record.embedding)
    if architecture.readout == "hierarchical":
        chosen = torch.nn.functional.one_hot(chosen.argmax(-1), chosen.shape[-1]).to(chosen.dtype)
    return read(parameters, "act", part, chosen)
