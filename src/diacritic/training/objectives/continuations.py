"""Behavioural future sufficiency from every step, as the paper's authors released it, and its blind variant."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action
from diacritic.memory.layers import Parameters, Weight, dense, gru_cell, linear
from diacritic.memory.quantise import look_up
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.chains import follow
from diacritic.training.data import Data
from diacritic.training.distinct import distinct
from diacritic.training.futures import Futures, starts
from diacritic.training.objectives.base import discrepancy
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class EveryContinuation:
    """λ (1/T) Σ_t mean_{1 ≤ j < T − t} ℓ(q(A_{t+j} | C_t, O_t, A_t, O_{t+1}, …, O_{t+j})).

    A GRU starts from (g_o(O_t), e_t) of every step and reads what the episode really showed and did from there on.
    `blind`, it reads nothing more: the code must supply the whole future.
    """

    blind: bool = False
    world: bool = False
    """Also the observations O_{t+j}."""
    reach: int = 100
    """Largest j."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        width, features = architecture.width, architecture.feature_size
        layers = dense("bfs.start", features + architecture.code_size, width)
        for name, inputs in (("input", 2 * features), ("state", width)):  # as PyTorch's GRU starts
            layers[f"bfs.{name}.weight"] = Weight((inputs, 3 * width), scale=width**-0.5)
            layers[f"bfs.{name}.bias"] = Weight((3 * width,), scale=width**-0.5)
        layers |= dense("bfs.hidden", width, width) | dense("bfs.out", width, shape.action)
        if self.world:
            layers |= dense("bfs.world.hidden", width, width) | dense("bfs.world.out", width, shape.observation)
        return layers

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        if self.blind and (total := self._loss_on_unique_rows(trace, data)) is not None:
            return schedule.auxiliary * total
        alike = not self.blind and not self.world and data.horizon > 1
        if alike and trace.rows.futures is not None:
            return schedule.auxiliary * self._loss_of_futures(trace, data, trace.rows.futures)
        if alike and trace.heads is not None and data.horizon - 1 <= self.reach:
            from diacritic.training.kernels import continuations as kernels

            if kernels.fits(trace.heads, data):
                share = (trace.step_weight / self._left(data.horizon, trace.weight))[:, :-1]
                return schedule.auxiliary * kernels.loss(trace.heads, data, share)
        return schedule.auxiliary * (self.residual(trace, data) * trace.step_weight).sum((1, 2))

    def residual(self, trace: Trace, data: Data) -> Tensor:
        """The mean error of each step's continuation, [S, T, N]; the last step has none."""
        (S, T, N), parameters = trace.step_code.shape, trace.parameters
        features = trace.step_features
        hidden = torch.cat([features, trace.step_embedding.to(features.dtype)], -1).flatten(1, 2)
        hidden = torch.tanh(linear(parameters, "bfs.start", hidden))
        told = self._told(trace, data, features)
        actions = trace.own(data.target.unsqueeze(0)).flatten(1, 2)
        seen = trace.own(data.observation[data.observation_index].unsqueeze(0)).flatten(1, 2) if self.world else None
        total = trace.weight.new_zeros(S, T * N)
        for j in range(1, min(T, self.reach + 1)):
            going = (T - j) * N  # those that have j steps before them come first
            hidden = gru_cell(parameters, "bfs.state", told[:, j * N :], hidden[:, :going])
            symbolic = data.shape.symbolic
            error = discrepancy(_read(parameters, "bfs", hidden), actions[:, j * N :], symbolic)
            if seen is not None:
                error = error + discrepancy(_read(parameters, "bfs.world", hidden), seen[:, j * N :], symbolic)
            total = total + torch.nn.functional.pad(error.to(total.dtype), (0, T * N - going))
        return total.unflatten(1, (T, N)) / self._left(T, total)

    def _loss_of_futures(self, trace: Trace, data: Data, futures: Futures) -> Tensor:
        """The weighted sum of `residual`, each distinct future computed once."""
        parameters, code = trace.parameters, trace.step_code
        share = trace.step_weight / self._left(data.horizon, trace.weight)
        path = trace.step_embedding if trace.running is None else trace.running
        begun = starts(futures, code, trace.codebook, path, share.expand(code.shape), self.reach)
        acted = encode_action(parameters, data.previous)
        words = torch.cat([trace.features[:, futures.observation], acted[:, futures.previous]], -1)
        hidden = torch.cat([look_up(trace.features, begun.observation), begun.embedding], -1)
        hidden = torch.tanh(linear(parameters, "bfs.start", hidden))
        hidden = follow(parameters, "bfs.state", linear(parameters, "bfs.input", words), hidden, begun.chains)
        log_law = torch.log_softmax(_read(parameters, "bfs", hidden).mT.contiguous(), 1)  # fast along the many nodes
        return -(futures.law.T[:, begun.chains.word].transpose(0, 1) * log_law * begun.weight.unsqueeze(1)).sum((1, 2))

    def _loss_on_unique_rows(self, trace: Trace, data: Data) -> Tensor | None:
        """The same where chains read nothing: steps that begin alike follow one, and are taught what is so on average.

        One chain serves steps with one past, whose gradients flow on together, or with one future.
        """
        (T, N), futures, parameters = data.target.shape[:2], trace.rows.futures, trace.parameters
        if futures is None or T == 1:
            return None
        share = (trace.step_weight / self._left(T, trace.weight)).expand(-1, T, -1).flatten(1)
        rows = distinct(trace, (futures.cases if self.world else futures.law_cases).view(1, -1), share)
        if rows is None:
            return None
        example, order = rows.example.sort(1)  # those with most steps before them come first
        chain = order.argsort(1).gather(1, rows.kind)  # of each step's chain
        start = torch.cat([look_up(trace.features, rows.observation), rows.embedding], -1)
        hidden, total = torch.tanh(linear(parameters, "bfs.start", look_up(start, order))), share.new_zeros(len(order))
        blank, words = parameters["bfs.input.bias"].unsqueeze(1), len(futures.law)
        taught = {"bfs": futures.law} | ({"bfs.world": data.observation[futures.observation]} if self.world else {})
        for j in range(1, min(T, self.reach + 1)):
            steps = (T - j) * N
            going = int((example < steps).sum(1).max())
            hidden = gru_cell(parameters, "bfs.state", blank.expand(-1, going, -1), hidden[:, :going])
            met = chain[:, :steps] * words + futures.word[j:].flatten()
            weight = share.new_zeros(len(order), going * words).scatter_add_(1, met, share[:, :steps])
            weight = weight.unflatten(1, (going, words))
            for name, wanted in taught.items():
                log_law = torch.log_softmax(_read(parameters, name, hidden), -1)
                total = total - (weight @ wanted.to(weight.dtype) * log_law).sum((1, 2))
        return total

    def _left(self, steps: int, like: Tensor) -> Tensor:
        """How many later actions each step foretells, [T, 1]; 1 for the last, which foretells none."""
        return (steps - 1 - torch.arange(steps, device=like.device)).clamp(1, self.reach).to(like.dtype).unsqueeze(-1)

    def _told(self, trace: Trace, data: Data, features: Tensor) -> Tensor:
        """The GRU's input projection of every row, [S, T·N, 3 width]; blind, of blanks."""
        S, T, N, _ = features.shape
        if self.blind:
            return trace.parameters["bfs.input.bias"].unsqueeze(1).expand(-1, T * N, -1)
        previous = trace.own(data.previous[data.previous_index].unsqueeze(0)).flatten(1, 2)
        acted = encode_action(trace.parameters, previous if len(previous) == S else previous[0])
        rows = torch.cat([features.flatten(1, 2), acted.to(features.dtype)], -1)
        return linear(trace.parameters, "bfs.input", rows)


def _read(parameters: Parameters, name: str, hidden: Tensor) -> Tensor:
    return linear(parameters, f"{name}.out", torch.relu(linear(parameters, f"{name}.hidden", hidden)))
