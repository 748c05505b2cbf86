"""Behavioural future sufficiency (BFS): every prefix of a continuation from a frozen code."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action
from diacritic.memory.layers import Weight, dense, gru_cell, linear
from diacritic.memory.quantise import look_up
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import discrepancy
from diacritic.training.schedule import STREAMS, Schedule
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
        layers |= dense("bfs.input", 2 * architecture.feature_size, 3 * width) | dense("bfs.state", width, 3 * width)
        return layers | dense("bfs.out", width, shape.action)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        T, N, parameters = data.horizon, trace.rows.episodes, trace.parameters
        start = schedule.integers(STREAMS["bfs"], T, self.starts * data.episodes)
        start = trace.own(start.unflatten(1, (self.starts, -1))).flatten(1)
        episode = torch.arange(N, device=start.device).repeat(self.starts).expand_as(start)
        number = trace.own(torch.arange(data.episodes, device=start.device).view(1, 1, -1)).expand(len(start), -1, -1)
        number = number[:, 0].gather(1, episode)  # of the data's episodes
        share = trace.episode_weight.repeat(1, self.starts) / self.starts
        code = look_up(trace.step_embedding.flatten(1, 2), start * N + episode)
        fixed = start.is_cuda  # a program that is recorded once has one size
        if not fixed:
            start, order = start.sort(1)  # those that have the longest way come first
            episode, number, share = (values.gather(1, order) for values in (episode, number, share))
            code = look_up(code, order)
        hidden = torch.tanh(linear(parameters, "bfs.start", code))
        total = torch.zeros_like(trace.weight[:, 0])
        left = (T - start).to(trace.weight.dtype)
        inputs = _Inputs.of(trace, data)
        for j in range(T):
            inside = start + j < T
            if not fixed:
                going = int(inside.sum(1).max())
                start, episode, number, share, left, inside, hidden = (
                    values[:, :going] for values in (start, episode, number, share, left, inside, hidden)
                )
            step = (start + j).clamp(max=T - 1)
            row = step * data.episodes + number
            hidden = gru_cell(parameters, "bfs.state", inputs.at(step * N + episode, row), hidden)
            prediction = linear(parameters, "bfs.out", hidden).to(trace.weight.dtype)
            error = discrepancy(prediction, data.target.flatten(0, 1)[row], data.shape.symbolic)
            total = total + (error * inside.to(error.dtype) / left * share).sum(1)
        return schedule.auxiliary * total


@dataclass(frozen=True)
class _Inputs:
    """The GRU's input projection of (g_o(O_t), g_a(A_{t−1})): of every observation and of every action, to be added."""

    seen: Tensor  # [S, observations, 3 width]
    did: Tensor  # [S, actions, 3 width]
    observation: Tensor | None  # of each step of the data; none: every step is its own
    previous: Tensor  # likewise

    @staticmethod
    def of(trace: Trace, data: Data) -> "_Inputs":
        weight, bias = (trace.parameters[f"bfs.input.{which}"] for which in ("weight", "bias"))
        first, second = weight.chunk(2, 1)
        acted = encode_action(trace.parameters, data.previous)
        seen = torch.baddbmm(bias.unsqueeze(1), trace.features.to(weight.dtype), first)
        own = trace.rows.observation is None
        observation = None if own else data.observation_index.flatten()
        return _Inputs(seen, torch.bmm(acted, second), observation, data.previous_index.flatten())

    def at(self, own: Tensor, row: Tensor) -> Tensor:
        """At the steps t·N + n, [S, M], of the episodes that a run sees, which are rows of the data."""
        shown = own if self.observation is None else self.observation[row]
        return look_up(self.seen, shown) + look_up(self.did, self.previous[row])
