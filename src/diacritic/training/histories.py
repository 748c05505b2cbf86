"""Symbolic tasks on the CPU, memories without tables: encoders once per distinct input, the rest once per history."""

import torch
from torch import Tensor

from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import Flow, Inputs
from diacritic.memory.quantise import code_vectors
from diacritic.memory.repeats import Repeats
from diacritic.memory.shape import Architecture
from diacritic.training.data import Data
from diacritic.training.trace import Rows, Trace, row_weights


def prepare(data: Data, window: int | None = None) -> Repeats:
    """What occurs again in the episodes; with a window, in so many steps of them."""
    pairs, shown = torch.unique(
        torch.stack([data.observation_index.flatten(), data.previous_index.flatten()]), dim=1, return_inverse=True
    )
    shown = shown.view_as(data.observation_index)
    inputs = Inputs(data.observation[pairs[0]], data.previous[pairs[1]])
    if window is not None:
        return _windows(inputs, shown, pairs.shape[1], window)
    number, tokens, parents, last, examples, counts = torch.zeros_like(shown[0]), [], [], [], [], []
    for t, now in enumerate(shown):
        distinct, number = torch.unique(torch.stack([number, now]), dim=1, return_inverse=True)
        same = t == 0 or torch.equal(distinct[0], torch.arange(counts[-1]))
        parents.append(None if same else distinct[0])
        last.append(distinct[1])
        tokens.append(number + sum(counts))
        counts.append(distinct.shape[1])
        examples.append(torch.zeros(counts[-1], dtype=torch.long).scatter_(0, number, torch.arange(len(now))))
        examples[-1] += t * len(now)
    token = torch.stack(tokens)
    return Repeats(inputs, shown, torch.cat(last), tuple(counts), tuple(parents), token, torch.cat(examples))


def _windows(inputs: Inputs, shown: Tensor, count: int, steps: int) -> Repeats:
    """Histories that end with the same steps as one; the number of inputs stands for a step before the first."""
    before = torch.nn.functional.pad(shown, (0, 0, steps - 1, 0), value=count)
    windows, token = torch.unique(before.unfold(0, steps, 1).flatten(0, 1), dim=0, return_inverse=True)
    example = torch.zeros(len(windows), dtype=torch.long).scatter_(0, token, torch.arange(len(token)))
    return Repeats(inputs, shown, windows[:, -1], (len(windows),), (None,), token.view_as(shown), example, windows)


def trace(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    repeats: Repeats,
    episode_weight: Tensor,
    gradient: str = "full",
) -> Trace:
    """The reference engine's pass; rows are the distinct histories."""
    memory = memory_of(architecture)
    record = memory.unroll_histories(parameters, architecture, repeats, Flow(gradient))
    runs = len(record.embedding)
    token = repeats.token.expand(runs, -1, -1)
    observation = None if memory.acts else repeats.last.expand(runs, -1)  # otherwise features are the state's
    codebook = parameters.get("codebook", record.embedding.new_zeros(runs, 1, 1))
    return Trace(
        parameters,
        code_vectors(codebook, architecture.bound),
        record.features,
        record.side,
        record.proposal,
        record.embedding,
        record.code,
        row_weights(token, episode_weight, len(repeats.last)),
        episode_weight,
        Rows(data.horizon, data.episodes, observation, token),
        actions=record.actions,
        prior_input=record.prior_input,
    )
