"""A head on (g_o(O_t), C_t): one kernel forward, a few backward. Code and offset enter as rows of a table.

Activations have a low precision; every sum is in fp32, those of the weights' gradients in a fixed order.
"""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put, square
from diacritic.memory.kernels.launch import SIZES, launch, padded, pieced, shares
from diacritic.training.kernels.encoder import outer

LEAST = 64
"""Columns of a last layer's product on tensor cores: narrower ones read outside of shared memory (Triton 3.6)."""


@triton.jit
def _chosen(indices, shifts, run, row, rows, first, ENTRIES: tl.constexpr):
    """How often each of some entries of a table is picked by each of some rows."""
    count = tl.zeros((ENTRIES, row.shape[0]), tl.float32)
    for k in tl.static_range(len(indices)):  # pyright: ignore[reportGeneralTypeIssues]
        entry = tl.load(indices[k] + run * rows + row, mask=row < rows, other=0).to(tl.int32) + shifts[k]
        count += (entry[None, :] == first + tl.arange(0, ENTRIES)[:, None]).to(tl.float32)
    return count


@triton.jit
def fetched(table, index, shift, run, row, rows, LOW: tl.constexpr, WIDTH: tl.constexpr):
    """The entry of a table that each of some rows picks, rounded to a low precision."""
    entry = tl.load(index + run * rows + row, mask=row < rows, other=0).to(tl.int32) + shift
    return tl.load(table + entry[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]).to(LOW).to(tl.float32)


@triton.jit
def _read(
    shown,
    observing,
    observing_bias,
    apart,
    apart_bias,
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
    ENTRIES: tl.constexpr,
    OUTPUTS: tl.constexpr,
    FRESH: tl.constexpr,
    DEEP: tl.constexpr,
    KEEP: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    """A head over a share of the rows; without OUTPUTS, only up to its last hidden layer."""
    run = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, WIDTH)
    LOW: tl.constexpr = shown.dtype.element_ty
    # Weights are loaded once and stay on the chip while the program goes through its rows.
    if OUTPUTS:
        answer = tl.arange(0, OUTPUTS)
        real = answer < outputs
        out += run * rows * outputs
        onto = tl.load(
            last + run * WIDTH * outputs + (column[:, None] * outputs + answer[None, :]), mask=real[None, :], other=0.0
        )
        onto_bias = tl.load(last_bias + run * outputs + answer, mask=real, other=0.0)[None, :]
    if FRESH:
        onward = square(observing + run * apart, WIDTH)
        onward_bias = tl.load(observing_bias + run * apart_bias + column)[None, :]
    if ENTRIES:
        entry = tl.arange(0, ENTRIES)[:, None]
        added = tl.load(
            table + run * entries * WIDTH + entry * WIDTH + column[None, :], mask=entry < entries, other=0.0
        )
        added = added.to(LOW)
    if DEEP:
        weight = square(inner + run * WIDTH * WIDTH, WIDTH)
        bias = tl.load(inner_bias + run * WIDTH + column)[None, :]
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        seen = block(shown + run * rows * WIDTH, row, rows, WIDTH)
        total = tl.zeros((ROWS, WIDTH), tl.float32)
        if FRESH:
            total = tl.dot(seen, onward, input_precision="ieee") + onward_bias
        if ENTRIES:  # a product with counts is faster than fetching an entry for every row
            count = _chosen(indices, shifts, run, row, rows, 0, ENTRIES).to(LOW)
            total = tl.dot(tl.trans(count), added, total, input_precision="ieee")
        else:  # but not where there are many
            for k in tl.static_range(len(indices)):  # pyright: ignore[reportGeneralTypeIssues]
                total += fetched(table + run * entries * WIDTH, indices[k], shifts[k], run, row, rows, LOW, WIDTH)
        if FRESH:
            hidden = tl.maximum(total, 0.0).to(LOW)
        else:  # relu(total + seen), but a plain sum would become the start of the product and not be fetched ahead
            part = seen.to(tl.float32)
            hidden = (tl.maximum(total, -part) + part).to(LOW)
        if KEEP:
            put(entered + run * rows * WIDTH, hidden, row, rows, WIDTH)
        if DEEP:
            hidden = tl.maximum(tl.dot(hidden, weight, input_precision="ieee") + bias, 0.0).to(LOW)
        if OUTPUTS:
            total = tl.dot(hidden, onto, input_precision="ieee") + onto_bias
            inside = (row < rows)[:, None] & real[None, :]
            tl.store(out + (row[:, None] * outputs + answer[None, :]), total, mask=inside)
        else:
            put(out + run * rows * WIDTH, hidden, row, rows, WIDTH)


