"""The bistable recurrent cell (Vecoven et al. 2021): each unit can hold one of two values for ever."""

import torch
from torch import Tensor

from diacritic.memory.kernels.launch import usable
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import register
from diacritic.memory.repeats import Repeats, continued
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import VectorMemory


@register
class Bistable(VectorMemory):
    """s_t = c s_{t−1} + (1 − c) tanh(W x_t + a s_{t−1}), a = 1 + tanh(·), c = σ(·); units feed back to themselves."""

    name = "bistable"

    def cell(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        size = architecture.state_size
        feedback = {f"cell.{gate}": Weight((size,)) for gate in ("gain", "keep")}
        return dense("cell.in", size, 3 * size) | feedback

    def advance(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        return self._move(parameters, state, linear(parameters, "cell.in", torch.relu(x)))

    def states(self, parameters: Parameters, architecture: Architecture, x: Tensor) -> Tensor:
        entering = linear(parameters, "cell.in", torch.relu(x.flatten(1, 2))).unflatten(1, x.shape[1:3])
        if usable(entering):
            from diacritic.memory.kernels.bistable import Bistable as Kernels

            return Kernels.apply(entering, parameters["cell.gain"], parameters["cell.keep"])
        state, states = self.start(parameters, architecture, x.shape[2]), []
        for one in entering.unbind(1):
            state = self._move(parameters, state, one)
            states.append(state)
        return torch.stack(states, 1)

    def history_states(self, parameters: Parameters, architecture: Architecture, x: Tensor, repeats: Repeats) -> Tensor:
        entering = repeats.levels(linear(parameters, "cell.in", torch.relu(x)))
        state, states = self.start(parameters, architecture, repeats.counts[0]), []
        for one, parent in zip(entering, repeats.parents, strict=True):
            state = self._move(parameters, continued(state, parent), one)
            states.append(state)
        return torch.cat(states, 1)

    def _move(self, parameters: Parameters, state: Tensor, entering: Tensor) -> Tensor:
        gain, keep, new = entering.chunk(3, -1)
        gain = 1 + torch.tanh(gain + parameters["cell.gain"].unsqueeze(1) * state)
        keep = torch.sigmoid(keep + parameters["cell.keep"].unsqueeze(1) * state)
        return keep * state + (1 - keep) * torch.tanh(new + gain * state)
