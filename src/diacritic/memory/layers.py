"""Stacked layers: every weight has a leading axis of runs, and one product serves all of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.tall import TALL, tall_linear

Parameters = Mapping[str, Tensor]  # name → [runs, …]


@dataclass(frozen=True)
class Weight:
    """How one parameter looks in one run, and the scale that it starts with."""

    shape: tuple[int, ...]
    start: str = "uniform"  # in ±scale; normal with deviation scale; log of a number in 1…scale; zero; one
    scale: float = 1.0


def dense(name: str, inputs: int, outputs: int, bias: bool = True) -> dict[str, Weight]:
    """A linear layer that starts as PyTorch's do: uniform in ±1/√inputs."""
    bound = inputs**-0.5
    layer = {f"{name}.weight": Weight((inputs, outputs), scale=bound)}
    return {**layer, f"{name}.bias": Weight((outputs,), scale=bound)} if bias else layer


def linear(parameters: Parameters, name: str, x: Tensor) -> Tensor:
    """x W + b with x of shape [runs, rows, inputs], or [rows, inputs] where all runs see the same rows."""
    return _multiplied(*_factors(parameters, name, x), parameters.get(f"{name}.bias"))


def product(parameters: Parameters, name: str, x: Tensor) -> Tensor:
    """x W, for whoever adds the bias together with something else: each sum is a pass over memory."""
    return _multiplied(*_factors(parameters, name, x), None)


def _factors(parameters: Parameters, name: str, x: Tensor) -> tuple[Tensor, Tensor]:
    weight = parameters[f"{name}.weight"]
    if x.shape[-1] > weight.shape[1]:  # inputs padded to a size that tensor cores like
        weight = torch.nn.functional.pad(weight, (0, 0, 0, x.shape[-1] - weight.shape[1]))
    return (x if x.dim() == 3 else x.expand(len(weight), *x.shape)).to(weight.dtype), weight


def _multiplied(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if rows.is_cuda and rows.shape[1] >= TALL and torch.is_grad_enabled():
        return tall_linear(rows, weight, bias)
    return torch.bmm(rows, weight) if bias is None else torch.baddbmm(bias.unsqueeze(1), rows, weight)


def reader(
    name: str, features: int, code: int, width: int, outputs: int, hidden: int = 1, more: int = 0
) -> dict[str, Weight]:
    """A head on (g_o(O_t), C_t): its first layer has one part for each, so that either can be computed once.

    `more` inputs come from parts that the caller adds.
    """
    bound = (features + code + more) ** -0.5
    layers = {
        f"{name}.observation.weight": Weight((features, width), scale=bound),
        f"{name}.observation.bias": Weight((width,), scale=bound),
        f"{name}.code.weight": Weight((code, width), scale=bound),
    }
    for k in range(1, hidden):
        layers |= dense(f"{name}.hidden{k}", width, width)
    return layers | dense(f"{name}.out", width, outputs)


def read(parameters: Parameters, name: str, observation: Tensor, code: Tensor) -> Tensor:
    """The head's output from its observation part (already projected and spread over rows) and the code's vector."""
    hidden = hidden_layers(parameters, name, observation + linear(parameters, f"{name}.code", code))
    out = linear(parameters, f"{name}.out", hidden[-1])
    return out if out.dtype == torch.float64 else out.float()


def hidden_layers(parameters: Parameters, name: str, entering: Tensor) -> list[Tensor]:
    """All hidden layers, from what enters the first."""
    layers = [torch.relu(entering)]
    while f"{name}.hidden{len(layers)}.weight" in parameters:
        layers.append(torch.relu(linear(parameters, f"{name}.hidden{len(layers)}", layers[-1])))
    return layers


def gru_cell(parameters: Parameters, name: str, told: Tensor, hidden: Tensor) -> Tensor:
    """One step of PyTorch's GRU from the projection of its input, with the named layer on its state."""
    reset, update, new = told.chunk(3, -1)
    reset_h, update_h, new_h = linear(parameters, name, hidden).chunk(3, -1)
    gate = torch.sigmoid(update + update_h)
    return gate * hidden + (1 - gate) * torch.tanh(new + torch.sigmoid(reset + reset_h) * new_h)
