"""A head on (g_o(O_t), C_t): one kernel forward, a few backward. Code and offset enter as rows of a table.

Activations have a low precision; every sum is in fp32, those of the weights' gradients in a fixed order.
"""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.training.kernels.encoder import block, outer, put, square
from diacritic.training.kernels.launch import launch, padded, shares, tiles

LEAST = 64
"""Columns of a last layer's product on tensor cores: narrower ones read outside of shared memory (Triton 3.6)."""


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
    entered,
    out,
    indices,
    shifts,
    rows,
    entries,
    outputs,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    DEEP: tl.constexpr,
    KEEP: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    real = answer < outputs
    # Weights are asked for first, so that they arrive together with the rows.
    onto = tl.load(
        last + run * WIDTH * outputs + (column[:, None] * outputs + answer[None, :]), mask=real[None, :], other=0.0
    )
    if DEEP:
        weight = square(inner + run * WIDTH * WIDTH, WIDTH)
    hidden = _enter(part, table, indices, shifts, run, row, rows, entries, WIDTH)
    if KEEP:
        put(entered + run * rows * WIDTH, hidden, row, rows, WIDTH)
    if DEEP:
        total = tl.dot(hidden, weight, input_precision="ieee")
        total += tl.load(inner_bias + run * WIDTH + column)[None, :]
        hidden = tl.maximum(total, 0.0).to(hidden.dtype)
    out += run * rows * outputs
    total = tl.dot(hidden, onto, input_precision="ieee")
    total += tl.load(last_bias + run * outputs + answer, mask=real, other=0.0)[None, :]
    shown = (row < rows)[:, None] & real[None, :]
    tl.store(out + (row[:, None] * outputs + answer[None, :]), total, mask=shown)


