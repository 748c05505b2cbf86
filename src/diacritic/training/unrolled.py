"""The recurrent part step by step, everything else at once: the full gradient, and carriers of any kind.

On CUDA two kernels follow the recurrence forward and back (`kernels.recurrence`). The continuous path of a scaffold or
bypass never reads the code, so that it is followed on its own (`kernels.path`), and what it adds to the proposals is
given.
"""

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action, prior_input
from diacritic.memory.layers import Parameters, gru_cell, linear
from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import bounded, code_vectors, look_up, nearest, quantised, straight_through
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import drive, first_vector, observe, propose, side_information
from diacritic.training import parallel
from diacritic.training.data import Data
from diacritic.training.trace import Trace, head_trace, step_trace


def trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    inputs: Inputs,
    precision: torch.dtype | None = None,
    drawn: Tensor | None = None,
    gradient: str = "full",
    strength: Tensor | float = 1.0,
) -> Trace:
    """One pass; `inputs` hold every step as one row, t·N + n. The codes are found in the parameters' own precision.

    `drawn` [S, N] says which episodes a run sees; weights are then those of its own. A `precision` of fp32 means that
    the tensor cores may round the factors of fp32 products (TF32). Frames are encoded once, and with any `precision` in
    bf16. `strength` is α of the continuous path.
    """
    if gradient == "full" and narrow_fits(parameters, architecture, inputs):
        from diacritic.training.kernels import narrow

        origins = parallel.origins(data, drawn, len(episode_weight))
        shown = Inputs(inputs.observation[origins.long()], inputs.previous[origins.long()])
        rough = precision is not None
        heads = narrow.heads(parameters, architecture, shown, origins, data.horizon, rough, strength)
        read = None if architecture.prior_reads == "features" else heads.shown
        return head_trace(parameters, heads, episode_weight, data.horizon, drawn, heads.codebook, read)
    inputs = parallel.seen(data, inputs, drawn)
    lowered = precision is not None and precision != parameters["codebook"].dtype
    low = {name: value.to(precision) for name, value in parameters.items()} if lowered else parameters
    rough = precision is not None
    exact = observe(parameters, inputs, rough)
    given = side_information(parameters, inputs, exact)
    driven = drive(parameters, "residual", given, inputs.previous)
    pushed = None
    if architecture.path != "none":
        pushed = strength * path(parameters, given, encode_action(parameters, inputs.previous), data.horizon, rough)
    features = exact if not lowered or inputs.frame is not None else observe(low, inputs)
    side = side_information(low, inputs, features)
    states = follow(parameters, architecture, driven, data.horizon, gradient, rough, pushed)
    read = None if architecture.prior_reads == "features" else prior_input(architecture, inputs, side)
    codebook = code_vectors(parameters["codebook"], architecture.bound)
    outputs = features, side, *states
    return step_trace(low, episode_weight, data.horizon, drawn, codebook, outputs, prior_input=read)


def narrow_fits(parameters: Parameters, architecture: Architecture, inputs: Inputs) -> bool:
    """Whether there is a GPU, and the kernels of narrow carriers compute this one."""
    if not parallel.on_gpu(inputs):
        return False
    from diacritic.training.kernels import narrow

    return narrow.fits(parameters, architecture, inputs)


def path(parameters: Parameters, side: Tensor, acted: Tensor, steps: int, rough: bool) -> Tensor:
    """What the continuous path adds to every proposal at full strength, [S, T·N, d]."""
    if side.is_cuda:
        from diacritic.training.kernels import path as kernels

        if kernels.fits(parameters):
            return kernels.path(parameters, side, acted, steps, rough)
    told = linear(parameters, "path.input", torch.cat([side, acted.expand(len(side), -1, -1)], -1))
    told = told.unflatten(1, (steps, -1))
    hidden, states = told.new_zeros(len(told), told.shape[2], told.shape[3] // 3), []
    for now in told.unbind(1):
        hidden = gru_cell(parameters, "path.state", now, hidden)
        states.append(hidden)
    return linear(parameters, "path.out", torch.cat(states, 1))


def stands_alone(architecture: Architecture) -> bool:
    """Whether proposals are what the continuous path says, and nothing of the code before."""
    return architecture.path == "bypass" and architecture.path_alone


def follow(
    parameters: Parameters,
    architecture: Architecture,
    driven: Tensor,
    steps: int,
    gradient: str,
    rough: bool,
    pushed: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Proposals, vectors and codes of all rows from the driven part of f's first layer [S, T·N, width].

    `pushed` [S, T·N, d] is what a continuous path adds to the proposals; where it stands alone, nothing is recurrent.
    """
    if pushed is not None and stands_alone(architecture):
        return quantised(pushed, parameters["codebook"], architecture.bound)
    if driven.is_cuda and gradient == "full":
        from diacritic.training.kernels import recurrence

        if recurrence.fits(parameters, architecture):
            return recurrence.follow(parameters, architecture, driven, steps, rough, pushed)
    codebook = code_vectors(parameters["codebook"], architecture.bound)
    embedding = first_vector(parameters, architecture).expand(-1, driven.shape[1] // steps, -1)
    proposals, embeddings, codes = [], [], []
    added = [None] * steps if pushed is None else pushed.unflatten(1, (steps, -1)).unbind(1)
    for step, more in zip(driven.unflatten(1, (steps, -1)).unbind(1), added, strict=True):
        carried = embedding if architecture.persistent else torch.zeros_like(embedding)
        entering = carried.detach() if gradient == "carousel" else carried
        proposal = carried + propose(parameters, "residual", entering, step)
        proposal = bounded(proposal if more is None else proposal + more, architecture.bound)
        code = nearest(proposal.detach(), codebook.detach())
        embedding = straight_through(look_up(codebook, code), proposal)
        proposals.append(proposal)
        embeddings.append(embedding)
        codes.append(code)
    return torch.cat(proposals, 1), torch.cat(embeddings, 1), torch.cat(codes, 1)
