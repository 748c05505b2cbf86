"""The continuous path of scaffold and bypass: a GRU state that reaches the proposal with weight α."""

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action
from diacritic.memory.layers import Parameters, Weight, dense, gru_cell, linear


def weights(features: int, size: int, d: int) -> dict[str, Weight]:
    """One GRU layer of `size` numbers on (g_o(O_t), g_a(A_{t−1})) and its way out into the code space."""
    cell = dense("path.input", 2 * features, 3 * size) | dense("path.state", size, 3 * size)
    return cell | dense("path.out", size, d)


def advance(parameters: Parameters, hidden: Tensor, side: Tensor, previous: Tensor) -> Tensor:
    """h_t = GRU(h_{t−1}, [g_o(O_t), g_a(A_{t−1})])."""
    acted = encode_action(parameters, previous)
    told = linear(parameters, "path.input", torch.cat([side, acted], -1))
    return gru_cell(parameters, "path.state", told, hidden)
