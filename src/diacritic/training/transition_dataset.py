"""The rows that a transition is fitted to: (code before, observation, previous action) → code, with its action."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.training.data import Data


@dataclass(frozen=True)
class TransitionDataset:
    """Rows of S runs. On a symbolic task every distinct row once; in a recording every step of every episode."""

    before: Tensor  # [S, rows]: C_{t−1}; K before the first step
    observation: Tensor  # [S, rows]: row of data.observation
    previous: Tensor  # [S, rows]: row of data.previous
    code: Tensor  # [S, rows]: C_t
    target: Tensor  # [S, rows, A]; on a symbolic task P(A_t | O_t, C_t) under the expert
    weight: Tensor  # [S, rows], sums to one; 0 where a run has fewer rows than others


def transition_dataset(data: Data, codes: Tensor, count: int) -> TransitionDataset:
    """The rows of given codes [S, T, N] out of `count`.

    Distinct rows of a symbolic task weigh alike, however rarely they are met: a row that a policy gets wrong once in
    ten thousand steps is wrong in every episode. Two codes after one and the same row are refused there.
    """
    if codes.shape[1:] != data.observation_index.shape:
        need = tuple(data.observation_index.shape)
        raise UserError("codes", f"have shape {tuple(codes.shape)}; expected [runs, {need[0]}, {need[1]}]")
    if int(codes.min()) < 0 or int(codes.max()) >= count:
        raise UserError("codes", f"reach from {int(codes.min())} to {int(codes.max())}; expected 0…{count - 1}")
    before = torch.cat([torch.full_like(codes[:, :1], count), codes[:, :-1]], 1)
    columns = [before, data.observation_index.expand_as(codes), data.previous_index.expand_as(codes), codes]
    every = torch.stack([column.flatten(1) for column in columns], -1)  # [S, T·N, 4]
    target = data.target.flatten(0, 1).expand(len(codes), -1, -1)
    if not data.shape.symbolic:
        weight = (data.weight / data.horizon).repeat(data.horizon).expand(len(codes), -1)
        before, seen, did, code = every.unbind(-1)
        return TransitionDataset(before, seen, did, code, target, weight)
    rows = [_distinct(run) for run in every]
    for run, table in enumerate(rows):
        _check_function(table, run)
    most = max(map(len, rows))
    padded = torch.stack([torch.cat([table, table[:1].expand(most - len(table), -1)]) for table in rows])
    weight = torch.stack(
        [data.weight.new_tensor([1 / len(table)] * len(table) + [0.0] * (most - len(table))) for table in rows]
    )
    laws = _laws(every, target, data, count)
    before, seen, did, code = padded.unbind(-1)
    index = (seen * count + code).unsqueeze(-1).expand(-1, -1, laws.shape[-1])
    return TransitionDataset(before, seen, did, code, laws.gather(1, index), weight)


def part(data: Data, dataset: TransitionDataset, rows: Tensor) -> tuple[Data, TransitionDataset]:
    """Some rows of a recording's dataset, all of equal weight, and the inputs that they read.

    All runs read the same inputs at the same row; only codes are their own.
    """
    seen, did = dataset.observation[0, rows], dataset.previous[0, rows]
    frames = None if data.frames is None else data.frames[seen]
    own = torch.arange(len(rows), device=rows.device).expand(len(dataset.code), -1)
    before, code, target = dataset.before[:, rows], dataset.code[:, rows], dataset.target[:, rows]
    weight = dataset.weight.new_full(code.shape, 1 / len(rows))
    some = TransitionDataset(before, own, own, code, target, weight)
    return replace(data, observation=data.observation[seen], previous=data.previous[did], frames=frames), some


def _distinct(rows: Tensor) -> Tensor:
    """The different rows of small non-negative numbers [rows, columns], each as one number while they are compared."""
    sizes = rows.amax(0) + 1
    stride = torch.cat([sizes[1:].flip(0).cumprod(0).flip(0), sizes.new_ones(1)])
    return torch.unique((rows * stride).sum(1)).unsqueeze(1) // stride % sizes


def _laws(every: Tensor, target: Tensor, data: Data, count: int) -> Tensor:
    """P(A | O, C) under the expert, [S, observations · codes, A]: all that a policy on (O_t, C_t) can learn."""
    share = data.weight.repeat(data.horizon).view(1, -1, 1)
    context = (every[..., 1] * count + every[..., 3]).unsqueeze(-1)
    size = len(every), len(data.observation) * count
    mass = share.new_zeros(*size, 1).scatter_add(1, context, share.expand(len(every), -1, -1))
    index = context.expand(-1, -1, target.shape[-1])
    laws = target.new_zeros(*size, target.shape[-1]).scatter_add(1, index, target * share)
    return laws / mass.clamp(min=torch.finfo(mass.dtype).tiny)


def _check_function(rows: Tensor, run: int) -> None:
    contexts, context = torch.unique(rows[:, :3], dim=0, return_inverse=True)
    low = rows.new_full((len(contexts),), 2**62).scatter_reduce(0, context, rows[:, 3], "amin")
    high = rows.new_zeros(len(contexts)).scatter_reduce(0, context, rows[:, 3], "amax")
    if bool((low != high).any()):
        k = int((low != high).nonzero()[0])
        before, seen, did = contexts[k].tolist()
        where = f"code {before}, observation {seen}, previous action {did}"
        raise UserError(f"codes[{run}]", f"{where} leads to code {int(low[k])} and to code {int(high[k])}; add codes")
