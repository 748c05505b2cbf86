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
from diacritic.memory.sole_carrier import Code, State, carried_vectors, drive, observe, propose, side_information


@torch.no_grad()
def code_tables(
    parameters: Parameters, architecture: Architecture, observation: torch.Tensor, previous: torch.Tensor
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Moves [S, K+1, O, V] and action laws [S, K, O, A] of every run, for all inputs.

    `observation` [O, ·] and `previous` [V, ·] are the task's distinct inputs; code K stands for "none yet". Carriers
    with matched side information take the observation for the symbol, which on a symbolic task it is.
    """
    memory = memory_of(architecture)
    if not memory.finite(architecture):
        raise UserError(
            "architecture", "only what remembers nothing but a code is a finite machine; watch its episodes"
        )
    held, K = memory.held(parameters, architecture), architecture.codes
    S, shown, V = len(held), len(observation), len(previous)
    features = observe(parameters, Inputs(observation, previous, observation))
    side = side_information(parameters, Inputs(observation, previous, observation), features)
    moves = _moves(parameters, architecture, side, previous) if isinstance(memory, Code) else None
    if moves is None:
        seen = observation.repeat_interleave(V, 0)
        pairs = Inputs(seen, previous.repeat(shown, 1), seen)
        moves = []
        for k, start in enumerate(memory.carried(parameters, architecture).unbind(1)):
            code = torch.full((S, shown * V), k, device=start.device)
            state = State(start.unsqueeze(1).expand(-1, shown * V, -1), code)
            moves.append(memory.step(parameters, architecture, state, pairs)[1].code)
    vectors = held.repeat_interleave(shown, 1)
    code = torch.arange(K, device=held.device).repeat_interleave(shown).expand(S, -1)
    seen = features.repeat(1, K, 1), side.repeat(1, K, 1)
    record = Record(*seen, vectors, vectors, code, observation=observation.repeat(K, 1))
    logits = act(parameters, architecture, record)
    law = torch.softmax(logits.double(), -1).view(S, K, shown, -1)
    return torch.stack(moves, 1).view(S, K + 1, shown, V).cpu().numpy(), law.cpu().numpy()


def _moves(
    parameters: Parameters, architecture: Architecture, side: torch.Tensor, previous: torch.Tensor
) -> list[torch.Tensor]:
    """The carrier's next code from every code, for all inputs; what does not depend on the code is computed once."""
    codebook = code_vectors(parameters["codebook"], architecture.bound)
    start = carried_vectors(parameters, architecture)
    start = start if architecture.persistent else torch.zeros_like(start)
    shown, V = side.shape[1], len(previous)
    driven = drive(parameters, "residual", side.repeat_interleave(V, 1), previous.repeat(shown, 1))
    moves = []
    for vector in start.unbind(1):
        carried = vector.unsqueeze(1).expand(-1, shown * V, -1)
        proposal = bounded(carried + propose(parameters, "residual", carried, driven), architecture.bound)
        moves.append(nearest(proposal, codebook))
    return moves
