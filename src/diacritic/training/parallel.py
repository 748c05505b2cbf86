"""The carousel in parallel over time: scan the hard codes forward, then evaluate every step at once on those codes.

With the gradient stopped where the code enters f, F_t = e₀ + Σ_{s≤t} f_s carries the whole gradient of the state, so
E = sg(E_hard) + (F − sg(F)) and no recurrence is differentiated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diacritic.memory.encoders import symbol_vectors
from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import look_up, straight_through
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import drive, observe, propose, side_information
from diacritic.training.data import Data
from diacritic.training.scan import running_sum, scan_codes
from diacritic.training.trace import Rows, Trace, head_trace, step_trace

if TYPE_CHECKING:
    from diacritic.training.kernels.fused import Heads


SECOND = "identification."
"""How names of the second carrier's parameters begin."""
CONTROLLED = ("choose.", "act.", "control.", "pending.")
"""The same of heads that choose by the symbol, or act on what is chosen, where a controller does."""


def tokens(data: Data) -> Inputs:
    """Every step of every episode as one row, t·N + n."""
    seen = data.observation_index.flatten()
    one_hot = None
    if data.symbol is not None:
        one_hot = torch.nn.functional.one_hot(data.symbol.flatten(), data.shape.symbols).to(data.observation.dtype)
    frame = None if data.frames is None else data.frames[seen]
    return Inputs(data.observation[seen], data.previous[data.previous_index.flatten()], one_hot, frame)


@torch.no_grad()
def codes(
    parameters: Parameters, architecture: Architecture, data: Data, shown: Inputs, drawn: Tensor | None = None
) -> Tensor:
    """Hard codes of every step [S, T, N], in the parameters' own precision; of all episodes, or of `drawn` [S, N]."""
    driven = _drive(parameters, data, shown, drawn).unflatten(1, (data.horizon, -1))
    return scan_codes(parameters, driven, architecture.bound, architecture.persistent)


def trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    shown: Inputs,
    code: Tensor,
    precision: torch.dtype | None = None,
    drawn: Tensor | None = None,
) -> Trace:
    """Every step at once on given codes; `precision` is that of all products (bf16 on CUDA, say).

    `drawn` [S, N] says which episodes a run sees; codes and weights are then those of its own.
    """
    first = _first_trace(parameters, architecture, data, episode_weight, shown, code, precision, drawn)
    if not architecture.identification:
        return first
    return replace(first, identification=_second_trace(parameters, architecture, data, shown, precision, first))


def _first_trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    episode_weight: Tensor,
    shown: Inputs,
    code: Tensor,
    precision: torch.dtype | None,
    drawn: Tensor | None,
) -> Trace:
    heads = fused_heads(parameters, architecture, data, shown, code, precision, drawn)
    if heads is not None:
        low = _Lowered(parameters, heads.features.dtype)
        made = head_trace(low, heads, episode_weight, data.horizon, drawn, parameters["codebook"])
        return made if heads.symbols is None else replace(made, side=heads.symbols.side(heads.features.dtype))
    shown = seen(data, shown, drawn)
    flat, rows = code.flatten(1), Rows(data.horizon, code.shape[2], drawn=drawn)
    low = parameters if precision is None else _Lowered(parameters, precision)
    features = observe(low, shown)
    side = side_information(low, shown, features)
    driven = drive(low, "residual", side, shown.previous)
    before = _before(architecture, code)
    proposal, embedding = _state(low, parameters["codebook"], architecture, driven, before, flat, rows)
    outputs = features, side, proposal, embedding, flat
    return step_trace(low, episode_weight, data.horizon, drawn, parameters["codebook"], outputs)


def _second_trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    shown: Inputs,
    precision: torch.dtype | None,
    first: Trace,
) -> Trace:
    """The second carrier: the same cell with its own residual and codebook, on what the first one reads."""
    named = {f"residual.{name.removeprefix(SECOND)}": name for name in parameters if name.startswith(SECOND)}
    given = {**parameters, **{name: parameters[own] for name, own in named.items()}}
    codebook = given["codebook"] = parameters[f"{SECOND}codebook"]
    cell, rows, side = replace(architecture, codes=codebook.shape[1]), first.rows, first.side
    code = codes(given, cell, data, shown, rows.drawn)
    if architecture.detached:
        side = side.detach()
        given |= {name: value.detach() for name, value in parameters.items() if name.startswith("previous.")}
    low = given if precision is None else _Lowered(given, precision)
    driven = drive(low, "residual", side, seen(data, shown, rows.drawn).previous)
    states = _state(low, codebook, cell, driven, _before(cell, code), code.flatten(1), rows)
    outputs = side, side, *states, code.flatten(1)
    return step_trace(low, first.episode_weight, data.horizon, rows.drawn, codebook, outputs)