@triton.jit
def _back(
    entered,
    inner,
    inner_bias,
    last,
    flow_out,
    flow_hidden,
    flow_part,
    into,
    rows,
    outputs,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    LAST: tl.constexpr,
    DEEP: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    """Backward from a head's output, or without LAST from its last hidden layer, to its first one.

    Over a share of the rows, for which it also sums the gradient of the last layer.
    """
    run = tl.program_id(1).to(tl.int64)
    column, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    real = answer < outputs
    sum_last = tl.zeros((OUTPUTS, WIDTH), tl.float32)
    sum_bias = tl.zeros((OUTPUTS,), tl.float32)
    if LAST:
        last += run * WIDTH * outputs
        flow_out += run * rows * outputs
        weight = tl.load(last + (column[None, :] * outputs + answer[:, None]), mask=real[:, None], other=0.0)
    if DEEP:
        deeper = square(inner + run * WIDTH * WIDTH, WIDTH)
        bias = tl.load(inner_bias + run * WIDTH + column)[None, :]
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        if LAST:
            shown = (row < rows)[:, None] & real[None, :]
            back = tl.load(flow_out + (row[:, None] * outputs + answer[None, :]), mask=shown, other=0.0)
        below = block(entered + run * rows * WIDTH, row, rows, WIDTH)
        hidden = below
        if DEEP:  # computing the second layer again is cheaper than storing it
            hidden = tl.maximum(tl.dot(below, deeper, input_precision="ieee") + bias, 0.0).to(below.dtype)
        if LAST:
            sum_bias += tl.sum(back, 0)
            back = back.to(hidden.dtype)
            sum_last = tl.dot(tl.trans(back), hidden, sum_last, input_precision="ieee")
            flow = tl.where(hidden > 0, tl.dot(back, weight, input_precision="ieee"), 0.0).to(hidden.dtype)
        else:
            flow = tl.where(hidden > 0, block(flow_out + run * rows * WIDTH, row, rows, WIDTH), 0.0).to(hidden.dtype)
        if DEEP:
            put(flow_hidden + run * rows * WIDTH, flow, row, rows, WIDTH)
            flow = tl.where(below > 0, tl.dot(flow, tl.trans(deeper), input_precision="ieee"), 0.0).to(hidden.dtype)
        put(flow_part + run * rows * WIDTH, flow, row, rows, WIDTH)
    if LAST:
        into += (tl.program_id(0) * tl.num_programs(1) + run) * (WIDTH + 1) * OUTPUTS
        tl.store(into + (answer[:, None] * WIDTH + column[None, :]), sum_last)
        tl.store(into + OUTPUTS * WIDTH + answer, sum_bias)


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
    TURNS,
):
    """Backward from a head's first layer to a piece of its table and to the code's vector, over a share of the rows."""
    run, piece = tl.program_id(1).to(tl.int64), tl.program_id(2)
    column, entry = tl.arange(0, WIDTH), piece * ENTRIES + tl.arange(0, ENTRIES)
    writes = tl.where(piece == 0, rows, 0)  # what does not depend on the piece is written once
    if CODE:
        size = tl.arange(0, CODE)
        weight = tl.load(reading + run * CODE * WIDTH + (size[None, :] * WIDTH + column[:, None]))
    sum_table = tl.zeros((ENTRIES, WIDTH), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        back = block(flow_part + run * rows * WIDTH, row, rows, WIDTH)
        count = _chosen(indices, shifts, run, row, rows, piece * ENTRIES, ENTRIES).to(back.dtype)
        sum_table = tl.dot(count, back, sum_table, input_precision="ieee")
        if CODE:
            put(flow_code + run * rows * CODE, tl.dot(back, weight, input_precision="ieee"), row, writes, CODE)
    into_table += (tl.program_id(0) * tl.num_programs(1) + run) * tl.num_programs(2) * ENTRIES * WIDTH
    tl.store(into_table + (entry[:, None] * WIDTH + column[None, :]), sum_table)


class Read(torch.autograd.Function):
    """A head's output [S, R, outputs] in fp32 from its observation part [S, R, H].

    Without a last layer the output is the last hidden layer, of low precision.

    With `observing` the part is g_o · weight + bias, from g_o [S, R, H], [S, H, H] and [S, H] of which the first two
    have a low precision; `part` then has no content and receives the gradient of all three.
    `table` [S, V, H] holds what codes and offsets add to the first layer; `indices` [S, R] pick its rows, each counted
    from its own first row, in `begins`. The second hidden layer `inner` may be missing. What flows into `embedding`
    [S, R, d] is what flows into the first layer, through `reading` [S, d, H]. Gradients of weights are in fp32.
    """

    @staticmethod
    def forward(
        ctx,
        part: Tensor,
        observing: tuple[Tensor, Tensor, Tensor] | None,
        embedding: Tensor | None,
        table: Tensor | None,
        inner: Tensor | None,
        inner_bias: Tensor | None,
        last: Tensor | None,
        last_bias: Tensor | None,
        reading: Tensor | None,
        indices: Sequence[Tensor],
        begins: Sequence[int],
    ) -> Tensor:
        S, R, H = part.shape
        outputs, deep = 0 if last is None else last.shape[-1], inner is not None
        low = [None if value is None else value.to(part.dtype).contiguous() for value in (inner, last, reading)]
        entries = 0 if table is None else table.shape[1]
        many = entries > SIZES["read"].chunk
        if table is not None and many:  # fetched row by row, it should be small
            table = table.to(part.dtype)
        full = [None if value is None else value.contiguous() for value in (table, inner_bias, last_bias)]
        keep = any(ctx.needs_input_grad) and (deep or last is not None)
        shown, weight, bias = (part, None, None) if observing is None else observing
        apart = (0, 0) if weight is None or bias is None else (weight.stride(0), bias.stride(0))
        entered = torch.empty_like(shown) if keep else None
        out = torch.empty_like(shown) if last is None else torch.empty(S, R, outputs, device=part.device)
        pointers = *pointed(shown, weight, bias), *apart
        others = pointed(shown, full[0], low[0], full[1], low[1], full[2], entered, out)[1:]
        numbers = tuple(indices), tuple(begins), R, entries, outputs
        name = "read of many" if many else "read"
        programs, turns = shares(name, R, S)
        product = padded(entries) if entries and not many else 0
        sizes = {"WIDTH": H, "ENTRIES": product, "OUTPUTS": max(LEAST, padded(outputs)) if outputs else 0}
        kind = {"FRESH": observing is not None, "DEEP": deep, "KEEP": keep, "TURNS": turns}
        launch(name, _read, (programs, S), *pointers, *others, *numbers, **sizes, **kind)
        ctx.save_for_backward(entered if keep else out, full[1], *low, *indices)
        ctx.begins, ctx.entries = tuple(begins), entries
        ctx.felt = None if embedding is None else embedding.dtype
        return out

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        entered, bias, inner, last, reading, *indices = ctx.saved_tensors
        flow_hidden, flow_part, *of_last = _through(entered, inner, bias, last, flows[0].contiguous())
        of_inner = None, None
        if flow_hidden is not None:
            product = outer(entered, flow_hidden)[:, 0]
            of_inner = product[:, :-1], product[:, -1]
        of_table = flow_code = None
        if ctx.entries:
            reading = None if ctx.felt is None else reading
            of_table, flow_code = first_back(flow_part, reading, ctx.felt, ctx.entries, tuple(indices), ctx.begins)
        return flow_part, None, flow_code, of_table, *of_inner, *of_last, None, None, None


def _through(
    entered: Tensor, inner: Tensor | None, bias: Tensor | None, last: Tensor | None, flow: Tensor
) -> tuple[Tensor | None, Tensor, Tensor | None, Tensor | None]:
    """What flows into the second hidden layer and into the first, and gradients of the last weight and bias."""
    S, R, H = entered.shape
    outputs = 0 if last is None else last.shape[-1]
    columns = padded(outputs)
    programs, turns = shares("back", R, S)
    into = entered.new_empty(programs, S, columns * (H + 1), dtype=torch.float32)
    flow_part, flow_hidden = torch.empty_like(entered), None if inner is None else torch.empty_like(entered)
    pointers = pointed(entered, inner, bias, last, flow, flow_hidden, flow_part, into)
    sizes = {"WIDTH": H, "OUTPUTS": columns, "LAST": outputs > 0, "DEEP": inner is not None, "TURNS": turns}
    launch("back", _back, (programs, S), *pointers, R, outputs, **sizes)
    if not outputs:
        return flow_hidden, flow_part, None, None
    of_last, of_bias = into.sum(0).split([columns * H, columns], 1)
    return flow_hidden, flow_part, of_last.view(S, columns, H)[:, :outputs].mT, of_bias[:, :outputs]


def first_back(
    flow: Tensor,
    reading: Tensor | None,
    felt: torch.dtype | None,
    entries: int,
    indices: tuple[Tensor, ...],
    begins: tuple[int, ...],
) -> tuple[Tensor, Tensor | None]:
    """The gradient of the table, and what flows into the code's vector."""
    S, R, H = flow.shape
    size, pieces = pieced("first", entries)
    programs, turns = shares("first", R, S * pieces)
    into_table = flow.new_empty(programs, S, pieces * size, H, dtype=torch.float32)
    code = 0 if reading is None else reading.shape[1]
    flow_code = None if reading is None else flow.new_empty(S, R, code, dtype=felt)
    sizes = {"WIDTH": H, "ENTRIES": size, "CODE": code, "TURNS": turns}
    pointers = [flow if reading is None else reading, *pointed(flow, flow_code, into_table)]
    launch("first", _from_first, (programs, S, pieces), *pointers, indices, begins, R, **sizes)
    return into_table.sum(0)[:, :entries], flow_code


def pointed(first: Tensor, *others: Tensor | None) -> list[Tensor]:
    """Something to point to, even where nothing is read."""
    return [first, *(first if other is None else other for other in others)]