@triton.jit
def _back(
    entered,
    inner,
    inner_bias,
    last,
    flow_out,
    flow_hidden,
    flow_part,
    into_last,
    into_bias,
    rows,
    outputs,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    DEEP: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS: tl.constexpr,
):
    """Backward from a head's output to its first layer, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    column, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    real = answer < outputs
    last += run * WIDTH * outputs
    flow_out += run * rows * outputs
    weight = tl.load(last + (column[None, :] * outputs + answer[:, None]), mask=real[:, None], other=0.0)
    if DEEP:
        deeper = square(inner + run * WIDTH * WIDTH, WIDTH)
        bias = tl.load(inner_bias + run * WIDTH + column)[None, :]
    sum_last = tl.zeros((OUTPUTS, WIDTH), tl.float32)
    sum_bias = tl.zeros((OUTPUTS,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        shown = (row < rows)[:, None] & real[None, :]
        back = tl.load(flow_out + (row[:, None] * outputs + answer[None, :]), mask=shown, other=0.0)
        below = block(entered + run * rows * WIDTH, row, rows, WIDTH)
        hidden = below
        if DEEP:  # computing the second layer again is cheaper than storing it
            hidden = tl.maximum(tl.dot(below, deeper, input_precision="ieee") + bias, 0.0).to(below.dtype)
        sum_bias += tl.sum(back, 0)
        back = back.to(hidden.dtype)
        sum_last = tl.dot(tl.trans(back), hidden, sum_last, input_precision="ieee")
        flow = tl.where(hidden > 0, tl.dot(back, weight, input_precision="ieee"), 0.0).to(hidden.dtype)
        if DEEP:
            put(flow_hidden + run * rows * WIDTH, flow, row, rows, WIDTH)
            flow = tl.where(below > 0, tl.dot(flow, tl.trans(deeper), input_precision="ieee"), 0.0).to(hidden.dtype)
        put(flow_part + run * rows * WIDTH, flow, row, rows, WIDTH)
    share = tl.program_id(0) * tl.num_programs(1) + run
    tl.store(into_last + share * WIDTH * OUTPUTS + (answer[:, None] * WIDTH + column[None, :]), sum_last)
    tl.store(into_bias + share * OUTPUTS + answer, sum_bias)


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
        outputs, deep = last.shape[-1], inner is not None
        low = [None if value is None else value.to(part.dtype).contiguous() for value in (inner, last, reading)]
        full = [None if value is None else value.contiguous() for value in (table, inner_bias, last_bias)]
        keep = any(ctx.needs_input_grad)
        entered = torch.empty_like(part) if keep else None
        out = torch.empty(S, R, outputs, device=part.device)
        pointers = _pointers(part, full[0], low[0], full[1], low[1], full[2], entered, out)
        numbers = tuple(indices), tuple(begins), R, 0 if table is None else table.shape[1], outputs
        sizes = {"WIDTH": H, "OUTPUTS": max(LEAST, padded(outputs)), "DEEP": deep, "KEEP": keep}
        launch("read", _read, (tiles("read", R), S), *pointers, *numbers, **sizes)
        ctx.save_for_backward(entered, full[1], *low, *indices)
        ctx.begins, ctx.entries = tuple(begins), 0 if table is None else table.shape[1]
        ctx.felt = None if embedding is None else embedding.dtype
        return out

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        entered, bias, inner, last, reading, *indices = ctx.saved_tensors
        flow_hidden, flow_part, *of_last = _through(entered, inner, bias, last, flows[0].contiguous())
        of_inner = (None, None) if flow_hidden is None else outer(entered, flow_hidden)
        of_table = flow_code = None
        if ctx.entries:
            reading = None if ctx.felt is None else reading
            of_table, flow_code = _first_back(flow_part, reading, ctx.felt, ctx.entries, tuple(indices), ctx.begins)
        return flow_part, flow_code, of_table, *of_inner, *of_last, None, None, None


def _through(
    entered: Tensor, inner: Tensor | None, bias: Tensor | None, last: Tensor, flow: Tensor
) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
    """What flows into the second hidden layer and into the first, and gradients of the last weight and bias."""
    S, R, H = entered.shape
    outputs = last.shape[-1]
    columns = padded(outputs)
    programs, turns = shares("back", R, S)
    into_last = entered.new_empty(programs, S, columns, H, dtype=torch.float32)
    into_bias = entered.new_empty(programs, S, columns, dtype=torch.float32)
    flow_part, flow_hidden = torch.empty_like(entered), None if inner is None else torch.empty_like(entered)
    pointers = _pointers(entered, inner, bias, last, flow, flow_hidden, flow_part, into_last, into_bias)
    sizes = {"WIDTH": H, "OUTPUTS": columns, "DEEP": inner is not None, "TURNS": turns}
    launch("back", _back, (programs, S), *pointers, R, outputs, **sizes)
    return flow_hidden, flow_part, into_last.sum(0)[:, :outputs].mT, into_bias.sum(0)[:, :outputs]


def _first_back(
    flow: Tensor,
    reading: Tensor | None,
    felt: torch.dtype | None,
    entries: int,
    indices: tuple[Tensor, ...],
    begins: tuple[int, ...],
) -> tuple[Tensor, Tensor | None]:
    """The gradient of the table, and what flows into the code's vector."""
    S, R, H = flow.shape
    programs, turns = shares("first", R, S)
    into_table = flow.new_empty(programs, S, padded(entries), H, dtype=torch.float32)
    code = 0 if reading is None else reading.shape[1]
    flow_code = None if reading is None else flow.new_empty(S, R, code, dtype=felt)
    sizes = {"WIDTH": H, "ENTRIES": padded(entries), "CODE": code, "TURNS": turns}
    pointers = [flow if reading is None else reading, *_pointers(flow, flow_code, into_table)]
    launch("first", _from_first, (programs, S), *pointers, indices, begins, R, **sizes)
    return into_table.sum(0)[:, :entries], flow_code


def _pointers(first: Tensor, *others: Tensor | None) -> list[Tensor]:
    """Something to point to, even where nothing is read."""
    return [first, *(first if other is None else other for other in others)]
