"""Behavioural future sufficiency (BFS): every prefix of a continuation from a frozen code."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.carrier.layers import Weight, dense, linear
from diacritic.carrier.shape import Architecture, Shape
from diacritic.training.clock import STREAMS, Clock
from diacritic.training.data import Data
from diacritic.training.objectives.base import discrepancy
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class FutureSufficiency:
    """λ E_t[mean_{j≥0} ℓ(q(A_{t+j} | C_t, O_t, A_t, O_{t+1}, …, O_{t+j}))].

    A GRU starts from the code of a drawn step and reads what the episode really showed and did from there on, so that
    the code need only supply what those observations do not.
    """

    starts: int = 2
    """Drawn steps for each episode."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        width = architecture.width
        layers = dense("bfs.start", architecture.code_size, width)
        layers |= dense("bfs.input", 2 * width, 3 * width) | dense("bfs.state", width, 3 * width)
        return layers | dense("bfs.out", width, shape.action)

    def loss(self, trace: Trace, data: Data, clock: Clock) -> Tensor:
        T, N, parameters = data.horizon, data.episodes, trace.parameters
        start = clock.integers(STREAMS["bfs"], T, self.starts * N)
        episode = torch.arange(N, device=start.device).repeat(self.starts)
        acted = torch.relu(linear(parameters, "previous", data.previous))
        inputs = _inputs(trace, data, acted)
        code = _take(trace.step_embedding, start, episode)
        hidden = torch.tanh(linear(parameters, "bfs.start", code))
        total = torch.zeros_like(trace.weight[:, 0])
        left = (T - start).to(trace.weight.dtype)
        share = trace.episode_weight.repeat(1, self.starts) / self.starts
        for j in range(T):
            time = (start + j).clamp(max=T - 1)
            hidden = _gru(_take(inputs, time, episode), linear(parameters, "bfs.state", hidden), hidden)
            prediction = linear(parameters, "bfs.out", hidden).to(trace.weight.dtype)
            error = discrepancy(prediction, data.target[time, episode], data.shape.symbolic)
            total = total + (error * (start + j < T).to(error.dtype) / left * share).sum(1)
        return clock.auxiliary * total


def _inputs(trace: Trace, data: Data, acted: Tensor) -> Tensor:
    """The GRU's input projection of (g_o(O_t), g_a(A_{t−1})) at every step: [S, T, N, 3 width]."""
    before = acted[:, data.previous_index.flatten()].unflatten(1, data.previous_index.shape)
    joined = torch.cat([trace.step_features, before], -1)
    return linear(trace.parameters, "bfs.input", joined.flatten(1, 2)).unflatten(1, data.previous_index.shape)


def _take(values: Tensor, time: Tensor, episode: Tensor) -> Tensor:
    """values[s, time[s, m], episode[m]]: [S, M, ·]."""
    place = (time * values.shape[2] + episode).unsqueeze(-1).expand(-1, -1, values.shape[-1])
    return values.flatten(1, 2).gather(1, place)


def _gru(inputs: Tensor, recurrent: Tensor, hidden: Tensor) -> Tensor:
    reset, update, new = inputs.chunk(3, -1)
    reset_h, update_h, new_h = recurrent.chunk(3, -1)
    gate = torch.sigmoid(update + update_h)
    return gate * hidden + (1 - gate) * torch.tanh(new + torch.sigmoid(reset + reset_h) * new_h)
