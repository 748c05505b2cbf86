"""The continuous path of a scaffold or bypass: a GRU from zero through all steps, one kernel forward and one back.

A program follows a tile of episodes of one run. Backward, gates are computed again from the stored states, and what
flows into them is stored, so that gradients of weights are large products.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.layers import Parameters
from diacritic.memory.tall import outer, tall_linear
from diacritic.training.kernels.encoder import block, put
from diacritic.training.kernels.gates import columns, gates, gates_back, put_third
from diacritic.training.kernels.launch import launch, tiles

WIDTHS = (16, 32, 64)
"""Numbers of the state that the kernels take."""


@triton.jit
def _forward(
    told, weight, bias, states, episodes, STEPS, WIDTH: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    weight += run * 3 * WIDTH * WIDTH
    weights = columns(weight, 0, WIDTH), columns(weight, 1, WIDTH), columns(weight, 2, WIDTH)
    added = tl.load(bias + run * WIDTH + tl.arange(0, WIDTH))[None, :]
    state = tl.zeros((ROWS, WIDTH), tl.float32)
    begin = run * STEPS * episodes
    for _ in range(STEPS):
        _, update, new, _ = gates(state, told + begin * 3 * WIDTH, row, episodes, weights, added, PRECISION, False)
        state = new + update * (state - new)
        put(states + begin * WIDTH, state, row, episodes, WIDTH)
        begin += episodes


@triton.jit
def _backward(
    flows,
    told,
    weight,
    bias,
    states,
    into_told,
    into_state,
    episodes,
    STEPS,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What flows into the gates on the side of the input, and on that of the state, where n has the factor r."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    weight += run * 3 * WIDTH * WIDTH
    weights = columns(weight, 0, WIDTH), columns(weight, 1, WIDTH), columns(weight, 2, WIDTH)
    added = tl.load(bias + run * WIDTH + tl.arange(0, WIDTH))[None, :]
    flow = tl.zeros((ROWS, WIDTH), tl.float32)
    for back in range(STEPS):
        step = STEPS - 1 - back
        begin = (run * STEPS + step) * episodes
        flow += block(flows + begin * WIDTH, row, episodes, WIDTH)
        state = block(states + (begin - episodes) * WIDTH, row, tl.where(step > 0, episodes, 0), WIDTH)
        here = told + begin * 3 * WIDTH
        reset, update, new, inner = gates(state, here, row, episodes, weights, added, PRECISION, False)
        into_reset, into_update, into_new, flow = gates_back(flow, state, reset, update, new, inner)
        into_inner = into_new * reset
        here = into_told + begin * 3 * WIDTH
        put_third(here, into_reset, row, episodes, 0, WIDTH)
        put_third(here, into_update, row, episodes, 1, WIDTH)
        put_third(here, into_new, row, episodes, 2, WIDTH)
        here = into_state + begin * 3 * WIDTH
        put_third(here, into_reset, row, episodes, 0, WIDTH)
        put_third(here, into_update, row, episodes, 1, WIDTH)
        put_third(here, into_inner, row, episodes, 2, WIDTH)
        flow = tl.dot(into_reset, tl.trans(weights[0]), flow, input_precision=PRECISION)
        flow = tl.dot(into_update, tl.trans(weights[1]), flow, input_precision=PRECISION)
        flow = tl.dot(into_inner, tl.trans(weights[2]), flow, input_precision=PRECISION)


class Path(torch.autograd.Function):
    """States [S, T·N, H] of a GRU that starts from zero, from what it is told [S, T·N, 3H].

    That holds the biases of r and z; `bias` [S, H] is that of n on the side of the state. `weight` is [S, H, 3H].
    """

    @staticmethod
    def forward(ctx, told: Tensor, weight: Tensor, bias: Tensor, steps: int, precision: str) -> Tensor:
        told, weight, bias = (value.detach().contiguous() for value in (told, weight, bias))
        (S, R, _), H = told.shape, weight.shape[1]
        states = told.new_empty(S, R, H)
        ctx.settings, episodes = {"WIDTH": H, "PRECISION": precision}, R // steps
        grid = tiles("path", episodes), S
        launch("path", _forward, grid, told, weight, bias, states, episodes, steps, **ctx.settings)
        ctx.save_for_backward(told, weight, bias, states)
        ctx.steps = steps
        return states

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        told, weight, bias, states = ctx.saved_tensors
        (S, R, H), steps = states.shape, ctx.steps
        episodes, into_told, into_state = R // steps, torch.empty_like(told), torch.empty_like(told)
        given = flows[0].contiguous(), told, weight, bias, states, into_told, into_state, episodes, steps
        launch("path back", _backward, (tiles("path back", episodes), S), *given, **ctx.settings)
        before = torch.cat([states.new_zeros(S, episodes, H), states[:, :-episodes]], 1)
        return into_told, outer(before, into_state), into_state[..., 2 * H :].sum(1), None, None


def path(parameters: Parameters, side: Tensor, acted: Tensor, steps: int, rough: bool) -> Tensor:
    """What the continuous path adds to every proposal at full strength, [S, T·N, d]."""
    told = torch.cat([side, acted.expand(len(side), -1, -1)], -1)
    told, inner = told_with_biases(parameters, "path", told)
    states = Path.apply(told, parameters["path.state.weight"], inner, steps, "tf32" if rough else "tf32x3")
    return tall_linear(states, parameters["path.out.weight"], parameters["path.out.bias"])


def told_with_biases(parameters: Parameters, name: str, rows: Tensor) -> tuple[Tensor, Tensor]:
    """What a GRU is told, [S, R, 3H], with the state's biases of r and z; and that of n, [S, H]."""
    bias = parameters[f"{name}.state.bias"]
    outward, inner = bias.split([2 * bias.shape[1] // 3, bias.shape[1] // 3], 1)
    more = torch.nn.functional.pad(outward, (0, inner.shape[1]))
    return tall_linear(rows, parameters[f"{name}.input.weight"], parameters[f"{name}.input.bias"] + more), inner


def fits(parameters: Parameters) -> bool:
    """Whether the kernels take this path; `training.unrolled` loops over steps where they do not."""
    weight = parameters["path.state.weight"]
    return weight.shape[1] in WIDTHS and weight.dtype == torch.float32
