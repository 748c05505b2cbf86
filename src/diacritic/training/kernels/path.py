"""The continuous path of a scaffold or bypass: a GRU from zero through all steps, one kernel forward and one back."""

import torch
from torch import Tensor

from diacritic.memory.kernels.narrow_gru import WIDTHS, NarrowGru
from diacritic.memory.layers import Parameters
from diacritic.memory.tall import tall_linear


def path(parameters: Parameters, side: Tensor, acted: Tensor, steps: int, rough: bool) -> Tensor:
    """What the continuous path adds to every proposal at full strength, [S, T·N, d]."""
    told = torch.cat([side, acted.expand(len(side), -1, -1)], -1)
    told, inner = told_with_biases(parameters, "path", told)
    states = NarrowGru.apply(told, parameters["path.state.weight"], inner, steps, "tf32" if rough else "tf32x3")
    return tall_linear(states, parameters["path.out.weight"], parameters["path.out.bias"])


def told_with_biases(parameters: Parameters, name: str, rows: Tensor) -> tuple[Tensor, Tensor]:
    """What a GRU is told, [S, R, 3H], with the state's biases of r and z; and that of n, [S, H]."""
    bias = parameters[f"{name}.state.bias"]
    outward, inner = bias.split([2 * bias.shape[1] // 3, bias.shape[1] // 3], 1)
    more = torch.nn.functional.pad(outward, (0, inner.shape[1]))
    return tall_linear(rows, parameters[f"{name}.input.weight"], parameters[f"{name}.input.bias"] + more), inner


def fits(parameters: Parameters) -> bool:
    """Whether the kernels take this path; `training.unrolled` loops over steps where they do not."""
    weight = parameters["path.state.weight"]
    return weight.shape[1] in WIDTHS and weight.dtype == torch.float32
