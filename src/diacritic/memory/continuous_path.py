"""The continuous path of scaffold and bypass: a GRU state that reaches the proposal with weight α."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear


def weights(width: int, d: int) -> dict[str, Weight]:
    """One GRU layer on (g_o(O_t), g_a(A_{t−1})) and its way out into the code space."""
    cell = dense("path.input", 2 * width, 3 * width) | dense("path.state", width, 3 * width)
    return cell | dense("path.out", width, d)


def advance(parameters: Parameters, hidden: Tensor, side: Tensor, previous: Tensor) -> Tensor:
    """h_t = GRU(h_{t−1}, [g_o(O_t), g_a(A_{t−1})])."""
    acted = torch.relu(linear(parameters, "previous", previous))
    reset, update, new = linear(parameters, "path.input", torch.cat([side, acted], -1)).chunk(3, -1)
    reset_h, update_h, new_h = linear(parameters, "path.state", hidden).chunk(3, -1)
    gate = torch.sigmoid(update + update_h)
    return gate * hidden + (1 - gate) * torch.tanh(new + torch.sigmoid(reset + reset_h) * new_h)
