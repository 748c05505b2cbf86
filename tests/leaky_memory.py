"""A kind of memory of its own, in one file: it keeps a leaky sum of what it saw and did."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import encoders, observe

KEPT = 0.9


@register
class Leaky(Memory):
    """s_t = 0.9 s_{t−1} + W (g_o(O_t), A_{t−1})."""

    name = "leaky"

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return encoders(shape, architecture) | dense("leaky", architecture.width + shape.action, architecture.code_size)

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> Tensor:
        into = parameters["leaky.weight"]
        return into.new_zeros(len(into), rows, architecture.code_size)

    def step(
        self, parameters: Parameters, architecture: Architecture, state: Tensor, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[Tensor, Record]:
        features = observe(parameters, inputs)
        before = inputs.previous.expand(*features.shape[:2], -1).to(features.dtype)
        state = KEPT * state + linear(parameters, "leaky", torch.cat([features, before], -1))
        no_code = torch.zeros(state.shape[:2], dtype=torch.long, device=state.device)
        return state, Record(features, features, state, state, no_code)
