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
    if architecture.readout == "direct":
        return read(parameters, "act", linear(parameters, "act.observation", record.features), record.embedding)
    chosen = read(parameters, "choose", linear(parameters, "choose.observation", record.side), record.embedding)
    if architecture.readout == "hierarchical":
        chosen = torch.nn.functional.one_hot(chosen.argmax(-1), chosen.shape[-1]).to(chosen.dtype)
    return execute(parameters, architecture.readout, record.features, record.observation, chosen)


def execute(
    parameters: Parameters, readout: str, features: Tensor, observation: Tensor | None, chosen: Tensor
) -> Tensor:
    """The action of a controller without memory, given a choice: `act` reads g_o(O_t), `control` O_t itself.

    The latter adds a correction to an intent, which learns from the sum alone.
    """
    if "control.out.weight" not in parameters:
        return read(parameters, "act", linear(parameters, "act.observation", features), chosen.detach())
    assert observation is not None
    done = read(parameters, "control", linear(parameters, "control.observation", observation), chosen.detach())
    return chosen + done if readout == "intent" else done
