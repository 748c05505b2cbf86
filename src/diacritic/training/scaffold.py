"""The continuous path of a scaffold on symbolic tasks: it reads inputs alone, so each distinct history is read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action
from diacritic.memory.layers import Parameters, hidden_layers, linear
from diacritic.memory.quantise import bounded, code_vectors, look_up, nearest
from diacritic.memory.shape import Architecture
from diacritic.training.chains import Chains, follow

if TYPE_CHECKING:
    from diacritic.training.futures import Futures


@dataclass(frozen=True)
class Histories:
    """Distinct histories of words, shortest first; in `chains` each is a node, and each episode is a chain."""

    chains: Chains
    parent: Tensor  # the history without its last word, [histories]; −1 where that has no words
    token: Tensor  # the history of each step, [T, N]
    last: list[Tensor] = field(default_factory=list)
    """Codes before each history in the last pass, the first guess of the next."""


def histories(futures: Futures) -> Histories:
    """All histories that some episode has."""
    T, N = futures.word.shape
    number, token, parent, word, counts = torch.zeros_like(futures.word[0]), [], [], [], []
    for now in futures.word:
        distinct, number = torch.unique(torch.stack([number, now]), dim=1, return_inverse=True)
        parent.append(distinct[0])
        word.append(distinct[1])
        token.append(number + sum(counts))
        counts.append(distinct.shape[1])
    node = torch.stack(token)
    longer = [number + sum(counts[:t]) for t, number in enumerate(parent[1:])]
    ancestor = torch.cat([torch.full_like(parent[0], -1), *longer])
    often = torch.bincount(node.flatten()).to(futures.law.dtype)
    links = [
        part.unsqueeze(0) for part in (torch.cat(parent), torch.cat(word), node.flatten(), (1 / often)[node].flatten())
    ]
    return Histories(Chains((N,) * T, tuple(counts), *links), ancestor, node)


def push(
    parameters: Parameters,
    features: Tensor,
    previous: Tensor,
    futures: Futures,
    every: Histories,
    strength: Tensor | float,
) -> Tensor:
    """What the path adds to the proposal after every history, [S, histories, d]."""
    runs, chains = len(features), every.chains
    acted = encode_action(parameters, previous)
    words = torch.cat([features[:, futures.observation], acted[:, futures.previous]], -1)
    start = features.new_zeros(runs, chains.links[0], parameters["path.state.weight"].shape[1])
    told = linear(parameters, "path.input", words)
    return strength * linear(
        parameters, "path.out", follow(parameters, "path.state", told, start, chains.of_runs(runs))
    )


@torch.no_grad()
def codes(
    parameters: Parameters,
    architecture: Architecture,
    carried: Tensor,
    driven: Tensor,
    pushed: Tensor,
    every: Histories,
) -> tuple[Tensor, Tensor]:
    """Codes before and after every history, [S, histories], from the vectors that a step may start from (none comes
    last), the driven part of f's first layer, and what the path adds.

    All histories take their step at once, from the codes of the pass before; then again those, and those alone, that
    started from a wrong code, until none did. Where a pass begins is of no consequence for where it ends.
    """
    codebook, none = code_vectors(parameters["codebook"], architecture.bound), carried.shape[1] - 1
    entering, parent = linear(parameters, "residual.code", carried), every.parent
    start = torch.full((len(carried), 1), none)
    before = every.last[-1] if every.last and len(every.last[-1]) == len(carried) else start.expand(-1, len(parent))
    code, wrong = torch.zeros_like(before), torch.arange(len(parent))
    while len(wrong):
        held = before[:, wrong]
        layers = hidden_layers(parameters, "residual", driven[:, wrong] + look_up(entering, held))
        residual = linear(parameters, "residual.out", layers[-1]) + pushed[:, wrong]
        code[:, wrong] = nearest(bounded(look_up(carried, held) + residual, architecture.bound), codebook)
        now = torch.cat([code, start], 1)[:, parent]
        wrong = (now != before).any(0).nonzero().flatten()
        before = now
    every.last[:] = [before]
    return before, code
