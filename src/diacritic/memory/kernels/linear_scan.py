"""s_t = a_t s_{t−1} + b_t through all steps, real or complex, one kernel forward and one back.

An element reads no other, so that each goes alone, four steps at a time: what they read does not wait for the state.
A factor that is the same at all steps or in all episodes is read where it lies, without copies of it.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.launch import launch, tiles


@triton.jit
def _store(values, at, real, imaginary, inside, PARTS: tl.constexpr):
    if PARTS == 2:
        tl.store(values + 2 * at, real, mask=inside)
        tl.store(values + 2 * at + 1, imaginary, mask=inside)
    else:
        tl.store(values + at, real, mask=inside)


@triton.jit
def _four(values, at, by, shown, left, PARTS: tl.constexpr):
    """Real and imaginary parts of four steps, zeros beyond those that are left."""
    a = tl.load(values + PARTS * at, mask=shown & (left > 0), other=0.0)
    b = tl.load(values + PARTS * (at + by), mask=shown & (left > 1), other=0.0)
    c = tl.load(values + PARTS * (at + 2 * by), mask=shown & (left > 2), other=0.0)
    d = tl.load(values + PARTS * (at + 3 * by), mask=shown & (left > 3), other=0.0)
    ai, bi, ci, di = tl.zeros_like(a), tl.zeros_like(b), tl.zeros_like(c), tl.zeros_like(d)
    if PARTS == 2:
        ai = tl.load(values + 2 * at + 1, mask=shown & (left > 0), other=0.0)
        bi = tl.load(values + 2 * (at + by) + 1, mask=shown & (left > 1), other=0.0)
        ci = tl.load(values + 2 * (at + 2 * by) + 1, mask=shown & (left > 2), other=0.0)
        di = tl.load(values + 2 * (at + 3 * by) + 1, mask=shown & (left > 3), other=0.0)
    return a, ai, b, bi, c, ci, d, di


@triton.jit
def _moved(factor, factor_i, state, state_i, added, added_i):
    """factor · state + added."""
    return factor * state - factor_i * state_i + added, factor * state_i + factor_i * state + added_i


@triton.jit
def _forward(
    kept,
    new,
    states,
    units,
    STEPS,
    by_run,
    by_step,
    by_row,
    SIZE: tl.constexpr,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * ROWS + tl.arange(0, ROWS)  # of all episodes, end to end
    shown = unit < units
    at, of = run * STEPS * units + unit, run * by_run + unit // SIZE * by_row + unit % SIZE
    s, si = tl.zeros((ROWS,), tl.float32), tl.zeros((ROWS,), tl.float32)
    for first in range(0, STEPS, 4):
        left = STEPS - first
        a0, a0i, a1, a1i, a2, a2i, a3, a3i = _four(kept, of, by_step, shown, left, PARTS)
        b0, b0i, b1, b1i, b2, b2i, b3, b3i = _four(new, at, units, shown, left, PARTS)
        s, si = _moved(a0, a0i, s, si, b0, b0i)
        _store(states, at, s, si, shown, PARTS)
        s, si = _moved(a1, a1i, s, si, b1, b1i)
        _store(states, at + units, s, si, shown & (left > 1), PARTS)
        s, si = _moved(a2, a2i, s, si, b2, b2i)
        _store(states, at + 2 * units, s, si, shown & (left > 2), PARTS)
        s, si = _moved(a3, a3i, s, si, b3, b3i)
        _store(states, at + 3 * units, s, si, shown & (left > 3), PARTS)
        at += 4 * units
        of += 4 * by_step


@triton.jit
def _step_back(into_kept, into_new, at, flow, flow_i, before, before_i, kept, kept_i, shown, PARTS: tl.constexpr):
    """What flows into both parts of a step whose flow is whole, and into the state before it."""
    _store(into_new, at, flow, flow_i, shown, PARTS)
    real, imaginary = _moved(before, -before_i, flow, flow_i, 0.0, 0.0)
    _store(into_kept, at, real, imaginary, shown, PARTS)
    return _moved(kept, -kept_i, flow, flow_i, 0.0, 0.0)


@triton.jit
def _backward(
    flows,
    kept,
    states,
    into_kept,
    into_new,
    units,
    STEPS,
    by_run,
    by_step,
    by_row,
    SIZE: tl.constexpr,
    PARTS: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    shown, last = unit < units, STEPS - 1
    at = (run * STEPS + last) * units + unit
    of = run * by_run + last * by_step + unit // SIZE * by_row + unit % SIZE
    g, gi = tl.zeros((ROWS,), tl.float32), tl.zeros((ROWS,), tl.float32)
    for done in range(0, STEPS, 4):
        left = STEPS - done
        a0, a0i, a1, a1i, a2, a2i, a3, a3i = _four(kept, of, -by_step, shown, left, PARTS)
        f0, f0i, f1, f1i, f2, f2i, f3, f3i = _four(flows, at, -units, shown, left, PARTS)
        s0, s0i, s1, s1i, s2, s2i, s3, s3i = _four(states, at - units, -units, shown, left - 1, PARTS)
        g, gi = _step_back(into_kept, into_new, at, g + f0, gi + f0i, s0, s0i, a0, a0i, shown, PARTS)
        inside = shown & (left > 1)
        g, gi = _step_back(into_kept, into_new, at - units, g + f1, gi + f1i, s1, s1i, a1, a1i, inside, PARTS)
        inside = shown & (left > 2)
        g, gi = _step_back(into_kept, into_new, at - 2 * units, g + f2, gi + f2i, s2, s2i, a2, a2i, inside, PARTS)
        inside = shown & (left > 3)
        g, gi = _step_back(into_kept, into_new, at - 3 * units, g + f3, gi + f3i, s3, s3i, a3, a3i, inside, PARTS)
        at -= 4 * units
        of -= 4 * by_step


class LinearScan(torch.autograd.Function):
    """States [S, T, N, H] from zero on, from a and b of that shape; a may be expanded over steps and episodes."""

    @staticmethod
    def forward(ctx, kept: Tensor, new: Tensor) -> Tensor:
        kept, new = kept.detach().resolve_conj(), new.detach().resolve_conj().contiguous()
        kept = kept if kept.stride(-1) == 1 else kept.contiguous()
        states = torch.empty_like(new)
        _launch("linear scan", _forward, kept, (kept, new, states), states)
        ctx.save_for_backward(kept, states)
        return states

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor, ...]:
        kept, states = ctx.saved_tensors
        into_kept, into_new = torch.empty_like(states), torch.empty_like(states)
        given = flows[0].resolve_conj().contiguous(), kept, states, into_kept, into_new
        _launch("linear scan back", _backward, kept, given, states)
        return into_kept, into_new


def _launch(name: str, kernel: object, kept: Tensor, given: tuple[Tensor, ...], states: Tensor) -> None:
    """Start a kernel on complex numbers as pairs of real ones."""
    (S, T, N, H), paired = states.shape, states.is_complex()
    numbers = [torch.view_as_real(value) if paired else value for value in given]
    sizes = N * H, T, *kept.stride()[:3]
    launch(name, kernel, (tiles(name, N * H), S), *numbers, *sizes, SIZE=H, PARTS=1 + paired)
