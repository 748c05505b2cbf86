"""The carousel in parallel over time: scan the hard codes forward, then evaluate every step at once on those codes.

With the gradient stopped where the code enters f, F_t = e₀ + Σ_{s≤t} f_s carries the whole gradient of the state, so
E = sg(E_hard) + (F − sg(F)) and no recurrence is differentiated.
"""

import torch
from torch import Tensor

from diacritic.carrier.cell import Inputs, drive, observe, propose, side_information
from diacritic.carrier.layers import Parameters
from diacritic.carrier.quantise import look_up, straight_through
from diacritic.carrier.shape import Architecture
from diacritic.training.data import Data
from diacritic.training.scan import running_sum, scan_codes
from diacritic.training.trace import Rows, Trace


def tokens(data: Data) -> Inputs:
    """Every step of every episode as one row, t·N + n."""
    seen = data.observation_index.flatten()
    one_hot = None
    if data.symbol is not None:
        one_hot = torch.nn.functional.one_hot(data.symbol.flatten(), data.shape.symbols).to(data.observation.dtype)
    frame = None if data.frames is None else data.frames[seen]
    return Inputs(data.observation[seen], data.previous[data.previous_index.flatten()], one_hot, frame)


@torch.no_grad()
def codes(parameters: Parameters, architecture: Architecture, data: Data, shown: Inputs) -> Tensor:
    """Hard codes of every step [S, T, N], in the parameters' own precision."""
    driven = _drive(parameters, shown).unflatten(1, (data.horizon, data.episodes))
    return scan_codes(parameters, driven, architecture.bound, architecture.persistent)


def trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    shown: Inputs,
    code: Tensor,
    precision: torch.dtype | None = None,
) -> Trace:
    """Every step at once on given codes; `precision` is that of all products (bf16 on CUDA, say)."""
    shape = (data.horizon, data.episodes)
    low = parameters if precision is None else {name: value.to(precision) for name, value in parameters.items()}
    features = observe(low, shown)
    side = side_information(low, shown, features)
    driven = drive(low, "residual", side, shown.previous)
    none = torch.full_like(code[:, :1], architecture.codes)
    before = torch.cat([none, code[:, :-1]], 1) if architecture.persistent else none.expand_as(code)
    codebook = parameters["codebook"]
    start = torch.cat([codebook, torch.zeros_like(codebook[:, :1])], 1).detach()
    carried = look_up(start, before.flatten(1))
    residual = propose(low, "residual", carried, driven).to(codebook.dtype)
    value = carried + residual
    factor = None
    if architecture.bound == "tanh":
        value = torch.tanh(value)
        factor = (1 - value.square()).unflatten(1, shape)
    running = running_sum(residual.unflatten(1, shape), factor, architecture.persistent).flatten(1, 2)
    flat = code.flatten(1)
    return Trace(
        low,
        codebook,
        features,
        side,
        straight_through(value, running),
        straight_through(look_up(codebook, flat), running),
        flat,
        (episode_weight / data.horizon).repeat(1, data.horizon),
        episode_weight,
        Rows(*shape),
    )


def _drive(parameters: Parameters, shown: Inputs) -> Tensor:
    """The driven part of f's first layer; on CUDA in one kernel, where it fits."""
    plain = shown.frame is None and "symbol.weight" not in parameters
    if shown.observation.is_cuda and plain:
        from diacritic.training.kernels import drive as kernel

        if kernel.fits(parameters, shown.observation, shown.previous):
            return kernel.exact_drive_cuda(parameters, shown.observation, shown.previous)
    features = observe(parameters, shown)
    return drive(parameters, "residual", side_information(parameters, shown, features), shown.previous)
