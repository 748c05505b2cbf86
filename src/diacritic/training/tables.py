"""Symbolic tasks: f, heads and prior once per distinct (code, symbol, previous action); the scan is a table look-up.

Steps that share all three may still be taught different actions, and then their gradients differ: the expert's law is
part of what makes a row distinct.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action, observe, prior_input
from diacritic.memory.layers import Parameters, hidden_layers, linear
from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import SMALLEST, bounded, code_vectors, look_up, nearest, straight_through
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import carried_vectors, first_vector
from diacritic.training.data import Data
from diacritic.training.flow import Path, Track
from diacritic.training.futures import Futures
from diacritic.training.scaffold import Histories, codes, histories, push
from diacritic.training.trace import Rows, Trace, row_weights


@dataclass(frozen=True)
class Tables:
    """Distinct (observation, previous action, expert's law): those that open an episode, then all later ones."""

    observation: Tensor  # [pairs]
    previous: Tensor  # [pairs]
    opening: int  # how many pairs open an episode
    pair: Tensor  # [T, N]; later steps count from the first later pair
    law: Tensor  # number of the expert's law, [T, N]
    futures: Futures

    @cached_property
    def histories(self) -> Histories:
        """What the rows are while a scaffold stands."""
        return histories(self.futures)

    def count(self, codes: int) -> int:
        """How many contexts exist with so many codes."""
        return self.opening + codes * (len(self.observation) - self.opening)

    def contexts(self, codes: int) -> Tensor:
        """Code (K: none yet), observation and previous action of every row: [3, rows].

        Opening pairs meet no code; every later pair meets every code.
        """
        later = len(self.observation) - self.opening
        code = torch.arange(codes, device=self.pair.device).repeat_interleave(later)
        code = torch.cat([torch.full_like(self.observation[: self.opening], codes), code])
        pairs = torch.stack([self.observation, self.previous])
        return torch.cat(
            [code.unsqueeze(0), torch.cat([pairs[:, : self.opening], pairs[:, self.opening :].repeat(1, codes)], 1)]
        )


def prepare(data: Data) -> Tables:
    """Which of them occur, and where."""
    laws, law = torch.unique(data.target.flatten(0, 1), dim=0, return_inverse=True)
    law, width = law.view_as(data.previous_index), len(data.previous) * len(laws)
    key = data.observation_index * width + data.previous_index * len(laws) + law
    first, opening = torch.unique(key[0], return_inverse=True)
    later, after = torch.unique(key[1:], return_inverse=True)
    pairs = torch.cat([first, later])
    pair = torch.cat([opening.unsqueeze(0), after.view_as(key[1:])])
    words, word = torch.unique(key, return_inverse=True)
    futures = Futures(words // width, words % width // len(laws), word, laws[words % len(laws)])
    return Tables(pairs // width, pairs % width // len(laws), len(first), pair, law, futures)


def trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    tables: Tables,
    episode_weight: Tensor,
    full: bool = False,
    strength: Tensor | float = 0.0,
) -> Trace:
    """One pass with the carousel gradient or the full one; rows are the distinct contexts that the episodes visit.

    While a scaffold stands with some `strength` α, they are distinct histories, which decide what it adds.
    """
    codebook, bound = code_vectors(parameters["codebook"], architecture.bound), architecture.bound
    shown = Inputs(data.observation, data.previous)
    features = observe(parameters, shown)
    seen = linear(parameters, "residual.observation", features)
    moved = linear(parameters, "residual.action", encode_action(parameters, data.previous))
    carried = carried_vectors(parameters, architecture).detach()  # no code yet comes last
    carried = carried if architecture.persistent else torch.zeros_like(carried)
    entering = linear(parameters, "residual.code", carried)
    pushed, counted = None, not carried.is_cuda
    if architecture.path == "scaffold" and float(strength) > 0:
        pushed = push(parameters, features, data.previous, tables.futures, tables.histories, strength)
        met, code, token = _after_histories(parameters, architecture, tables, (carried, seen, moved), pushed)
    else:
        context = tables.contexts(architecture.codes)  # (code, observation, previous action) of every row
        with torch.no_grad():
            driven = entering[:, context[0]] + seen[:, context[1]] + moved[:, context[2]]
            residual = linear(parameters, "residual.out", hidden_layers(parameters, "residual", driven)[-1])
            code = nearest(bounded(carried[:, context[0]] + residual, bound), codebook)
            every = _follow(code, tables)
            token, chosen = _visited(every, code.shape[1]) if counted else (every, None)
        met = context.unsqueeze(1).expand(-1, len(code), -1) if chosen is None else context[:, chosen]  # [3, S, rows]
        code = code if chosen is None else code.gather(1, chosen)
    layers = hidden_layers(
        parameters, "residual", look_up(entering, met[0]) + look_up(seen, met[1]) + look_up(moved, met[2])
    )
    residual = linear(parameters, "residual.out", layers[-1])
    residual = residual if pushed is None else residual + pushed
    moving = look_up(carried, met[0]) + residual.detach()
    value = bounded(moving, bound)
    weight = row_weights(token, episode_weight, code.shape[1])
    whole = weight.clamp(min=torch.finfo(weight.dtype).tiny).gather(1, token.flatten(1)).view(token.shape)
    share = (episode_weight / data.horizon).unsqueeze(1) / whole
    rows = Rows(data.horizon, data.episodes, met[1], token)
    if counted:  # sizes differ from update to update, and so may those of distinct readings
        rows = replace(rows, law=tables.law, futures=tables.futures)
    track = Track(token, share, architecture.persistent)
    if bound == "tanh":
        track = replace(track, factor=1 - value.square())
    elif bound == "sphere":
        track = replace(track, factor=1 / moving.norm(dim=-1, keepdim=True).clamp(min=SMALLEST), sphere=value)
    if full:
        after = [f"residual.hidden{k}" for k in range(1, len(layers))] + ["residual.out"]
        active = [(layer.detach() > 0).to(value.dtype) for layer in layers]
        weights = [parameters[f"{name}.weight"].detach() for name in after]
        track = replace(track, layers=tuple(zip(active, weights, strict=True))[::-1])
        track = replace(track, entering=parameters["residual.code.weight"].detach())
    path, running = Path.apply(residual, first_vector(parameters, architecture), track)
    return Trace(
        parameters,
        codebook,
        features,
        features,
        straight_through(value, path),
        straight_through(look_up(codebook, code), path),
        code,
        weight,
        episode_weight,
        rows,
        running,
        prior_input=None if architecture.prior_reads == "features" else prior_input(architecture, shown, features),
    )


def _after_histories(
    parameters: Parameters, architecture: Architecture, tables: Tables, parts: tuple[Tensor, ...], pushed: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(Code, observation, previous action) and code of all histories, [3, S, R] and [S, R]; where each step is."""
    (carried, seen, moved), every, futures = parts, tables.histories, tables.futures
    word = every.chains.word[0]
    observation, previous = futures.observation[word], futures.previous[word]
    driven = seen[:, observation] + moved[:, previous]
    before, code = codes(parameters, architecture, carried, driven, pushed, every)
    met = torch.stack([before, observation.expand_as(before), previous.expand_as(before)])
    return met, code, every.token.expand(len(code), -1, -1)


def _follow(code: Tensor, tables: Tables) -> Tensor:
    """The row of every step of every episode, [runs, T, N]: look the next code up, again and again."""
    row = tables.pair[0].expand(len(code), -1)
    rows, later = [row], len(tables.observation) - tables.opening
    for pair in tables.pair[1:]:
        row = code.gather(1, row) * later + (pair + tables.opening)
        rows.append(row)
    return torch.stack(rows, 1)


def _visited(token: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Only the rows that some step is in, at most as many as the busiest run needs: new numbers, and the old ones."""
    met = torch.zeros(len(token), rows, dtype=torch.bool).scatter_(1, token.flatten(1), True)
    number = met.cumsum(1) - 1
    most = int(number[:, -1].max()) + 1
    chosen = torch.zeros(len(token), most, dtype=torch.long)
    run, row = met.nonzero(as_tuple=True)
    chosen[run, number[run, row]] = row
    return number.gather(1, token.flatten(1)).view_as(token), chosen
