"""What an engine hands to the objectives: codes, proposals and features of all runs, with gradients attached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, linear, read
from diacritic.memory.quantise import look_up, straight_through
from diacritic.training.futures import Futures

if TYPE_CHECKING:
    from diacritic.training.kernels.fused import Heads
    from diacritic.training.kernels.narrow import NarrowHeads


@dataclass(frozen=True)
class Rows:
    """What each row of a trace stands for.

    Without `observation` a row is one step of one episode, t·N + n, and is its own observation. With it, a row is a
    distinct (previous code, observation, previous action), and `token` says in which row each step of each episode is.
    """

    horizon: int
    episodes: int
    observation: Tensor | None = None  # [runs, rows]
    token: Tensor | None = None  # [runs, T, N]
    drawn: Tensor | None = None  # which N of the data's episodes a run sees, [runs, N]; none: all of them
    ragged: bool = False  # steps weigh unequally, since some episodes end early
    law: Tensor | None = None  # number of the expert's law at each step, [T, N]; None: rows stay uncounted
    futures: Futures | None = None  # what comes after each step, where equal futures may be computed once


@dataclass(frozen=True)
class Trace:
    """Rows of S runs after one pass over the episodes; `weight` sums to one in each run."""

    parameters: Parameters  # heads; in the precision of the parallel part
    codebook: Tensor  # [runs, K, d]
    features: Tensor  # g_o, [runs, observations, width]
    side: Tensor  # what the prior reads, likewise
    proposal: Tensor  # ẽ, [runs, rows, d]
    embedding: Tensor  # e, straight-through, [runs, rows, d]
    code: Tensor  # C, [runs, rows]
    weight: Tensor  # [runs, rows]
    episode_weight: Tensor  # [runs, N]
    rows: Rows
    running: Tensor | None = None  # for its gradient: F of every step, [runs, T, N, d], where rows are contexts
    identification: Trace | None = None
    bits: Tensor | None = None  # Gaussian bottleneck: KL in nats, [runs, rows]
    actions: Tensor | None = None  # what a policy without a readout of (g_o, C) does, [runs, rows, A]
    prior_input: Tensor | None = None  # what the prior reads, where that is not `side`
    heads: Heads | NarrowHeads | None = None  # the fused kernels, which then read every head that they can
    draws: int | None = None  # of how many draws `episode_weight` is the share; none: it is a probability

    def spread(self, values: Tensor) -> Tensor:
        """Values per observation as values per row."""
        return values if self.rows.observation is None else look_up(values, self.rows.observation)

    def part(self, name: str, detached: bool = False) -> Tensor:
        """The observation part of a head's first layer, per row; detached, it teaches the head and not the encoder."""
        features = self.features.detach() if detached else self.features
        return self.spread(linear(self.parameters, f"{name}.observation", features))

    def read(self, name: str, detached: bool = False) -> Tensor:
        """A head's output on (g_o(O_t), C_t), per row."""
        if self.heads is not None and self.heads.reads(name) and not detached:
            return self.heads.read(name)
        code = self.embedding.detach() if detached else self.embedding
        return read(self.parameters, name, self.part(name, detached), code)

    def own(self, values: Tensor) -> Tensor:
        """Values of all episodes of the data, [runs or 1, T, ·, …], as values of those that each run sees."""
        return values if self.rows.drawn is None else own_episodes(values, self.rows.drawn)

    def by_draw(self, draws: int) -> Trace:
        """The same for heads that are told more than a row says: a column for every draw of an episode, not for all of
        them together."""
        count = (self.episode_weight * draws).round().long().cumsum(1)
        draw = torch.arange(draws, device=count.device).expand(len(count), -1).contiguous()
        column = torch.searchsorted(count, draw, right=True).clamp(max=count.shape[1] - 1)
        rows = self.rows
        share = torch.full_like(column, 1 / draws, dtype=self.episode_weight.dtype)
        seen = column if rows.drawn is None else rows.drawn.gather(1, column)
        given = {"episode_weight": share, "draws": None, "heads": None}
        if rows.token is not None:
            token = own_episodes(rows.token, column)
            running = None if self.running is None else own_episodes(self.running, column)
            return replace(self, rows=replace(rows, episodes=draws, token=token, drawn=seen), running=running, **given)
        own = {
            name: own_episodes(self.steps(getattr(self, name)), column).flatten(1, 2)
            for name in ("features", "embedding", "code")
        }
        return replace(self, rows=replace(rows, episodes=draws, drawn=seen), **own, **given)

    def until_the_end(self, mask: Tensor) -> Trace:
        """The same without the steps that come after an episode's end; `mask` is [T, N]."""
        weight = self.weight * self.own(mask.unsqueeze(0)).flatten(1).to(self.weight.dtype)
        second = None if self.identification is None else self.identification.until_the_end(mask)
        rows = replace(self.rows, ragged=True)
        return replace(self, weight=weight / weight.sum(1, keepdim=True), rows=rows, identification=second)

    def mean(self, values: Tensor) -> Tensor:
        """The weighted mean of a value per row: one number a run."""
        return (values * self.weight).sum(1)

    def targets(self, values: Tensor) -> Tensor:
        """Weighted sums over the steps of each row of values [T, N, ·]: [runs, rows, ·]."""
        size = values.shape[-1]
        if self.rows.token is None:
            return self.own(values.unsqueeze(0)).flatten(1, 2) * self.weight.unsqueeze(-1)
        weighted = values.unsqueeze(0) * (self.episode_weight / self.rows.horizon)[:, None, :, None]
        index = self.rows.token.flatten(1).unsqueeze(-1).expand(-1, -1, size)
        return values.new_zeros(*self.weight.shape, size).scatter_add(1, index, weighted.flatten(1, 2))

    def steps(self, values: Tensor) -> Tensor:
        """Values per row as values per step and episode: [runs, T, N, ·]."""
        if self.rows.token is None:
            return values.unflatten(1, (self.rows.horizon, self.rows.episodes))
        if values.dim() == 2:
            return values.gather(1, self.rows.token.flatten(1)).view(self.rows.token.shape)
        index = self.rows.token.flatten(1).unsqueeze(-1).expand(-1, -1, values.shape[-1])
        return values.gather(1, index).view(*self.rows.token.shape, -1)

    @property
    def step_features(self) -> Tensor:
        """g_o(O_t) of every step: [runs, T, N, width]."""
        return self.steps(self.spread(self.features))

    @property
    def step_embedding(self) -> Tensor:
        """e_t of every step with its own gradient: [runs, T, N, d]. Objectives that weigh steps unequally use this."""
        if self.running is None:
            return self.steps(self.embedding)
        hard = look_up(self.codebook, self.step_code.flatten(1)).view(self.running.shape)
        return straight_through(hard, self.running)

    @property
    def step_code(self) -> Tensor:
        """C_t of every step: [runs, T, N]."""
        return self.steps(self.code)

    @property
    def step_weight(self) -> Tensor:
        """The weight of one step of each episode: [runs, 1, N], or [runs, T, N] where some end early."""
        if self.rows.ragged:
            return self.steps(self.weight)
        return (self.episode_weight / self.rows.horizon).unsqueeze(1)

    def read_steps(self, name: str, extra: Tensor | None = None) -> Tensor:
        """A head on every step, with an extra term in its first layer: [runs, T, N, outputs]."""
        if self.heads is not None and self.heads.reads(name) and extra is None:
            return self.steps(self.heads.read(name))
        part = self.steps(self.part(name))
        part = part if extra is None else part + extra
        flat = read(self.parameters, name, part.flatten(1, 2), self.step_embedding.flatten(1, 2))
        return flat.unflatten(1, part.shape[1:3])

    def read_at(self, name: str, offset: Tensor) -> Tensor:
        """A head on every step that is told an offset [runs, T, N] by a vector of its own: [runs, T, N, outputs]."""
        if self.heads is not None and self.heads.reads(name):
            return self.steps(self.heads.read(name, offset.flatten(1)))
        told = look_up(self.offset_vectors(name), offset.flatten(1))
        return self.read_steps(name, told.view(*offset.shape, -1))

    def offset_vectors(self, name: str) -> Tensor:
        """What every offset adds to a head's first layer, [runs, T, width]."""
        vectors = self.parameters[f"{name}.offset"]
        return (
            vectors
            if f"{name}.told.weight" not in self.parameters
            else linear(self.parameters, f"{name}.told", vectors)
        )

    def prior_logits(self, name: str) -> Tensor:
        """log r(k | O) up to a constant for every code k, per observation: [runs, observations, K]."""
        if f"{name}.logits" in self.parameters:
            return self.parameters[f"{name}.logits"].unsqueeze(1).expand(-1, self.side.shape[1], -1)
        if self.heads is not None and self.heads.reads(name):
            return self.heads.logits(name)
        shown = self.side if self.prior_input is None else self.prior_input
        if f"{name}.table.weight" in self.parameters:
            return linear(self.parameters, f"{name}.table", shown)
        hidden = torch.relu(linear(self.parameters, f"{name}.hidden", shown))
        return linear(self.parameters, f"{name}.out", hidden)


