"""A trained carrier on a symbolic task is a finite machine; here it is read off the weights."""

import numpy as np
import torch
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.memory.act import act
from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import Inputs, Record
from diacritic.memory.quantise import bounded, code_vectors, nearest
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import carried_vectors, drive, observe, propose, side_information


@torch.no_grad()
def code_tables(
    parameters: Parameters, architecture: Architecture, observation: torch.Tensor, previous: torch.Tensor
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Moves [S, K+1, O, V] and action laws [S, K, O, A] of every run, for all inputs.

    `observation` [O, ·] and `previous` [V, ·] are the task's distinct inputs; code K stands for "none yet". Carriers
    with matched side information take the observation for the symbol, which on a symbolic task it is.
    """
    if not memory_of(architecture).finite(architecture):
        raise UserError(
            "architecture", "only what remembers nothing but a code is a finite machine; watch its episodes"
        )
    codebook, K = code_vectors(parameters["codebook"], architecture.bound), architecture.codes
    S, shown, V = len(codebook), len(observation), len(previous)
    start = carried_vectors(parameters, architecture)
    start = start if architecture.persistent else torch.zeros_like(start)
    inputs = Inputs(observation, previous, observation)
    features = observe(parameters, inputs)
    side = side_information(parameters, inputs, features)
    driven = drive(parameters, "residual", side.repeat_interleave(V, 1), previous.repeat(shown, 1))
    moves = []
    for k in range(K + 1):
        carried = start[:, k : k + 1].expand(-1, shown * V, -1)
        proposal = carried + propose(parameters, "residual", carried, driven)
        proposal = bounded(proposal, architecture.bound)
        moves.append(nearest(proposal, codebook).view(S, shown, V))
    held = codebook.repeat_interleave(shown, 1)
    code = torch.arange(K, device=codebook.device).repeat_interleave(shown).expand(S, -1)
    seen = features.repeat(1, K, 1), side.repeat(1, K, 1)
    record = Record(*seen, held, held, code, observation=observation.repeat(K, 1))
    logits = act(parameters, architecture, record)
    law = torch.softmax(logits.double(), -1).view(S, K, shown, -1)
    return torch.stack(moves, 1).cpu().numpy(), law.cpu().numpy()
