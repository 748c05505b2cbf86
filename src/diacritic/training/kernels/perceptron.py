"""One or two hidden layers on one or two narrow inputs, in one kernel forward and one back.

Forward, hidden layers are stored; backward, what flows into each layer is, so that gradients of weights are large
products. A tile never leaves the chip between its layers.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put, square
from diacritic.memory.kernels.launch import launch, padded, shares
from diacritic.memory.tall import outer
from diacritic.training.kernels.heads import pointed

LARGEST = 128
"""Numbers of an input or output at most."""


@triton.jit
def _rows(values, row, rows, columns, COLUMNS: tl.constexpr):
    """Some rows of a matrix of any width; zero beyond its end."""
    column = tl.arange(0, COLUMNS)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    return tl.load(values + (row[:, None] * columns + column[None, :]), mask=inside, other=0.0)


@triton.jit
def _matrix(weight, height, width, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """A whole matrix of any size; zero beyond its end."""
    return _rows(weight, tl.arange(0, HEIGHT), height, width, WIDTH)


@triton.jit
def _flipped(weight, height, width, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """Its transpose, as a block of WIDTH rows."""
    row, column = tl.arange(0, HEIGHT)[None, :], tl.arange(0, WIDTH)[:, None]
    return tl.load(weight + (row * width + column), mask=(row < height) & (column < width), other=0.0)


@triton.jit
def _store(values, content, row, rows, columns, COLUMNS: tl.constexpr):
    column = tl.arange(0, COLUMNS)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    tl.store(values + (row[:, None] * columns + column[None, :]), content, mask=inside)


@triton.jit
def _forward(
    left,
    right,
    of_left,
    of_right,
    bias,
    table,
    index,
    inner,
    inner_bias,
    last,
    last_bias,
    lower,
    upper,
    out,
    rows,
    left_size,
    right_size,
    outputs,
    entries,
    LEFT: tl.constexpr,
    RIGHT: tl.constexpr,
    TABLE: tl.constexpr,
    DEEP: tl.constexpr,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    run = tl.program_id(1).to(tl.int64)
    wide, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    first = _matrix(of_left + run * left_size * WIDTH, left_size, WIDTH, LEFT, WIDTH)
    if RIGHT:
        second = _matrix(of_right + run * right_size * WIDTH, right_size, WIDTH, RIGHT, WIDTH)
    first_bias = tl.load(bias + run * WIDTH + wide)[None, :]
    if DEEP:
        deeper = square(inner + run * WIDTH * WIDTH, WIDTH)
        deeper_bias = tl.load(inner_bias + run * WIDTH + wide)[None, :]
    onto = _matrix(last + run * WIDTH * outputs, WIDTH, outputs, WIDTH, OUTPUTS)
    onto_bias = tl.load(last_bias + run * outputs + answer, mask=answer < outputs, other=0.0)[None, :]
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        shown = _rows(left + run * rows * left_size, row, rows, left_size, LEFT)
        hidden = tl.dot(shown, first, input_precision=PRECISION) + first_bias
        if RIGHT:
            shown = _rows(right + run * rows * right_size, row, rows, right_size, RIGHT)
            hidden = tl.dot(shown, second, hidden, input_precision=PRECISION)
        if TABLE:
            entry = tl.load(index + run * rows + row, mask=row < rows, other=0)
            hidden += tl.load(table + (run * entries + entry)[:, None] * WIDTH + wide[None, :])
        hidden = tl.maximum(hidden, 0.0)
        put(lower + run * rows * WIDTH, hidden, row, rows, WIDTH)
        if DEEP:
            hidden = tl.maximum(tl.dot(hidden, deeper, input_precision=PRECISION) + deeper_bias, 0.0)
            put(upper + run * rows * WIDTH, hidden, row, rows, WIDTH)
        answers = tl.dot(hidden, onto, input_precision=PRECISION) + onto_bias
        _store(out + run * rows * outputs, answers, row, rows, outputs, OUTPUTS)


@triton.jit
def _backward(
    flow,
    of_left,
    of_right,
    inner,
    last,
    lower,
    upper,
    into_lower,
    into_upper,
    into_left,
    into_right,
    sums,
    rows,
    left_size,
    right_size,
    outputs,
    LEFT: tl.constexpr,
    RIGHT: tl.constexpr,
    DEEP: tl.constexpr,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    """What flows into both hidden layers, into the inputs where LEFT and RIGHT say so, and its sums over the rows."""
    run = tl.program_id(1).to(tl.int64)
    wide, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    outward = _flipped(last + run * WIDTH * outputs, WIDTH, outputs, WIDTH, OUTPUTS)
    if DEEP:
        inward = _flipped(inner + run * WIDTH * WIDTH, WIDTH, WIDTH, WIDTH, WIDTH)
    if LEFT:
        to_left = _flipped(of_left + run * left_size * WIDTH, left_size, WIDTH, LEFT, WIDTH)
    if RIGHT:
        to_right = _flipped(of_right + run * right_size * WIDTH, right_size, WIDTH, RIGHT, WIDTH)
    sum_lower, sum_upper = tl.zeros((WIDTH,), tl.float32), tl.zeros((WIDTH,), tl.float32)
    sum_out = tl.zeros((OUTPUTS,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        back = _rows(flow + run * rows * outputs, row, rows, outputs, OUTPUTS)
        sum_out += tl.sum(back, 0)
        back = tl.dot(back, outward, input_precision=PRECISION)
        if DEEP:
            back = tl.where(block(upper + run * rows * WIDTH, row, rows, WIDTH) > 0, back, 0.0)
            sum_upper += tl.sum(back, 0)
            put(into_upper + run * rows * WIDTH, back, row, rows, WIDTH)
            back = tl.dot(back, inward, input_precision=PRECISION)
        back = tl.where(block(lower + run * rows * WIDTH, row, rows, WIDTH) > 0, back, 0.0)
        sum_lower += tl.sum(back, 0)
        put(into_lower + run * rows * WIDTH, back, row, rows, WIDTH)
        if LEFT:
            given = tl.dot(back, to_left, input_precision=PRECISION)
            _store(into_left + run * rows * left_size, given, row, rows, left_size, LEFT)
        if RIGHT:
            given = tl.dot(back, to_right, input_precision=PRECISION)
            _store(into_right + run * rows * right_size, given, row, rows, right_size, RIGHT)
    sums += (tl.program_id(0) * tl.num_programs(1) + run) * (2 * WIDTH + OUTPUTS)
    tl.store(sums + wide, sum_lower)
    tl.store(sums + WIDTH + wide, sum_upper)
    tl.store(sums + 2 * WIDTH + answer, sum_out)


class _Perceptron(torch.autograd.Function):
    """Outputs [S, R, O] of relu layers on inputs [S, R, ·]; `table` [S, V, H] adds a row to the first, at `index`."""

    @staticmethod
    def forward(
        ctx,
        left: Tensor,
        right: Tensor | None,
        of_left: Tensor,
        of_right: Tensor | None,
        bias: Tensor,
        table: Tensor | None,
        inner: Tensor | None,
        inner_bias: Tensor | None,
        last: Tensor,
        last_bias: Tensor,
        index: Tensor | None,
        precision: str,
    ) -> Tensor:
        (S, R, size), H, outputs = left.shape, last.shape[1], last.shape[2]

        left, of_left, bias, last, last_bias = (
            value.detach().contiguous() for value in (left, of_left, bias, last, last_bias)
        )
        right, of_right, table, index, inner, inner_bias = (
            None if value is None else value.detach().contiguous()
            for value in (right, of_right, table, index, inner, inner_bias)
        )
        lower = left.new_empty(S, R, H)
        upper = None if inner is None else torch.empty_like(lower)
        out = left.new_empty(S, R, outputs)
        sizes = _Sizes(size, 0 if right is None else right.shape[2], outputs)
        programs, turns = shares("perceptron", R, S)
        tensors = pointed(left, right, of_left, of_right, bias, table, index, inner, inner_bias, last, last_bias)
        entries = 0 if table is None else table.shape[1]
        numbers = *pointed(lower, upper), out, R, sizes.left, sizes.right, outputs, entries
        kind = {"TABLE": table is not None, "DEEP": inner is not None, "WIDTH": H, "PRECISION": precision}
        launch("perceptron", _forward, (programs, S), *tensors, *numbers, **sizes.padded(), **kind, TURNS=turns)
        ctx.save_for_backward(left, right, of_left, of_right, table, index, inner, last, lower, upper)
        ctx.sizes, ctx.precision = sizes, precision
        return out

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        left, right, of_left, of_right, table, index, inner, last, lower, upper = ctx.saved_tensors
        (S, R, H), sizes, flow = lower.shape, ctx.sizes, flows[0].contiguous()
        wanted = ctx.needs_input_grad[0], right is not None and ctx.needs_input_grad[1]
        into_lower = torch.empty_like(lower)
        into_upper = None if upper is None else torch.empty_like(lower)
        into_left = torch.empty_like(left) if wanted[0] else None
        into_right = torch.empty_like(right) if right is not None and wanted[1] else None
        programs, turns = shares("perceptron back", R, S)
        columns = padded(sizes.outputs)
        sums = lower.new_empty(programs, S, 2 * H + columns)
        tensors = pointed(flow, of_left, of_right, inner, last, lower, upper)
        results = *pointed(into_lower, into_upper, into_left, into_right), sums
        numbers = R, sizes.left, sizes.right, sizes.outputs
        kind = {"DEEP": inner is not None, "WIDTH": H, "PRECISION": ctx.precision, "TURNS": turns}
        shown = {
            **sizes.padded(),
            **{name: 0 for name, asked in zip(("LEFT", "RIGHT"), wanted, strict=True) if not asked},
        }
        launch("perceptron back", _backward, (programs, S), *tensors, *results, *numbers, **shown, **kind)
        of_bias, of_inner_bias, of_last_bias = sums.sum(0).split([H, H, columns], 1)
        return (
            into_left,
            into_right,
            outer(left, into_lower),
            None if right is None else outer(right, into_lower),
            of_bias,
            None if table is None else outer(_one_hot(index, table.shape[1], flow.dtype), into_lower),
            None if into_upper is None else outer(lower, into_upper),
            None if into_upper is None else of_inner_bias,
            outer(lower if upper is None else upper, flow),
            of_last_bias[:, : sizes.outputs],
            None,
            None,
        )


@dataclass(frozen=True)
class _Sizes:
    """Numbers of both inputs and of the output."""

    left: int
    right: int
    outputs: int

    def padded(self) -> dict[str, int]:
        """As blocks have them."""
        right = padded(self.right) if self.right else 0
        return {"LEFT": padded(self.left), "RIGHT": right, "OUTPUTS": padded(self.outputs)}


def perceptron(
    inputs: tuple[Tensor, Tensor | None],
    first: tuple[Tensor, Tensor | None, Tensor],
    inner: tuple[Tensor | None, Tensor | None],
    last: tuple[Tensor, Tensor],
    rough: bool,
    told: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Outputs of every row [S, R, O] from one or two inputs [S, R, ·].

    `first` are the first layer's readings of both and its bias, `inner` is a second hidden layer, `told` a table
    [S, V, H] of which the first layer adds one row, and which. `rough` products are those of the tensor cores in TF32.
    """
    table, index = (None, None) if told is None else told
    layers = *first, table, *inner, *last
    return _Perceptron.apply(*inputs, *layers, index, "tf32" if rough else "tf32x3")


def _one_hot(index: Tensor, count: int, dtype: torch.dtype) -> Tensor:
    return (index.unsqueeze(-1) == torch.arange(count, device=index.device)).to(dtype)