def own_episodes(values: Tensor, drawn: Tensor) -> Tensor:
    """Values of all episodes, [runs or 1, T, ·, …], as values of those drawn in each run, [runs, N]."""
    index = drawn.view(len(drawn), 1, -1, *(1,) * (values.dim() - 3))
    spread = values.expand(len(index), *values.shape[1:])
    return spread.gather(2, index.expand(-1, values.shape[1], -1, *values.shape[3:]))


def row_weights(token: Tensor, episode_weight: Tensor, rows: int) -> Tensor:
    """How much of a run's weight each row carries."""
    share = (episode_weight / token.shape[1]).unsqueeze(1).expand(-1, token.shape[1], -1)
    return torch.zeros(len(token), rows, dtype=share.dtype, device=share.device).scatter_add(
        1, token.flatten(1), share.flatten(1)
    )


def step_trace(
    parameters: Parameters,
    episode_weight: Tensor,
    horizon: int,
    drawn: Tensor | None,
    codebook: Tensor,
    outputs: Iterable[Tensor],
    **more: Any,
) -> Trace:
    """A trace whose rows are the steps t·N + n of all episodes, or of those drawn; `outputs` are features to code."""
    features, side, proposal, embedding, code = outputs
    weight, rows = (episode_weight / horizon).repeat(1, horizon), Rows(horizon, episode_weight.shape[1], drawn=drawn)
    return Trace(parameters, codebook, features, side, proposal, embedding, code, weight, episode_weight, rows, **more)


def head_trace(
    parameters: Parameters,
    heads: Heads | NarrowHeads,
    episode_weight: Tensor,
    horizon: int,
    drawn: Tensor | None,
    codebook: Tensor,
    prior_input: Tensor | None = None,
) -> Trace:
    """What the kernels found, for the objectives."""
    outputs = heads.features, heads.features, heads.proposal, heads.embedding, heads.code
    given = parameters, episode_weight, horizon, drawn, codebook
    return step_trace(*given, outputs, heads=heads, prior_input=prior_input)
