"""A GRU whose state is one code through all steps, one kernel forward and one back: C_t = Q(B(GRU(e_{t−1}, x_t))).

A program follows a tile of episodes of one run. B is nothing, tanh, or the unit sphere. Backward, gates are computed
again from the stored vectors, and what flows into them is stored, so that gradients of weights are large products.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put
from diacritic.memory.kernels.codes import best_of, scoring_of
from diacritic.memory.kernels.gates import columns, gates, step_back, tanh
from diacritic.memory.kernels.launch import launch, padded, tiles
from diacritic.memory.layers import Parameters
from diacritic.memory.quantise import SMALLEST, code_vectors, lowest_twin
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import first_vector
from diacritic.memory.tall import outer

WIDTHS = (16, 32, 64)
"""Numbers of a code's vector that the kernels take."""
MOST = 64
"""Codes at most."""
BOUNDS = {"none": 0, "tanh": 1, "sphere": 2}


@triton.jit
def _forward(
    told,
    weight,
    bias,
    first,
    codebook,
    twin,
    proposals,
    vectors,
    lengths,
    codes,
    episodes,
    K,
    STEPS,
    SMALLEST,
    WIDTH: tl.constexpr,
    CODES: tl.constexpr,
    BOUND: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside, size, label = row < episodes, tl.arange(0, WIDTH), tl.arange(0, CODES)
    weight += run * 3 * WIDTH * WIDTH
    weights = columns(weight, 0, WIDTH), columns(weight, 1, WIDTH), columns(weight, 2, WIDTH)
    added = tl.load(bias + run * WIDTH + size)[None, :]
    codebook += run * K * WIDTH
    scoring, half = scoring_of(codebook, label, K, WIDTH)
    state = tl.zeros((ROWS, WIDTH), tl.float32) + tl.load(first + run * WIDTH + size)[None, :]
    begin = run * STEPS * episodes
    for _ in range(STEPS):
        _, update, new, _ = gates(state, told + begin * 3 * WIDTH, row, episodes, weights, added, "tf32x3", False)
        value = new + update * (state - new)
        if BOUND == 1:
            value = tanh(value, False)
        if BOUND == 2:
            length = tl.maximum(tl.sqrt(tl.sum(value * value, 1)), SMALLEST)
            tl.store(lengths + begin + row, length, mask=inside)
            value = value / length[:, None]
        put(proposals + begin * WIDTH, value, row, episodes, WIDTH)
        _, code = best_of(value, scoring, half, label, K)
        code = tl.load(twin + run * K + code)
        tl.store(codes + begin + row, code, mask=inside)
        state = tl.load(codebook + code[:, None] * WIDTH + size[None, :])
        put(vectors + begin * WIDTH, state, row, episodes, WIDTH)
        begin += episodes


@triton.jit
def _backward(
    flows,
    told,
    weight,
    bias,
    first,
    proposals,
    vectors,
    lengths,
    into_told,
    into_state,
    into_first,
    episodes,
    STEPS,
    WIDTH: tl.constexpr,
    BOUND: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside, size = row < episodes, tl.arange(0, WIDTH)
    weight += run * 3 * WIDTH * WIDTH
    weights = columns(weight, 0, WIDTH), columns(weight, 1, WIDTH), columns(weight, 2, WIDTH)
    added = tl.load(bias + run * WIDTH + size)[None, :]
    begun = tl.load(first + run * WIDTH + size)[None, :]
    flow = tl.zeros((ROWS, WIDTH), tl.float32)
    for back in range(STEPS):
        step = STEPS - 1 - back
        begin = (run * STEPS + step) * episodes
        for k in tl.static_range(len(flows)):  # pyright: ignore[reportGeneralTypeIssues]
            flow += block(flows[k] + begin * WIDTH, row, episodes, WIDTH)
        if BOUND > 0:
            value = block(proposals + begin * WIDTH, row, episodes, WIDTH)
            if BOUND == 1:
                flow = flow * (1 - value * value)
            if BOUND == 2:
                length = tl.load(lengths + begin + row, mask=inside, other=1.0)
                flow = (flow - value * tl.sum(value * flow, 1)[:, None]) / length[:, None]
        state = block(vectors + (begin - episodes) * WIDTH, row, tl.where(step > 0, episodes, 0), WIDTH)
        state = tl.where(step > 0, state, begun)
        here = told + begin * 3 * WIDTH, into_told + begin * 3 * WIDTH, into_state + begin * 3 * WIDTH
        flow = step_back(flow, state, here[0], here[1], here[2], row, episodes, weights, added, "tf32x3", False)
    put(into_first + run * episodes * WIDTH, flow, row, episodes, WIDTH)


class GruCode(torch.autograd.Function):
    """Proposals ẽ_t and vectors e_t [S, T·N, d], and codes [S, T·N], from what a GRU is told, [S, T·N, 3d].

    That holds the biases of r and z; `bias` [S, d] is that of n on the side of the state. `first` [S, 1, d] is e₀, and
    `codebook` [S, K, d] holds the vectors of the codes as they are; no gradient reaches it from here.
    """

    @staticmethod
    def forward(
        ctx, told: Tensor, weight: Tensor, bias: Tensor, first: Tensor, codebook: Tensor, steps: int, bound: str
    ) -> tuple[Tensor, Tensor, Tensor]:
        given = [value.detach().contiguous() for value in (told, weight, bias, first, codebook)]
        (S, R, _), (_, K, d), episodes = told.shape, codebook.shape, told.shape[1] // steps
        proposals, vectors, lengths = told.new_empty(S, R, d), told.new_empty(S, R, d), told.new_empty(S, R)
        codes = torch.empty(S, R, dtype=torch.int64, device=told.device)
        results = proposals, vectors, lengths, codes, episodes, K, steps, SMALLEST
        ctx.settings = {"WIDTH": d, "BOUND": BOUNDS[bound]}
        grid = tiles("GRU code", episodes), S
        launch("GRU code", _forward, grid, *given, lowest_twin(given[-1]), *results, CODES=padded(K), **ctx.settings)
        ctx.save_for_backward(*given[:-1], proposals, vectors, lengths)
        ctx.steps = steps
        ctx.mark_non_differentiable(codes)
        ctx.set_materialize_grads(False)
        return proposals, vectors, codes

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        told, weight, bias, first, proposals, vectors, lengths = ctx.saved_tensors
        flows = tuple(flow.contiguous() for flow in gradients[:2] if flow is not None)
        (S, R, d), into_told, into_state = vectors.shape, torch.empty_like(told), torch.empty_like(told)
        episodes = R // ctx.steps
        into_first = vectors.new_empty(S, episodes, d)
        given = flows, told, weight, bias, first, proposals, vectors, lengths, into_told, into_state, into_first
        grid = tiles("GRU code back", episodes), S
        launch("GRU code back", _backward, grid, *given, episodes, ctx.steps, **ctx.settings)
        before = torch.cat([first.expand(-1, episodes, -1), vectors[:, :-episodes]], 1)
        of_weights = outer(before, into_state), into_state[..., 2 * d :].sum(1), into_first.sum(1, keepdim=True)
        return into_told, *of_weights, None, None, None


def follow(
    parameters: Parameters, architecture: Architecture, entered: Tensor, steps: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Proposals, vectors and codes of all rows from what the input adds to the gates, [S, T·N, 3d]."""
    bias, size, bound = parameters["cell.state.bias"], architecture.code_size, architecture.bound
    told = entered + torch.nn.functional.pad(bias[:, : 2 * size], (0, size)).unsqueeze(1)
    codebook, first = code_vectors(parameters["codebook"], bound).detach(), first_vector(parameters, architecture)
    given = told, parameters["cell.state.weight"], bias[:, 2 * size :], first, codebook
    proposals, vectors, codes = GruCode.apply(*given, steps, bound)
    return proposals, vectors, codes


def fits(architecture: Architecture) -> bool:
    """Whether the kernels take these sizes; others are followed step by step."""
    return architecture.code_size in WIDTHS and architecture.codes <= MOST
