"""Random numbers by counting: a value depends on (seed, stream, step, place) alone, on any device, in any cohort."""

import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from diacritic.memory.layers import Weight

_MASK = 0xFFFFFFFF
_STEP, _STREAM, _PLACE = 0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35


def initial(
    weights: Mapping[str, Weight], seeds: Sequence[int], dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Parameters of all runs; each has its own stream, so that one more head changes nothing else."""
    return {
        name: torch.stack([_draw(name, weight, seed) for seed in seeds]).to(dtype) for name, weight in weights.items()
    }


def uniform(seeds: Tensor, step: Tensor | int, stream: int, shape: tuple[int, ...]) -> Tensor:
    """Numbers in [0, 1) of shape [runs, *shape]; `seeds` is an int64 tensor of the runs."""
    if seeds.is_cuda and isinstance(step, Tensor):
        from diacritic.training.kernels.draw import uniform_cuda

        return uniform_cuda(seeds, step, stream, shape)
    count = int(np.prod(shape, dtype=np.int64))
    index = torch.arange(count, device=seeds.device, dtype=torch.int64)
    key = _mix((seeds + step * _STEP + stream * _STREAM) & _MASK)
    bits = _mix((key.unsqueeze(1) ^ ((index * _PLACE) & _MASK)) & _MASK)
    return ((bits >> 8).to(torch.float32) * 2.0**-24).view(len(seeds), *shape)


def normal(values: Tensor) -> Tensor:
    """Standard normal numbers from pairs of uniform ones, [S, 2, …], by Box and Muller: [S, …]."""
    values = values.clamp(min=2.0**-25)
    return (-2 * values[:, 0].log()).sqrt() * (2 * torch.pi * values[:, 1]).cos()


def _mix(x: Tensor) -> Tensor:
    """A 32-bit finaliser (two multiply–xorshift rounds and a third) on int64 lanes; products stay below 2^63."""
    for factor in (0x7FEB352D, 0x46D9F3B3):
        x = ((x ^ (x >> 16)) * factor) & _MASK
        x = x ^ (x >> 15)
    return x ^ (x >> 16)


def _draw(name: str, weight: Weight, seed: int) -> Tensor:
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**63 - 1), zlib.crc32(name.encode())]))
    if weight.start in ("zero", "one"):
        return torch.full(weight.shape, float(weight.start == "one"), dtype=torch.float64)
    if weight.start == "normal":
        return torch.from_numpy(weight.scale * generator.standard_normal(weight.shape))
    if weight.start == "log":
        return torch.from_numpy(np.log(generator.uniform(1, weight.scale, weight.shape)))
    return torch.from_numpy(generator.uniform(-weight.scale, weight.scale, weight.shape))