def seen(data: Data, shown: Inputs, drawn: Tensor | None) -> Inputs:
    """The inputs of every row: the same for all runs, or those of the episodes drawn in each, [S, R, ·]."""
    if drawn is None:
        return shown
    row = origins(data, drawn, len(drawn))
    symbol = None if shown.symbol is None else shown.symbol[row]
    frame = None if shown.frame is None else _frames_at(shown.frame, row)
    return Inputs(shown.observation[row], shown.previous[row], symbol, frame)


def _frames_at(frames: Tensor, row: Tensor) -> Tensor:
    """Frames of these rows, copied eight bytes at a time."""
    return frames.flatten(1).view(torch.int64)[row].view(torch.uint8).unflatten(-1, frames.shape[1:])


def origins(data: Data, drawn: Tensor | None, runs: int) -> Tensor:
    """The row t·N + n of the data that each row is, [S, R] in int32; without a drawing, the same for all runs."""
    T, N = data.horizon, data.episodes
    made = {"dtype": torch.int32, "device": data.target.device}
    if drawn is None:
        return torch.arange(T * N, **made).expand(runs, -1)
    return (torch.arange(0, T * N, N, **made).view(1, -1, 1) + drawn.int().unsqueeze(1)).flatten(1)


def _before(architecture: Architecture, code: Tensor) -> Tensor:
    """The codes that each row starts from, [S, R], from those of every step [S, T, N]."""
    none = torch.full_like(code[:, :1], architecture.codes)
    return (torch.cat([none, code[:, :-1]], 1) if architecture.persistent else none.expand_as(code)).flatten(1)


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


def fused_heads(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    shown: Inputs,
    code: Tensor,
    precision: torch.dtype | None,
    drawn: Tensor | None,
) -> Heads | None:
    """Encoder, state and heads on codes [S, T, N] through the fused kernels, on CUDA where they fit."""
    if precision is None or not fusible(parameters, architecture, shown):
        return None
    from diacritic.training.kernels import fused

    given = shown, origins(data, drawn, len(code)), _before(architecture, code), code.flatten(1)
    return fused.heads(_of_the_kernels(parameters, architecture), *given, data.horizon, precision)


def _of_the_kernels(parameters: Parameters, architecture: Architecture) -> Parameters:
    """Without heads that read a second carrier, or the symbol, or a choice: these are left to torch."""
    second = (SECOND, "identify.") if architecture.identification else ()
    controlled = () if architecture.readout == "direct" else CONTROLLED
    left_out = (*second, *controlled)
    return {name: value for name, value in parameters.items() if not name.startswith(left_out)}


def fusible(parameters: Parameters, architecture: Architecture, shown: Inputs) -> bool:
    """Whether the fused kernels compute this carrier."""
    if not on_gpu(shown) or not architecture.usual or architecture.bound != "none" or not architecture.persistent:
        return False
    from diacritic.training.kernels import fused

    return fused.fits(parameters, shown)


def on_gpu(shown: Inputs) -> bool:
    """Whether there is a GPU for the kernels."""
    return shown.observation.is_cuda


def _drive(parameters: Parameters, data: Data, shown: Inputs, drawn: Tensor | None) -> Tensor:
    """The driven part of f's first layer; on CUDA in one kernel, where it fits."""
    if on_gpu(shown) and shown.frame is None:
        from diacritic.training.kernels import drive as kernel

        if kernel.fits(parameters, shown.observation, shown.previous):
            origin = origins(data, drawn, len(parameters["codebook"]))
            if "symbol.weight" not in parameters or shown.symbol is None:
                return kernel.exact_drive_cuda(parameters, shown.observation, shown.previous, origin)
            reading = parameters["residual.observation.weight"]
            blind = {**parameters, "residual.observation.weight": torch.zeros_like(reading)}
            driven = kernel.exact_drive_cuda(blind, shown.observation, shown.previous, origin)
            told = torch.bmm(symbol_vectors(parameters), reading)
            return driven + look_up(told, shown.symbol.argmax(-1)[origin.long()])
    shown = seen(data, shown, drawn)
    features = observe(parameters, shown)
    return drive(parameters, "residual", side_information(parameters, shown, features), shown.previous)
