"""GRU policies: a continuous recurrent state and no bottleneck, the reference for small memories (128, 8 or 4)."""

import torch
from torch import Tensor

from diacritic.memory.kernels.launch import usable
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.repeats import Repeats, continued
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import record


def _enter(parameters: Parameters, observation: Tensor, previous: Tensor) -> Tensor:
    """What the observation and the action before it add to the three gates."""
    kind = parameters["input.weight"]
    if observation.dim() != previous.dim():  # one of them differs between runs: then both do
        observation, previous = (x.expand(len(kind), *x.shape[-2:]) for x in (observation, previous))
    rows = torch.cat([observation.to(kind.dtype), previous.to(kind.dtype)], -1)
    return linear(parameters, "cell.input", torch.relu(linear(parameters, "input", rows)))


def gated(parameters: Parameters, state: Tensor, incoming: Tensor) -> Tensor:
    """h' = n + z (h − n) with reset r, update z and candidate n = tanh(x_n + r h_n), as PyTorch's GRUCell."""
    x_reset, x_update, x_new = incoming.chunk(3, -1)
    h_reset, h_update, h_new = linear(parameters, "cell.state", state).chunk(3, -1)
    update = torch.sigmoid(x_update + h_update)
    new = torch.tanh(x_new + torch.sigmoid(x_reset + h_reset) * h_new)
    return torch.lerp(new, state, update)


def _states(parameters: Parameters, entered: Tensor) -> Tensor:
    """States of all steps from zero on, [runs, T, N, ·], from what enters the gates."""
    weight, bias = parameters["cell.state.weight"], parameters["cell.state.bias"]
    if usable(entered):
        from diacritic.memory.kernels import gru as kernels

        if kernels.fits(weight.shape[1]):
            return kernels.states(entered, weight, bias)
    state, states = weight.new_zeros(len(weight), entered.shape[2], weight.shape[1]), []
    for incoming in entered.unbind(1):
        state = gated(parameters, state, incoming)
        states.append(state)
    return torch.stack(states, 1)


def _act(parameters: Parameters, state: Tensor) -> Tensor:
    return linear(parameters, "head.out", torch.relu(linear(parameters, "head.hidden", state)))


@register
class Gru(Memory):
    """A GRU policy: the state is the memory, and its own head acts on it."""

    name = "gru"
    acts = True
    shares = True

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        """Input net on (O_t, A_{t−1}), cell and head, all as wide as the state."""
        size, bound = architecture.state_size, architecture.state_size**-0.5
        parts = {"weight": Weight((size, 3 * size), scale=bound), "bias": Weight((3 * size,), scale=bound)}
        cell = {f"cell.{name}.{part}": weight for name in ("input", "state") for part, weight in parts.items()}
        head = dense("head.hidden", size, size) | dense("head.out", size, shape.action)
        return dense("input", shape.observation + shape.action, size) | cell | head

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> Tensor:
        kernel = parameters["cell.state.weight"]
        return kernel.new_zeros(len(kernel), rows, kernel.shape[1])

    def step(
        self, parameters: Parameters, architecture: Architecture, state: Tensor, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[Tensor, Record]:
        state = gated(parameters, state, _enter(parameters, inputs.observation, inputs.previous))
        return state, record(state, state, _act(parameters, state))

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        entered = _enter(parameters, episodes.observation.flatten(-3, -2), episodes.previous.flatten(-3, -2))
        rows = _states(parameters, entered.unflatten(1, episodes.observation.shape[-3:-1])).flatten(1, 2)
        return [record(rows, rows, _act(parameters, rows))]

    def unroll_histories(
        self, parameters: Parameters, architecture: Architecture, repeats: Repeats, flow: Flow = PLAYING
    ) -> Record:
        entered = repeats.levels(_enter(parameters, repeats.inputs.observation, repeats.inputs.previous))
        state, states = self.start(parameters, architecture, repeats.counts[0]), []
        for incoming, parent in zip(entered, repeats.parents, strict=True):
            state = gated(parameters, continued(state, parent), incoming)
            states.append(state)
        rows = torch.cat(states, 1)
        return record(rows, rows, _act(parameters, rows))


@register
class ChronoGru(Gru):
    """A GRU whose update gates start with lifetimes up to the horizon (Tallec and Ollivier 2018)."""

    name = "gru-chrono"

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        lifetime = Weight((architecture.state_size,), "log", max(2.0, shape.horizon - 1.0))
        return super().weights(shape, architecture) | {"cell.chrono": lifetime}

    def step(
        self, parameters: Parameters, architecture: Architecture, state: Tensor, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[Tensor, Record]:
        return super().step(_with_lifetimes(parameters), architecture, state, inputs, flow)

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        return super().unroll(_with_lifetimes(parameters), architecture, episodes, flow)

    def unroll_histories(
        self, parameters: Parameters, architecture: Architecture, repeats: Repeats, flow: Flow = PLAYING
    ) -> Record:
        return super().unroll_histories(_with_lifetimes(parameters), architecture, repeats, flow)


def _with_lifetimes(parameters: Parameters) -> Parameters:
    """The update gate's bias raised by log(lifetime)."""
    longer = torch.nn.functional.pad(parameters["cell.chrono"], (parameters["cell.chrono"].shape[-1],) * 2)
    return {**parameters, "cell.input.bias": parameters["cell.input.bias"] + longer}
