"""The recurrent part step by step, everything else at once: the full gradient, and carriers of any kind.

With hard codes the values of all steps follow from the codes, and only the gradient is a recurrence: on CUDA the fused
kernels of the parallel engine compute everything but that, and one kernel follows it back. Other carriers have two
kernels on CUDA that follow the recurrence itself forward and back (`kernels.recurrence`).
"""

import torch
from torch import Tensor

from diacritic.memory.encoders import prior_input
from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import bounded, code_vectors, look_up, nearest, straight_through
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import drive, first_vector, observe, propose, side_information
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
    gradient: str = "full",
) -> Trace:
    """One pass; `inputs` hold every step as one row, t·N + n. The codes are found in the parameters' own precision.

    `drawn` [S, N] says which episodes a run sees; weights are then those of its own. A `precision` of fp32 means that
    the tensor cores may round the factors of fp32 products (TF32).
    """
    if precision is not None and parallel.fusible(parameters, architecture, inputs):
        code = parallel.codes(parameters, architecture, data, inputs, drawn)
        heads = parallel.fused_heads(parameters, architecture, data, inputs, code, precision, drawn, full=True)
        if heads is not None:
            return parallel.fused_trace(parameters, data, episode_weight, heads, drawn)
    if gradient == "full" and narrow_fits(parameters, architecture, inputs):
        return _narrow(parameters, architecture, data, episode_weight, inputs, precision is not None, drawn)
    inputs = parallel.seen(data, inputs, drawn)
    lowered = precision is not None and precision != parameters["codebook"].dtype
    low = {name: value.to(precision) for name, value in parameters.items()} if lowered else parameters
    exact = observe(parameters, inputs)
    driven = drive(parameters, "residual", side_information(parameters, inputs, exact), inputs.previous)
    features = observe(low, inputs) if lowered else exact
    side = side_information(low, inputs, features)
    states = follow(parameters, architecture, driven, data.horizon, gradient, precision is not None)
    return Trace(
        low,
        code_vectors(parameters["codebook"], architecture.bound),
        features,
        side,
        *states,
        (episode_weight / data.horizon).repeat(1, data.horizon),
        episode_weight,
        Rows(data.horizon, episode_weight.shape[1], drawn=drawn),
        prior_input=None if architecture.prior_reads == "features" else prior_input(architecture, inputs, side),
    )


def narrow_fits(parameters: Parameters, architecture: Architecture, inputs: Inputs) -> bool:
    """Whether there is a GPU, and the kernels of narrow carriers compute this one."""
    if not parallel.on_gpu(inputs):
        return False
    from diacritic.training.kernels import narrow

    return narrow.fits(parameters, architecture, inputs)


def _narrow(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    inputs: Inputs,
    rough: bool,
    drawn: Tensor | None,
) -> Trace:
    """The same through the kernels of narrow carriers."""
    from diacritic.training.kernels import narrow

    origins = parallel.origins(data, drawn, len(episode_weight))
    row = origins.long()
    shown = Inputs(inputs.observation[row], inputs.previous[row])
    heads = narrow.heads(parameters, architecture, shown, origins, data.horizon, rough)
    return Trace(
        parameters,
        heads.codebook,
        heads.features,
        heads.features,
        heads.proposal,
        heads.embedding,
        heads.code,
        (episode_weight / data.horizon).repeat(1, data.horizon),
        episode_weight,
        Rows(data.horizon, episode_weight.shape[1], drawn=drawn),
        prior_input=None if architecture.prior_reads == "features" else heads.shown,
        heads=heads,
    )


def follow(
    parameters: Parameters, architecture: Architecture, driven: Tensor, steps: int, gradient: str, rough: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Proposals, vectors and codes of all rows from the driven part of f's first layer [S, T·N, width]."""
    if driven.is_cuda and gradient == "full":
        from diacritic.training.kernels import recurrence

        if recurrence.fits(parameters, architecture):
            return recurrence.follow(parameters, architecture, driven, steps, rough)
    codebook = code_vectors(parameters["codebook"], architecture.bound)
    embedding = first_vector(parameters, architecture).expand(-1, driven.shape[1] // steps, -1)
    proposals, embeddings, codes = [], [], []
    for step in driven.unflatten(1, (steps, -1)).unbind(1):
        carried = embedding if architecture.persistent else torch.zeros_like(embedding)
        entering = carried.detach() if gradient == "carousel" else carried
        proposal = bounded(carried + propose(parameters, "residual", entering, step), architecture.bound)
        code = nearest(proposal.detach(), codebook.detach())
        embedding = straight_through(look_up(codebook, code), proposal)
        proposals.append(proposal)
        embeddings.append(embedding)
        codes.append(code)
    return torch.cat(proposals, 1), torch.cat(embeddings, 1), torch.cat(codes, 1)
