"""Weighted squared errors of every row in one pass each way, with one partial sum a program forward."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.launch import launch, tiles


@triton.jit
def _error(
    prediction,
    target,
    origins,
    apart,
    offset,
    weight,
    pull,
    into,
    rows,
    outputs,
    episodes,
    horizon,
    forecasts,
    strides,
    OUTPUTS: tl.constexpr,
    LATER: tl.constexpr,
    BACK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Weighted mean squared errors of a tile; or, with BACK, what flows into the predictions."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, OUTPUTS)[None, :]
    inside = row < rows
    share = tl.load(weight + run * rows + row, mask=inside, other=0.0) / outputs
    counted = inside
    source = tl.load(origins + run * apart + row, mask=inside, other=0)
    wanted = source[:, None] * outputs + column
    if LATER:
        ahead = tl.load(offset + run * rows + row, mask=inside, other=1)
        counted = inside & (source // episodes + ahead < horizon)
        wanted = (run % forecasts) * strides[0] + (source // episodes) * strides[1] + (source % episodes) * strides[2]
        wanted = (wanted + (ahead - 1) * strides[3])[:, None] + column * strides[4]
    shown = counted[:, None] & (column < outputs)
    here = (run * rows + row)[:, None] * outputs + column
    gap = tl.load(prediction + here, mask=shown, other=0.0)
    gap -= tl.load(target + wanted, mask=shown, other=0.0)
    if BACK:
        flow = 2 * tl.load(pull + run) * share[:, None] * gap
        tl.store(into + here, flow, mask=inside[:, None] & (column < outputs))
    else:
        tl.store(into + tl.program_id(0) * tl.num_programs(1) + run, tl.sum(tl.sum(gap * gap, 1) * share))


class SquaredError(torch.autograd.Function):
    """Σ_r w_r ‖p_r − y_r‖² / A, [S], from predictions p [S, R, A] and weights w [S, R].

    `origins` [S, R] says which row t·N + n of the data each row is. y is [T·N, A], the same for all runs; or, with
    offsets [S, R], the forecast [·, T, N, T − 1, A] or recorded action [T, N, A] at each row's, and those that lead
    beyond the end count nothing.
    """

    @staticmethod
    def forward(
        ctx, prediction: Tensor, target: Tensor, origins: Tensor, weight: Tensor, offset: Tensor | None = None
    ) -> Tensor:
        aim = target.contiguous() if offset is None else target  # a forecast is large, and never copied
        index = weight if offset is None else offset.contiguous()
        given = [prediction.contiguous(), aim, origins, index, weight.contiguous()]
        ctx.save_for_backward(*given)
        ctx.later = offset is not None
        S, R, _ = prediction.shape
        total = prediction.new_empty(tiles("error", R), S)
        _launch_error(given, total, total, ctx.later, False)
        return total.sum(0)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        given = ctx.saved_tensors
        into = torch.empty_like(given[0])
        _launch_error(given, flows[0].contiguous(), into, ctx.later, True)
        return into, None, None, None, None


def _launch_error(given: list[Tensor], pull: Tensor, into: Tensor, later: bool, back: bool) -> None:
    prediction, target, origins, offset, weight = given
    S, R, A = prediction.shape
    aim, forecasts, horizon, episodes, strides = later_targets(target) if later else (target, 1, 1, 1, (0,))
    sizes = {"OUTPUTS": 1 << (A - 1).bit_length(), "LATER": later, "BACK": back}
    shown = prediction, aim, origins, origins.stride(0), offset, weight
    arguments = *shown, pull, into, R, A, episodes, horizon, forecasts, strides
    launch("error", _error, (tiles("error", R), S), *arguments, **sizes)


def later_targets(target: Tensor) -> tuple[Tensor, int, int, int, tuple[int, ...]]:
    """Where ã_{t,j} of episode n lies: runs with their own, T, N, and the steps of run, t, n, j − 1 and dimension.

    From a forecast [·, T, N, T − 1, A]; or from recorded actions [T, N, A], of which the later one is that of t + j.
    """
    if target.dim() == 5:
        forecasts, horizon, episodes = target.shape[:3]
        return target, forecasts, horizon, episodes, target.stride()
    horizon, episodes, _ = target.shape
    later, episode, column = target.stride()
    return target[1:], 1, horizon, episodes, (0, later, episode, later, column)
