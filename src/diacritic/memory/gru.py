"""GRU policies: a continuous recurrent state and no bottleneck, the reference for small memories (128, 8 or 4)."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.shape import Architecture, Shape


def weights(inputs: int, actions: int, outputs: int, state: int = 128, width: int | None = None) -> dict[str, Weight]:
    """Input net on (O_t, A_{t−1}), cell and head; all are as wide as the state unless `width` says otherwise."""
    width = width or state
    bound = state**-0.5
    return {
        **dense("input", inputs + actions, width),
        "cell.input.weight": Weight((width, 3 * state), scale=bound),
        "cell.input.bias": Weight((3 * state,), scale=bound),
        "cell.state.weight": Weight((state, 3 * state), scale=bound),
        "cell.state.bias": Weight((3 * state,), scale=bound),
        **dense("head.hidden", state, width),
        **dense("head.out", width, outputs),
    }


def start(parameters: Parameters, episodes: int) -> Tensor:
    """The state before the first step: zeros [runs, N, state]."""
    kernel = parameters["cell.state.weight"]
    return kernel.new_zeros(len(kernel), episodes, kernel.shape[1])


def step(parameters: Parameters, state: Tensor, observation: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
    """One step of all episodes: (state, action [runs, N, outputs]).

    `observation` [N, inputs] and the `previous` action [N, actions] (zeros at first) may have a leading axis of runs.
    """
    state = gated(parameters, state, _enter(parameters, observation, previous))
    return state, _act(parameters, state)


def unroll(parameters: Parameters, observations: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
    """Whole sequences [T, N, ·] or [runs, T, N, ·] to (states, actions) [runs, T, N, ·]; only the cell is a loop."""
    steps, episodes = observations.shape[-3:-1]
    entered = _enter(parameters, observations.flatten(-3, -2), previous.flatten(-3, -2))
    state = start(parameters, episodes)
    states = []
    for incoming in entered.unflatten(1, (steps, episodes)).unbind(1):
        state = gated(parameters, state, incoming)
        states.append(state)
    trace = torch.stack(states, 1)
    return trace, _act(parameters, trace.flatten(1, 2)).unflatten(1, (steps, episodes))


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


def _act(parameters: Parameters, state: Tensor) -> Tensor:
    return linear(parameters, "head.out", torch.relu(linear(parameters, "head.hidden", state)))


@register
class Gru(Memory):
    """A GRU policy: the state is the memory, and its own head acts on it."""

    name = "gru"
    acts = True

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return weights(shape.observation, shape.action, shape.action, architecture.state_size)

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> Tensor:
        return start(parameters, rows)

    def step(
        self, parameters: Parameters, architecture: Architecture, state: Tensor, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[Tensor, Record]:
        after, actions = step(parameters, state, inputs.observation, inputs.previous)
        return after, _record(after, actions)

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        states, actions = unroll(parameters, episodes.observation, episodes.previous)
        return [_record(states.flatten(1, 2), actions.flatten(1, 2))]


def _record(state: Tensor, actions: Tensor) -> Record:
    no_code = torch.zeros(state.shape[:2], dtype=torch.long, device=state.device)
    return Record(state, state, state, state, no_code, actions=actions)


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


def _with_lifetimes(parameters: Parameters) -> Parameters:
    """The update gate's bias raised by log(lifetime)."""
    longer = torch.nn.functional.pad(parameters["cell.chrono"], (parameters["cell.chrono"].shape[-1],) * 2)
    return {**parameters, "cell.input.bias": parameters["cell.input.bias"] + longer}
