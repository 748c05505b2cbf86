"""Random numbers by counting in one kernel: the same bits as `training.randomness` computes in some thirty passes."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.launch import launch, tiles


@triton.jit
def _mix(x):
    for k in tl.static_range(2):  # pyright: ignore[reportGeneralTypeIssues]
        x = ((x ^ (x >> 16)) * (0x7FEB352D if k == 0 else 0x46D9F3B3)) & 0xFFFFFFFF
        x = x ^ (x >> 15)
    return x ^ (x >> 16)


@triton.jit
def _uniform(seeds, step, into, count, stream, ROWS: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    index = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    # As a vector, since products of a single number are not 64 bits wide everywhere.
    seed = tl.load(seeds + run + index * 0)
    key = _mix((seed + tl.load(step + index * 0) * 0x9E3779B1 + stream) & 0xFFFFFFFF)
    bits = _mix(key ^ ((index * 0xC2B2AE35) & 0xFFFFFFFF))
    tl.store(into + run * count + index, (bits >> 8).to(tl.float32) * 5.9604644775390625e-08, mask=index < count)


def uniform_cuda(seeds: Tensor, step: Tensor, stream: int, shape: tuple[int, ...]) -> Tensor:
    """Numbers in [0, 1) of shape [runs, *shape], in fp32, from int64 seeds [runs] and the int64 scalar of the step."""
    drawn = torch.empty(len(seeds), *shape, device=seeds.device)
    count = drawn[0].numel()
    arguments = seeds.contiguous(), step, drawn, count, stream * 0x85EBCA6B & 0xFFFFFFFF
    launch("uniform", _uniform, (tiles("uniform", count), len(seeds)), *arguments)
    return drawn
