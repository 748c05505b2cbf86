"""A head on (g_o(O_t), C_t): one kernel forward, one a layer backward. Code and offset enter as rows of a table.

Activations have a low precision; every sum is in fp32, those of the weights' gradients in a fixed order.
"""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.training.kernels.encoder import block, put, square, turned
from diacritic.training.kernels.launch import launch, padded, shares, tiles


@triton.jit
def _enter(part, table, indices, shifts, run, row, rows, entries, WIDTH: tl.constexpr):
    """relu of a head's first layer: its observation part and the chosen rows of its table."""
    column = tl.arange(0, WIDTH)
    shown = block(part + run * rows * WIDTH, row, rows, WIDTH)
    total = shown.to(tl.float32)
    for k in tl.static_range(len(indices)):  # pyright: ignore[reportGeneralTypeIssues]
        entry = tl.load(indices[k] + run * rows + row, mask=row < rows, other=0).to(tl.int32) + shifts[k]
        total += tl.load(table + run * entries * WIDTH + (entry[:, None] * WIDTH + column[None, :]))
    return tl.maximum(total, 0.0).to(shown.dtype)


@triton.jit
def _read(
    part,
    table,
    inner,
    inner_bias,
    last,
    last_bias,
    deep,
    out,
    indices,
    shifts,
    rows,
    entries,
    outputs,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    DEEP: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    hidden = _enter(part, table, indices, shifts, run, row, rows, entries, WIDTH)
    if DEEP:
        total = tl.dot(hidden, square(inner + run * WIDTH * WIDTH, WIDTH), input_precision="ieee")
        total += tl.load(inner_bias + run * WIDTH + column)[None, :]
        hidden = tl.maximum(total, 0.0).to(hidden.dtype)
        put(deep + run * rows * WIDTH, hidden, row, rows, WIDTH)
    real = answer < outputs
    last += run * WIDTH * outputs
    out += run * rows * outputs
    onto = tl.load(last + (column[:, None] * outputs + answer[None, :]), mask=real[None, :], other=0.0)
    total = tl.dot(hidden, onto, input_precision="ieee")
    total += tl.load(last_bias + run * outputs + answer, mask=real, other=0.0)[None, :]
    shown = (row < rows)[:, None] & real[None, :]
    tl.store(out + (row[:, None] * outputs + answer[None, :]), total, mask=shown)


@triton.jit
def _from_last(
    part,
    table,
    last,
    flow_out,
    flow_hidden,
    into_last,
    into_bias,
    indices,
    shifts,
    rows,
    entries,
    outputs,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS: tl.constexpr,
):
    """Backward through a head's last layer, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    column, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    real = answer < outputs
    last += run * WIDTH * outputs
    flow_out += run * rows * outputs
    weight = tl.load(last + (column[None, :] * outputs + answer[:, None]), mask=real[:, None], other=0.0)
    sum_last = tl.zeros((WIDTH, OUTPUTS), tl.float32)
    sum_bias = tl.zeros((OUTPUTS,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        shown = (row < rows)[:, None] & real[None, :]
        back = tl.load(flow_out + (row[:, None] * outputs + answer[None, :]), mask=shown, other=0.0)
        hidden = _enter(part, table, indices, shifts, run, row, rows, entries, WIDTH)
        sum_bias += tl.sum(back, 0)
        back = back.to(hidden.dtype)
        sum_last = tl.dot(tl.trans(hidden), back, sum_last, input_precision="ieee")
        flow = tl.where(hidden > 0, tl.dot(back, weight, input_precision="ieee"), 0.0)
        put(flow_hidden + run * rows * WIDTH, flow, row, rows, WIDTH)
    share = tl.program_id(0) * tl.num_programs(1) + run
    tl.store(into_last + share * WIDTH * OUTPUTS + (column[:, None] * OUTPUTS + answer[None, :]), sum_last)
    tl.store(into_bias + share * OUTPUTS + answer, sum_bias)


@triton.jit
def _from_inner(
    part,
    table,
    inner,
    flow_hidden,
    flow_part,
    into_inner,
    into_bias,
    indices,
    shifts,
    rows,
    entries,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS: tl.constexpr,
):
    """Backward through a head's second hidden layer, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, WIDTH)
    weight = turned(inner + run * WIDTH * WIDTH, WIDTH)
    sum_inner = tl.zeros((WIDTH, WIDTH), tl.float32)
    sum_bias = tl.zeros((WIDTH,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        back = block(flow_hidden + run * rows * WIDTH, row, rows, WIDTH)
        entered = _enter(part, table, indices, shifts, run, row, rows, entries, WIDTH)
        sum_bias += tl.sum(back.to(tl.float32), 0)
        sum_inner = tl.dot(tl.trans(entered), back, sum_inner, input_precision="ieee")
        flow = tl.where(entered > 0, tl.dot(back, weight, input_precision="ieee"), 0.0)
        put(flow_part + run * rows * WIDTH, flow, row, rows, WIDTH)
    share = tl.program_id(0) * tl.num_programs(1) + run
    tl.store(into_inner + share * WIDTH * WIDTH + (column[:, None] * WIDTH + column[None, :]), sum_inner)
    tl.store(into_bias + share * WIDTH + column, sum_bias)


@triton.jit
def _from_first(
    reading,
    flow_part,
    flow_code,
    into_table,
    indices,
    shifts,
    rows,
    WIDTH: tl.constexpr,
    ENTRIES: tl.constexpr,
    CODE: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS: tl.constexpr,
):
    """Backward from a head's first layer to its table and to the code's vector, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    column, places = tl.arange(0, WIDTH), tl.arange(0, ENTRIES)
    if CODE:
        size = tl.arange(0, CODE)
        weight = tl.load(reading + run * CODE * WIDTH + (size[None, :] * WIDTH + column[:, None]))
    sum_table = tl.zeros((ENTRIES, WIDTH), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        back = block(flow_part + run * rows * WIDTH, row, rows, WIDTH)
        chosen = tl.zeros((ENTRIES, ROWS), tl.float32)
        for k in tl.static_range(len(indices)):  # pyright: ignore[reportGeneralTypeIssues]
            entry = tl.load(indices[k] + run * rows + row, mask=row < rows, other=0).to(tl.int32) + shifts[k]
            chosen += (entry[None, :] == places[:, None]).to(tl.float32)
        sum_table = tl.dot(chosen.to(back.dtype), back, sum_table, input_precision="ieee")
        if CODE:
            put(flow_code + run * rows * CODE, tl.dot(back, weight, input_precision="ieee"), row, rows, CODE)
    share = tl.program_id(0) * tl.num_programs(1) + run
    tl.store(into_table + share * ENTRIES * WIDTH + (places[:, None] * WIDTH + column[None, :]), sum_table)


class Read(torch.autograd.Function):
    """A head's output [S, R, outputs] in fp32 from its observation part [S, R, H] of low precision.

    `table` [S, V, H] holds what codes and offsets add to the first layer; `indices` [S, R] pick its rows, each counted
    from its own first row, in `begins`. The second hidden layer `inner` may be missing. What flows into `embedding`
    [S, R, d] is what flows into the first layer, through `reading` [S, d, H]. Gradients of weights are in fp32.
    """

    @staticmethod
    def forward(
        ctx,
        part: Tensor,
        embedding: Tensor | None,
        table: Tensor | None,
        inner: Tensor | None,
        inner_bias: Tensor | None,
        last: Tensor,
        last_bias: Tensor,
        reading: Tensor | None,
        indices: Sequence[Tensor],
        begins: Sequence[int],
    ) -> Tensor:
        S, R, H = part.shape
        outputs = last.shape[-1]
        low = [None if value is None else value.to(part.dtype).contiguous() for value in (inner, last, reading)]
        full = [None if value is None else value.contiguous() for value in (table, inner_bias, last_bias)]
        deep = None if inner is None else torch.empty_like(part)
        out = torch.empty(S, R, outputs, device=part.device)
        pointers = _pointers(part, full[0], low[0], full[1], low[1], full[2], deep, out)
        numbers = tuple(indices), tuple(begins), R, 0 if table is None else table.shape[1], outputs
        sizes = {"WIDTH": H, "OUTPUTS": padded(outputs), "DEEP": inner is not None, "ROWS": 128}
        launch(_read, (tiles(R, 128), S), *pointers, *numbers, **sizes)
        ctx.save_for_backward(part, deep, *low, full[0], *indices)
        ctx.begins, ctx.carried = tuple(begins), embedding is not None
        return out

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        (flow,) = flows
        part, deep, inner, last, reading, table, *indices = ctx.saved_tensors
        chosen = tuple(indices), ctx.begins
        of_inner = of_inner_bias = None
        if deep is None:
            flow_part, of_last, of_last_bias = _last_back(part, table, last, flow.contiguous(), *chosen)
        else:
            flow_deep, of_last, of_last_bias = _last_back(deep, None, last, flow.contiguous(), (), ())
            flow_part, of_inner, of_inner_bias = _inner_back(part, table, inner, flow_deep, *chosen)
        of_table = flow_code = None
        if table is not None:
            reading = reading if ctx.carried else None
            of_table, flow_code = _first_back(flow_part, reading, table.shape[1], *chosen)
        of_inners = of_inner, of_inner_bias
        return flow_part, flow_code, of_table, *of_inners, of_last, of_last_bias, None, None, None


Chosen = tuple[Tensor, ...]


def _last_back(
    part: Tensor, table: Tensor | None, last: Tensor, flow: Tensor, indices: Chosen, begins: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """What flows into the last hidden layer, and gradients of the last layer's weight and bias."""
    S, R, H = part.shape
    outputs, entries = last.shape[-1], 0 if table is None else table.shape[1]
    programs, turns = shares(R, S, 64)
    into_last = part.new_empty(programs, S, H, padded(outputs), dtype=torch.float32)
    into_bias = part.new_empty(programs, S, padded(outputs), dtype=torch.float32)
    flow_hidden = torch.empty_like(part)
    pointers = _pointers(part, table, last, flow, flow_hidden, into_last, into_bias)
    sizes = {"WIDTH": H, "OUTPUTS": padded(outputs), "ROWS": 64, "TURNS": turns}
    launch(_from_last, (programs, S), *pointers, indices, begins, R, entries, outputs, **sizes)
    return flow_hidden, into_last.sum(0)[..., :outputs], into_bias.sum(0)[:, :outputs]


def _inner_back(
    part: Tensor, table: Tensor | None, inner: Tensor, flow: Tensor, indices: Chosen, begins: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """What flows into the first hidden layer, and gradients of the second one's weight and bias."""
    S, R, H = part.shape
    programs, turns = shares(R, S, 64)
    into_inner = part.new_empty(programs, S, H, H, dtype=torch.float32)
    into_bias = part.new_empty(programs, S, H, dtype=torch.float32)
    flow_part = torch.empty_like(part)
    pointers = _pointers(part, table, inner, flow, flow_part, into_inner, into_bias)
    entries = 0 if table is None else table.shape[1]
    sizes = {"WIDTH": H, "ROWS": 64, "TURNS": turns}
    launch(_from_inner, (programs, S), *pointers, indices, begins, R, entries, **sizes)
    return flow_part, into_inner.sum(0), into_bias.sum(0)


def _first_back(
    flow: Tensor, reading: Tensor | None, entries: int, indices: Chosen, begins: tuple[int, ...]
) -> tuple[Tensor, Tensor | None]:
    """The gradient of the table, and what flows into the code's vector."""
    S, R, H = flow.shape
    programs, turns = shares(R, S, 64)
    into_table = flow.new_empty(programs, S, padded(entries), H, dtype=torch.float32)
    code = 0 if reading is None else reading.shape[1]
    flow_code = None if reading is None else flow.new_empty(S, R, code, dtype=torch.float32)
    sizes = {"WIDTH": H, "ENTRIES": padded(entries), "CODE": code, "ROWS": 64, "TURNS": turns}
    pointers = [flow if reading is None else reading, *_pointers(flow, flow_code, into_table)]
    launch(_from_first, (programs, S), *pointers, indices, begins, R, **sizes)
    return into_table.sum(0)[:, :entries], flow_code


def _pointers(first: Tensor, *others: Tensor | None) -> list[Tensor]:
    """Something to point to, even where nothing is read."""
    return [first, *(first if other is None else other for other in others)]
