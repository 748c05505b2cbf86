"""One step of a GRU inside a kernel: its gates, and what flows back through them.

r = σ(told_r + W_r h), z = σ(told_z + W_z h), n = tanh(told_n + r (W_n h + b_n)), h' = n + z (h − n). What a step is
told lies as thirds of a row, in the order r, z, n, and so do the columns of the weight W.
"""

import triton
import triton.language as tl
from triton import knobs

HARDWARE = not knobs.runtime.interpret
"""Whether there may be machine instructions in a kernel: not in Triton's interpreter."""


@triton.jit
def third(values, row, rows, which, WIDTH: tl.constexpr):
    """One third of some rows; rows beyond the end are zero."""
    column = which * WIDTH + tl.arange(0, WIDTH)
    return tl.load(values + (row[:, None] * 3 * WIDTH + column[None, :]), mask=(row < rows)[:, None], other=0.0)


@triton.jit
def put_third(values, content, row, rows, which, WIDTH: tl.constexpr):
    """Write one third of some rows."""
    column = which * WIDTH + tl.arange(0, WIDTH)
    tl.store(values + (row[:, None] * 3 * WIDTH + column[None, :]), content, mask=(row < rows)[:, None])


@triton.jit
def columns(weight, which, WIDTH: tl.constexpr):
    """The columns of one gate, as a square matrix."""
    return third(weight, tl.arange(0, WIDTH), WIDTH, which, WIDTH)


@triton.jit
def tanh(x, QUICK: tl.constexpr):
    """tanh; QUICK, to about 11 bits in one instruction."""
    if QUICK:
        return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    else:
        shrunk = tl.exp(-2 * tl.abs(x))
        size = (1 - shrunk) / (1 + shrunk)
        return tl.where(x < 0, -size, size)


@triton.jit
def sigmoid(x, QUICK: tl.constexpr):
    return 0.5 * tanh(0.5 * x, QUICK) + 0.5


@triton.jit
def gates(state, told, row, rows, weights, bias, PRECISION: tl.constexpr, QUICK: tl.constexpr):
    """r, z, n and W_n h + b_n of some rows; `told` points to the first of them, `weights` are those of r, z and n."""
    WIDTH: tl.constexpr = state.shape[1]
    inner = tl.dot(state, weights[2], input_precision=PRECISION) + bias
    heard = third(told, row, rows, 0, WIDTH).to(tl.float32)
    reset = sigmoid(tl.dot(state, weights[0], input_precision=PRECISION) + heard, QUICK)
    new = tanh(third(told, row, rows, 2, WIDTH).to(tl.float32) + reset * inner, QUICK)
    heard = third(told, row, rows, 1, WIDTH).to(tl.float32)
    update = sigmoid(tl.dot(state, weights[1], input_precision=PRECISION) + heard, QUICK)
    return reset, update, new, inner


@triton.jit
def gates_back(flow, state, reset, update, new, inner):
    """What flows into r, z and n before they are squashed, and past the gates into h."""
    into_new = flow * (1 - update) * (1 - new * new)
    into_reset = into_new * inner * reset * (1 - reset)
    into_update = flow * (state - new) * update * (1 - update)
    return into_reset, into_update, into_new, flow * update


@triton.jit
def step_back(
    flow, state, told, into_told, into_state, row, rows, weights, bias, PRECISION: tl.constexpr, QUICK: tl.constexpr
):
    """What flows into h from h', past the gates and through them, which are computed again.

    What flows into the gates is stored, on the side of the input and on that of the state, where n has the factor r.
    """
    WIDTH: tl.constexpr = state.shape[1]
    gated = gates(state, told, row, rows, weights, bias, PRECISION, QUICK)
    reset, update, new, inner = gated  # pyright: ignore[reportGeneralTypeIssues]
    into_reset, into_update, into_new, flow = gates_back(flow, state, reset, update, new, inner)
    into_inner = into_new * reset
    put_third(into_told, into_reset, row, rows, 0, WIDTH)
    put_third(into_told, into_update, row, rows, 1, WIDTH)
    put_third(into_told, into_new, row, rows, 2, WIDTH)
    put_third(into_state, into_reset, row, rows, 0, WIDTH)
    put_third(into_state, into_update, row, rows, 1, WIDTH)
    put_third(into_state, into_inner, row, rows, 2, WIDTH)
    flow = tl.dot(into_reset, tl.trans(weights[0]), flow, input_precision=PRECISION)
    flow = tl.dot(into_update, tl.trans(weights[1]), flow, input_precision=PRECISION)
    return tl.dot(into_inner, tl.trans(weights[2]), flow, input_precision=PRECISION)
