"""A head told every later offset j in turn: the squared errors of all pairs (t, t + j) and their gradient in one pass.

Only the offset's row changes between the pairs of one step, so programs take some rows and loop over offsets. Of a pair
only what flows into the second hidden layer is stored, for two more kernels: one sums the gradient of that layer, the
other goes on to the first. One kernel for all of it would not have enough registers. The loss is a sum for every run,
so its gradient is found with it and scaled when it is known what flows into it.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.training.kernels.encoder import block, put, square, turned
from diacritic.training.kernels.errors import later_targets
from diacritic.training.kernels.heads import fetched, first_back, pointed
from diacritic.training.kernels.launch import launch, padded, shares, tiles


@triton.jit
def _firsts(
    shown,
    observing,
    observing_bias,
    apart,
    apart_bias,
    table,
    code,
    into,
    rows,
    entries,
    WIDTH: tl.constexpr,
    FRESH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What a head's first layer is made of without an offset."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    LOW: tl.constexpr = shown.dtype.element_ty
    total = block(shown + run * rows * WIDTH, row, rows, WIDTH)
    if FRESH:
        total = tl.dot(total, square(observing + run * apart, WIDTH), input_precision="ieee")
        total += tl.load(observing_bias + run * apart_bias + tl.arange(0, WIDTH))[None, :]
    total = total.to(tl.float32) + fetched(table + run * entries * WIDTH, code, 0, run, row, rows, LOW, WIDTH)
    put(into + run * rows * WIDTH, total, row, rows, WIDTH)


@triton.jit
def _entered(firsts, offsets, j, row, rows, LOW: tl.constexpr, WIDTH: tl.constexpr):
    """The first layer of some rows at an offset."""
    offset = tl.load(offsets + j * WIDTH + tl.arange(0, WIDTH)).to(LOW).to(tl.float32)
    return tl.maximum(block(firsts, row, rows, WIDTH).to(tl.float32) + offset[None, :], 0.0).to(LOW)


@triton.jit
def _pairs(j, horizon, places):
    """Before which place of the stored pairs those of an offset begin, and how many there are."""
    return places * ((j - 1) * horizon - j * (j - 1) // 2), places * (horizon - j)


@triton.jit
def _ahead(
    firsts,
    offsets,
    inner,
    inner_bias,
    last,
    last_bias,
    origins,
    away,
    weight,
    target,
    loss,
    flows,
    into,
    rows,
    outputs,
    episodes,
    horizon,
    forecasts,
    strides,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    GRADIENT: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    """Σ w ‖q(O_t, C_t, j) − ã_{t,j}‖² / A over all offsets of a share of the rows, and its gradient."""
    run = tl.program_id(1).to(tl.int64)
    column, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    LOW: tl.constexpr = firsts.dtype.element_ty
    real = answer < outputs
    # Weights are loaded once and stay on the chip while the program goes through its rows.
    deeper = square(inner + run * WIDTH * WIDTH, WIDTH)
    # Outputs are few, and the rows of what follows: narrow factors on the right waste the tensor cores.
    onto = tl.load(
        last + run * WIDTH * outputs + (column[None, :] * outputs + answer[:, None]), mask=real[:, None], other=0.0
    )
    onto_bias = tl.load(last_bias + run * outputs + answer, mask=real, other=0.0)[:, None]
    inner_bias += run * WIDTH + column
    firsts += run * rows * WIDTH
    offsets += run * horizon * WIDTH
    target += (run % forecasts) * strides[0]
    places = rows // horizon
    flows += run * (places * (horizon * (horizon - 1) // 2)) * WIDTH
    spent = tl.zeros((ROWS,), tl.float32)
    if GRADIENT:
        sum_last, sum_last_bias = tl.zeros((OUTPUTS, WIDTH), tl.float32), tl.zeros((OUTPUTS,), tl.float32)
    for turn in range(TURNS):
        tile = turn * tl.num_programs(0) + tl.program_id(0)
        row = tile * ROWS + tl.arange(0, ROWS)
        inside = row < rows
        share = tl.load(weight + run * rows + row, mask=inside, other=0.0) / outputs
        place = tl.load(origins + run * away + row, mask=inside, other=0)
        time = tl.where(inside, place // episodes, horizon)
        begun = tile * ROWS // places  # the least time of the tile
        wanted = (place // episodes) * strides[1] + (place % episodes) * strides[2]
        for j in range(1, horizon - begun):  # beyond, no row of the tile has a later step
            counted = (time + j < horizon)[None, :] & real[:, None]
            entered = _entered(firsts, offsets, j, row, rows, LOW, WIDTH)
            hidden = tl.dot(entered, deeper, input_precision="ieee") + tl.load(inner_bias)[None, :]
            hidden = tl.maximum(hidden, 0.0).to(LOW)
            gap = tl.dot(onto, tl.trans(hidden), input_precision="ieee") + onto_bias
            later = (wanted + (j - 1) * strides[3])[None, :] + answer[:, None] * strides[4]
            gap = tl.where(counted, gap - tl.load(target + later, mask=counted, other=0.0), 0.0)
            spent += tl.sum(gap * gap, 0) * share
            if GRADIENT:
                back = 2 * share[None, :] * gap
                sum_last_bias += tl.sum(back, 1)
                back = back.to(LOW)
                sum_last = tl.dot(back, hidden, sum_last, input_precision="ieee")
                above = tl.where(hidden > 0, tl.dot(tl.trans(back), onto, input_precision="ieee"), 0.0)
                before, count = _pairs(j, horizon, places)
                put(flows + before * WIDTH, above, row, count, WIDTH)
    share = tl.program_id(0) * tl.num_programs(1) + run
    tl.store(loss + share, tl.sum(spent))
    if GRADIENT:
        into += share * OUTPUTS * (WIDTH + 1)
        tl.store(into + answer[:, None] * WIDTH + column[None, :], sum_last)
        tl.store(into + OUTPUTS * WIDTH + answer, sum_last_bias)


@triton.jit
def _down(
    firsts,
    offsets,
    inner,
    flows,
    flow_first,
    into_offsets,
    rows,
    horizon,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What flows into the first layer of a tile from all offsets, and its sum over the tile at each of them."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    LOW: tl.constexpr = firsts.dtype.element_ty
    places = rows // horizon
    firsts += run * rows * WIDTH
    offsets += run * horizon * WIDTH
    flows += run * (places * (horizon * (horizon - 1) // 2)) * WIDTH
    into_offsets += (tl.program_id(0) * tl.num_programs(1) + run) * horizon * WIDTH + tl.arange(0, WIDTH)
    back = turned(inner + run * WIDTH * WIDTH, WIDTH)
    total = tl.zeros((ROWS, WIDTH), tl.float32)
    for j in range(1, horizon - tl.program_id(0) * ROWS // places):
        before, count = _pairs(j, horizon, places)
        flow = tl.dot(block(flows + before * WIDTH, row, count, WIDTH), back, input_precision="ieee")
        flow = tl.where(_entered(firsts, offsets, j, row, rows, LOW, WIDTH) > 0, flow, 0.0)
        total += flow
        tl.store(into_offsets + j * WIDTH, tl.sum(flow, 0))
    put(flow_first + run * rows * WIDTH, total, row, rows, WIDTH)


@triton.jit
def _inner(
    firsts,
    offsets,
    flows,
    into,
    rows,
    horizon,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    """Gradients of the second hidden layer's weight and bias over all offsets of a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, WIDTH)
    LOW: tl.constexpr = firsts.dtype.element_ty
    places = rows // horizon
    firsts += run * rows * WIDTH
    offsets += run * horizon * WIDTH
    flows += run * (places * (horizon * (horizon - 1) // 2)) * WIDTH
    total = tl.zeros((WIDTH, WIDTH), tl.float32)
    bias = tl.zeros((WIDTH,), tl.float32)
    for turn in range(TURNS):
        tile = turn * tl.num_programs(0) + tl.program_id(0)
        row = tile * ROWS + tl.arange(0, ROWS)
        for j in range(1, horizon - tile * ROWS // places):
            before, count = _pairs(j, horizon, places)
            flow = block(flows + before * WIDTH, row, count, WIDTH)
            entered = _entered(firsts, offsets, j, row, rows, LOW, WIDTH)
            total = tl.dot(tl.trans(entered), flow, total, input_precision="ieee")
            bias += tl.sum(flow.to(tl.float32), 0)
    into += (tl.program_id(0) * tl.num_programs(1) + run) * (WIDTH + 1) * WIDTH
    tl.store(into + column[:, None] * WIDTH + column[None, :], total)
    tl.store(into + WIDTH * WIDTH + column, bias)


class ErrorsAhead(torch.autograd.Function):
    """Σ_r w_r Σ_j ‖q(O_r, C_r, j) − ã_{r,j}‖² / A of every run, [S], over all j ≥ 1 that stay within the episode.

    The head q has two hidden layers, the first of them part + table[C] + offsets[j]. `part`, `observing`, `embedding`,
    `table` [S, V, H] and `reading` are those of `heads.Read`; `offsets` is [S, T, H]. ã is a forecast
    [·, T, N, T − 1, A] or the recorded actions [T, N, A]; `origins` says which row t·N + n of them a row is;
    rows go step by step, as many at each.
    """

    @staticmethod
    def forward(
        ctx,
        part: Tensor,
        observing: tuple[Tensor, Tensor, Tensor] | None,
        embedding: Tensor,
        table: Tensor,
        offsets: Tensor,
        inner: Tensor,
        inner_bias: Tensor,
        last: Tensor,
        last_bias: Tensor,
        reading: Tensor,
        code: Tensor,
        target: Tensor,
        origins: Tensor,
        weight: Tensor,
    ) -> Tensor:
        S, R, H = part.shape
        outputs, T = last.shape[-1], offsets.shape[1]
        columns, gradient = padded(outputs), any(ctx.needs_input_grad)
        low_inner, low_last, low_reading = (value.to(part.dtype).contiguous() for value in (inner, last, reading))
        full = [value.contiguous() for value in (offsets, inner_bias, last_bias, code, weight)]
        firsts = _first_layer(part, observing, table, full[3])
        programs, turns = shares("ahead", R, S)
        loss = torch.empty(programs, S, device=part.device)
        flows = into = None
        if gradient:
            flows = firsts.new_empty(S, R // T * (T * (T - 1) // 2), H)
            into = loss.new_empty(programs, S, columns * (H + 1))
        aim, forecasts, horizon, episodes, strides = later_targets(target)
        tables = firsts, full[0], low_inner, full[1], low_last, full[2]
        others = origins, origins.stride(0), full[4], aim, *pointed(loss, flows, into)
        numbers = R, outputs, episodes, horizon, forecasts, strides
        sizes = {"WIDTH": H, "OUTPUTS": columns, "GRADIENT": gradient, "TURNS": turns}
        launch("ahead", _ahead, (programs, S), *tables, *others, *numbers, **sizes)
        if into is not None and flows is not None:
            found = *_of_first(firsts, full[0], low_inner, flows), *_of_inner(firsts, full[0], flows)
            ctx.save_for_backward(*found, *into.sum(0).split([columns * H, columns], 1), full[3], low_reading)
        ctx.entries, ctx.outputs, ctx.felt = table.shape[1], outputs, embedding.dtype
        return loss.sum(0)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        flow, of_offsets, of_inner, of_bias, of_last, of_last_bias, code, reading = ctx.saved_tensors
        S, _, H = flow.shape
        pull = flows[0].view(S, 1)
        flow = (flow * pull.unsqueeze(-1)).to(flow.dtype)
        of_table, flow_code = first_back(flow, reading, ctx.felt, ctx.entries, (code,), (0,))
        of_last = (of_last.view(S, -1, H)[:, : ctx.outputs] * pull.unsqueeze(-1)).mT
        of_layers = of_inner * pull.unsqueeze(-1), of_bias * pull, of_last, of_last_bias[:, : ctx.outputs] * pull
        return flow, None, flow_code, of_table, of_offsets * pull.unsqueeze(-1), *of_layers, *[None] * 5


def _first_layer(part: Tensor, observing: tuple[Tensor, Tensor, Tensor] | None, table: Tensor, code: Tensor) -> Tensor:
    """What the first layer is made of without an offset, [S, R, H] in low precision."""
    S, R, H = part.shape
    shown, weight, bias = (part, None, None) if observing is None else observing
    apart = (0, 0) if weight is None or bias is None else (weight.stride(0), bias.stride(0))
    into = torch.empty_like(shown)
    pointers = *pointed(shown, weight, bias), *apart, table.contiguous(), code, into
    kind = {"WIDTH": H, "FRESH": observing is not None}
    launch("ahead first", _firsts, (tiles("ahead first", R), S), *pointers, R, table.shape[1], **kind)
    return into


def _of_first(firsts: Tensor, offsets: Tensor, inner: Tensor, flows: Tensor) -> tuple[Tensor, Tensor]:
    """What flows into the first layer, [S, R, H], and the gradient of the offsets, [S, T, H]."""
    (S, R, H), T = firsts.shape, offsets.shape[1]
    flow, programs = torch.empty_like(firsts), tiles("ahead down", R)
    into = offsets.new_zeros(programs, S, T, H)  # not every tile meets every offset
    launch("ahead down", _down, (programs, S), firsts, offsets, inner, flows, flow, into, R, T, WIDTH=H)
    return flow, into.sum(0)


def _of_inner(firsts: Tensor, offsets: Tensor, flows: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the second hidden layer, [S, H, H] and [S, H]."""
    S, R, H = firsts.shape
    programs, turns = shares("ahead inner", R, S)
    into = torch.empty(programs, S, H + 1, H, device=firsts.device)
    numbers = into, R, offsets.shape[1]
    launch("ahead inner", _inner, (programs, S), firsts, offsets, flows, *numbers, WIDTH=H, TURNS=turns)
    total = into.sum(0)
    return total[:, :-1], total[:, -1]
