"""The carousel in parallel over time: scan the hard codes forward, then evaluate every step at once on those codes.

With the gradient stopped where the code enters f, F_t = e₀ + Σ_{s≤t} f_s carries the whole gradient of the state, so
E = sg(E_hard) + (F − sg(F)) and no recurrence is differentiated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diacritic.carrier.cell import Inputs, drive, observe, propose, side_information
from diacritic.carrier.layers import Parameters
from diacritic.carrier.quantise import look_up, straight_through
from diacritic.carrier.shape import Architecture
from diacritic.training.data import Data
from diacritic.training.scan import running_sum, scan_codes
from diacritic.training.trace import Rows, Trace

if TYPE_CHECKING:
    from diacritic.training.kernels.fused import Heads


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
    flat, rows = code.flatten(1), Rows(data.horizon, data.episodes)
    low = parameters if precision is None else _Lowered(parameters, precision)
    none = torch.full_like(code[:, :1], architecture.codes)
    before = torch.cat([none, code[:, :-1]], 1) if architecture.persistent else none.expand_as(code)
    heads = None if precision is None else _heads(parameters, architecture, shown, before, code, precision)
    if heads is None:
        features = observe(low, shown)
        side = side_information(low, shown, features)
        driven = drive(low, "residual", side, shown.previous)
        proposal, embedding = _state(low, parameters["codebook"], architecture, driven, before.flatten(1), flat, rows)
    else:
        features = side = heads.features
        proposal, embedding = heads.proposal, heads.embedding
    return Trace(
        low,
        parameters["codebook"],
        features,
        side,
        proposal,
        embedding,
        flat,
        (episode_weight / data.horizon).repeat(1, data.horizon),
        episode_weight,
        rows,
        heads=heads,
    )


def _state(
    low: Parameters,
    codebook: Tensor,
    architecture: Architecture,
    driven: Tensor,
    before: Tensor,
    code: Tensor,
    rows: Rows,
) -> tuple[Tensor, Tensor]:
    """ẽ and e of every row, with the gradient of the running sum."""
    start = torch.cat([codebook, torch.zeros_like(codebook[:, :1])], 1).detach()
    carried = look_up(start, before)
    residual = propose(low, "residual", carried, driven).to(codebook.dtype)
    value = carried + residual
    factor, shape = None, (rows.horizon, rows.episodes)
    if architecture.bound == "tanh":
        value = torch.tanh(value)
        factor = (1 - value.square()).unflatten(1, shape)
    running = running_sum(residual.unflatten(1, shape), factor, architecture.persistent).flatten(1, 2)
    return straight_through(value, running), straight_through(look_up(codebook, code), running)


class _Lowered(Mapping[str, Tensor]):
    """Parameters in a lower precision, each converted when it is first asked for: the kernels need few of them."""

    def __init__(self, parameters: Parameters, precision: torch.dtype) -> None:
        self.parameters, self.precision = parameters, precision
        self.converted: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.converted:
            self.converted[name] = self.parameters[name].to(self.precision)
        return self.converted[name]

    def __contains__(self, name: object) -> bool:
        return name in self.parameters

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self.parameters)


def _heads(
    parameters: Parameters, architecture: Architecture, shown: Inputs, before: Tensor, code: Tensor, low: torch.dtype
) -> Heads | None:
    """Encoder, state and heads through the fused kernels, on CUDA where they fit; codes before and after: [S, T, N]."""
    if not on_gpu(shown) or architecture.bound != "none" or not architecture.persistent:
        return None
    from diacritic.training.kernels import fused

    if not fused.fits(parameters, shown):
        return None
    return fused.heads(parameters, shown, before.flatten(1), code.flatten(1), code.shape[1], low)


def on_gpu(shown: Inputs) -> bool:
    """Whether there is a GPU for the kernels."""
    return shown.observation.is_cuda


def _drive(parameters: Parameters, shown: Inputs) -> Tensor:
    """The driven part of f's first layer; on CUDA in one kernel, where it fits."""
    plain = shown.frame is None and "symbol.weight" not in parameters
    if on_gpu(shown) and plain:
        from diacritic.training.kernels import drive as kernel

        if kernel.fits(parameters, shown.observation, shown.previous):
            return kernel.exact_drive_cuda(parameters, shown.observation, shown.previous)
    features = observe(parameters, shown)
    return drive(parameters, "residual", side_information(parameters, shown, features), shown.previous)
