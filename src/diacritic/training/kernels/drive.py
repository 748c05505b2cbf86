"""What drives the code scan, W_o g_o(O_t) + W_a g_a(A_{t−1}) + b, in one kernel at the precision of fp32.

The tensor cores have no fp32, so wide products take each factor as a sum of two halves, x ≈ high + low in fp16 with 22
bits together: high·high + high·low + low·high, accumulated in fp32. Powers of two keep the low halves normal numbers.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.launch import SIZES, launch, padded, tiles
from diacritic.memory.layers import Parameters
from diacritic.training.kernels.encoder import origin

ACTIVATION, WEIGHT = 8.0, 256.0
"""Factors on activations and weights before they are halved: activations may reach 8,000 and weights 250."""
WIDE = ("observe.second.weight", "residual.observation.weight", "residual.action.weight")
NARROW = ("observe.first.weight", "observe.first.bias", "previous.weight", "previous.bias")
BIASES = ("observe.second.bias", "residual.observation.bias")


@triton.jit
def _halve(values, SCALE: tl.constexpr):
    """Two fp16 blocks whose sum is the scaled fp32 block to 22 bits."""
    values = values * SCALE
    upper = values.to(tl.float16)
    return upper, (values - upper.to(tl.float32)).to(tl.float16)


@triton.jit
def _multiply(upper, lower, high, low, total):
    """total + (upper + lower)·(high + low)."""
    return tl.dot(upper, high, tl.dot(upper, low, tl.dot(lower, high, total)))


@triton.jit
def _outer(values, size, weight, bias, row, column, inputs, WIDTH: tl.constexpr, SIZE: tl.constexpr):
    """relu(values·weight + bias) of a narrow input, at some columns."""
    index = tl.arange(0, SIZE)
    real = index < size
    shown = (row < inputs)[:, None] & real[None, :]
    left = tl.load(values + row[:, None] * size + index[None, :], mask=shown, other=0.0)
    right = tl.load(weight + index[:, None] * WIDTH + column[None, :], mask=real[:, None], other=0.0)
    return tl.maximum(tl.dot(left, right, input_precision="tf32x3") + tl.load(bias + column)[None, :], 0.0)


@triton.jit
def _drive(
    observation,
    previous,
    origins,
    apart,
    inputs,
    narrow,
    high,
    low,
    driven,
    rows,
    observed,
    acted,
    WIDTH: tl.constexpr,
    OBSERVED: tl.constexpr,
    ACTED: tl.constexpr,
    ROWS: tl.constexpr,
    CHUNK: tl.constexpr,
    ACTIVATION: tl.constexpr,
    WEIGHT: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    first = narrow + run * (observed + acted + 4) * WIDTH
    acting = first + (observed + 1) * WIDTH
    biases = acting + (acted + 1) * WIDTH
    high += run * 3 * WIDTH * WIDTH
    low += run * 3 * WIDTH * WIDTH
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    wide = tl.arange(0, WIDTH)
    seen = origin(origins, apart, run, row, rows, inputs)
    hidden = _outer(observation, observed, first, first + observed * WIDTH, seen, wide, inputs, WIDTH, OBSERVED)
    upper, lower = _halve(hidden, ACTIVATION)
    total = tl.zeros((ROWS, WIDTH), tl.float32)
    for begin in range(0, WIDTH, CHUNK):
        # Some features at a time go straight into the last product, so that they never leave the chip.
        column = begin + tl.arange(0, CHUNK)
        into = wide[:, None] * WIDTH + column[None, :]
        onto = column[:, None] * WIDTH + wide[None, :]
        none = tl.zeros((ROWS, CHUNK), tl.float32)
        inner = _multiply(upper, lower, tl.load(high + into), tl.load(low + into), none)
        inner = inner / (ACTIVATION * WEIGHT) + tl.load(biases + column)[None, :]
        onto += WIDTH * WIDTH
        above, below = _halve(tl.maximum(inner, 0.0), ACTIVATION)
        total = _multiply(above, below, tl.load(high + onto), tl.load(low + onto), total)
        inner = _outer(previous, acted, acting, acting + acted * WIDTH, seen, column, inputs, WIDTH, ACTED)
        onto += WIDTH * WIDTH
        above, below = _halve(inner, ACTIVATION)
        total = _multiply(above, below, tl.load(high + onto), tl.load(low + onto), total)
    total = total / (ACTIVATION * WEIGHT) + tl.load(biases + WIDTH + wide)[None, :]
    pointer = driven + run * rows * WIDTH + row[:, None] * WIDTH + wide[None, :]
    tl.store(pointer, total, mask=(row < rows)[:, None])


def exact_drive_cuda(parameters: Parameters, observation: Tensor, previous: Tensor, origins: Tensor) -> Tensor:
    """The driven part of f's first layer, [S, R, width] in fp32, from shared inputs at `origins` [S, R]."""
    given = {name: value.detach() for name, value in parameters.items()}
    high, low = halves(torch.stack([given[name] for name in WIDE], 1) * WEIGHT)
    narrow = torch.cat([given[name].flatten(1) for name in (*NARROW, *BIASES)], 1)
    S, _, _, width = high.shape
    (inputs, observed), acted, R = observation.shape, previous.shape[1], origins.shape[1]
    driven = torch.empty(S, R, width, device=observation.device)
    sizes = {
        "WIDTH": width,
        "OBSERVED": padded(observed),
        "ACTED": padded(acted),
        "CHUNK": min(SIZES["drive"].chunk, width),
        "ACTIVATION": ACTIVATION,
        "WEIGHT": WEIGHT,
    }
    shown = observation.contiguous(), previous.contiguous(), origins, origins.stride(0), inputs
    arguments = *shown, narrow, high, low, driven, R, observed, acted
    launch("drive", _drive, (tiles("drive", R), S), *arguments, **sizes)
    return driven


def halves(values: Tensor) -> tuple[Tensor, Tensor]:
    """Two fp16 tensors whose sum is the fp32 tensor to 22 bits."""
    high = values.half()
    return high, (values - high.float()).half()


def fits(parameters: Parameters, observation: Tensor, previous: Tensor) -> bool:
    """Whether the kernel takes these sizes: vectors of moderate size, shared by all runs, into a usual width."""
    weight = parameters["observe.second.weight"]
    narrow = all(inputs.dim() == 2 and inputs.shape[1] <= 128 for inputs in (observation, previous))
    return narrow and weight.dtype == observation.dtype == torch.float32 and weight.shape[-1] in (32, 64, 128)
