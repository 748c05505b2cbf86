"""Adam's step for all runs in one pass over the buffers; `training.optimiser` says what it computes."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.launch import launch, tiles


@triton.jit
def _adam(
    flat,
    gradient,
    mean,
    square,
    factor,
    frozen,
    rate,
    floor,
    size,
    clipped,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    index = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = index < size
    scaled = index < clipped
    index = run * size + index
    flow = tl.load(gradient + index, mask=inside, other=0.0)
    flow = tl.where(scaled, flow * tl.load(factor + run), flow)
    flow = tl.where(tl.load(frozen + run) != 0, 0.0, flow)
    first = tl.load(mean + index, mask=inside, other=0.0)
    first += (1 - FIRST) * (flow - first)
    second = SECOND * tl.load(square + index, mask=inside, other=0.0) + (1 - SECOND) * flow * flow
    step = tl.load(rate + run) * first / (tl.sqrt(second) + tl.load(floor + run))
    tl.store(gradient + index, flow, mask=inside)
    tl.store(mean + index, first, mask=inside)
    tl.store(square + index, second, mask=inside)
    tl.store(flat + index, tl.load(flat + index, mask=inside, other=0.0) - step, mask=inside)


def descend_cuda(
    buffers: tuple[Tensor, Tensor, Tensor, Tensor],
    factor: Tensor,
    frozen: Tensor,
    rate: Tensor,
    floor: Tensor,
    betas: tuple[float, float],
    clipped: int,
) -> None:
    """Update parameters, gradient, mean and square [S, P] in place, with numbers of each run [S].

    The gradient's first `clipped` columns are scaled by `factor`, and all of it is zero in a frozen run; `rate` and
    `floor` hold the corrections of the bias.
    """
    S, P = buffers[0].shape
    numbers = *buffers, factor, frozen.view(torch.uint8), rate, floor, P, clipped
    launch("adam", _adam, (tiles("adam", P), S), *numbers, FIRST=betas[0], SECOND=betas[1])
