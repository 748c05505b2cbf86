"""The full gradient: the recurrent part step by step, everything else at once.

With hard codes the values of all steps follow from the codes, and only the gradient is a recurrence: on CUDA the fused
kernels of the parallel engine compute everything but that, and one kernel follows it back.
"""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import look_up, nearest, straight_through
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import drive, observe, propose, side_information
from diacritic.training import parallel
from diacritic.training.data import Data
from diacritic.training.trace import Rows, Trace


def trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    inputs: Inputs,
    precision: torch.dtype | None = None,
    drawn: Tensor | None = None,
) -> Trace:
    """One pass; `inputs` hold every step as one row, t·N + n. The codes are found in the parameters' own precision.

    `drawn` [S, N] says which episodes a run sees; weights are then those of its own.
    """
    if precision is not None and parallel.fusible(parameters, architecture, inputs):
        code = parallel.codes(parameters, architecture, data, inputs, drawn)
        heads = parallel.fused_heads(parameters, architecture, data, inputs, code, precision, drawn, full=True)
        if heads is not None:
            return parallel.fused_trace(parameters, data, episode_weight, heads, drawn)
    inputs = parallel.seen(data, inputs, drawn)
    low = parameters if precision is None else {name: value.to(precision) for name, value in parameters.items()}
    exact = observe(parameters, inputs)
    driven = drive(parameters, "residual", side_information(parameters, inputs, exact), inputs.previous)
    features = exact if precision is None else observe(low, inputs)
    side = side_information(low, inputs, features)
    codebook = parameters["codebook"]
    embedding = codebook.new_zeros(len(codebook), episode_weight.shape[1], architecture.code_size)
    proposals, embeddings, codes = [], [], []
    for step in driven.unflatten(1, (data.horizon, -1)).unbind(1):
        carried = embedding if architecture.persistent else torch.zeros_like(embedding)
        proposal = carried + propose(parameters, "residual", carried, step)
        proposal = torch.tanh(proposal) if architecture.bound == "tanh" else proposal
        code = nearest(proposal.detach(), codebook)
        embedding = straight_through(look_up(codebook, code), proposal)
        proposals.append(proposal)
        embeddings.append(embedding)
        codes.append(code)
    return Trace(
        low,
        codebook,
        features,
        side,
        torch.cat(proposals, 1),
        torch.cat(embeddings, 1),
        torch.cat(codes, 1),
        (episode_weight / data.horizon).repeat(1, data.horizon),
        episode_weight,
        Rows(data.horizon, episode_weight.shape[1], drawn=drawn),
    )
