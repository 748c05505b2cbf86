"""The recurrence itself, forward and back: a program follows a tile of episodes of one run through all steps.

e_t = Q(B(e_{t−1} + f(e_{t−1}, ·) + p_t)) with f of one or two hidden layers and B nothing, tanh, or the unit sphere.
The part of f that does not depend on the code is given for all steps, and so is p_t, what a continuous path adds.
Forward, hidden layers are stored; backward, the full gradient through time is followed, and what flows into each layer
is stored, so that gradients of weights are large products.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put, tall
from diacritic.memory.kernels.codes import best_of, scoring_of
from diacritic.memory.kernels.launch import launch, pieced, tiles
from diacritic.memory.layers import Parameters
from diacritic.memory.quantise import SMALLEST, code_vectors, lowest_twin
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import first_vector
from diacritic.memory.tall import outer

LARGEST = 1024
"""Codes at most."""
BOUNDS = {"none": 0, "tanh": 1, "sphere": 2}


@triton.jit
def _turned(weight, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """The transpose of a matrix of HEIGHT rows, as a block of WIDTH rows."""
    return tl.load(weight + (tl.arange(0, HEIGHT)[None, :] * WIDTH + tl.arange(0, WIDTH)[:, None]))


@triton.jit
def _forward(
    driven,
    pushed,
    first,
    entering,
    middle,
    middle_bias,
    leaving,
    leaving_bias,
    codebook,
    twin,
    lower,
    upper,
    proposal,
    embedding,
    norm,
    codes,
    episodes,
    K,
    STEPS,
    SMALLEST,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    CHUNK: tl.constexpr,
    CHUNKS: tl.constexpr,
    DEEP: tl.constexpr,
    BOUND: tl.constexpr,
    PERSISTENT: tl.constexpr,
    PUSHED: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < episodes
    size = tl.arange(0, SIZE)
    inward = tall(entering + run * SIZE * WIDTH, SIZE, WIDTH)
    outward = tall(leaving + run * WIDTH * SIZE, WIDTH, SIZE)
    outward_bias = tl.load(leaving_bias + run * SIZE + size)[None, :]
    if DEEP:
        inner = tall(middle + run * WIDTH * WIDTH, WIDTH, WIDTH)
        inner_bias = tl.load(middle_bias + run * WIDTH + tl.arange(0, WIDTH))[None, :]
    codebook += run * K * SIZE
    twin += run * K
    if CHUNKS == 1:
        scoring, half = scoring_of(codebook, tl.arange(0, CHUNK), K, SIZE)
    state = tl.zeros((ROWS, SIZE), tl.float32) + tl.load(first + run * SIZE + size)[None, :]
    begin = run * STEPS * episodes
    for _ in range(STEPS):
        if not PERSISTENT:
            state = tl.zeros((ROWS, SIZE), tl.float32)
        hidden = block(driven + begin * WIDTH, row, episodes, WIDTH)
        hidden = tl.maximum(tl.dot(state, inward, hidden, input_precision=PRECISION), 0.0)
        put(lower + begin * WIDTH, hidden, row, episodes, WIDTH)
        if DEEP:
            hidden = tl.maximum(tl.dot(hidden, inner, input_precision=PRECISION) + inner_bias, 0.0)
            put(upper + begin * WIDTH, hidden, row, episodes, WIDTH)
        value = state + (tl.dot(hidden, outward, input_precision=PRECISION) + outward_bias)
        if PUSHED:
            value += block(pushed + begin * SIZE, row, episodes, SIZE)
        if BOUND == 1:
            value = 2 / (1 + tl.exp(-2 * value)) - 1
        if BOUND == 2:
            length = tl.maximum(tl.sqrt(tl.sum(value * value, 1)), SMALLEST)
            tl.store(norm + begin + row, length, mask=inside)
            value = value / length[:, None]
        put(proposal + begin * SIZE, value, row, episodes, SIZE)
        if CHUNKS == 1:
            _, code = best_of(value, scoring, half, tl.arange(0, CHUNK), K)
        else:
            best, code = tl.full((ROWS,), float("-inf"), tl.float32), tl.full((ROWS,), K - 1, tl.int32)
            for k in range(CHUNKS):
                label = k * CHUNK + tl.arange(0, CHUNK)
                scoring, half = scoring_of(codebook, label, K, SIZE)
                top, here = best_of(value, scoring, half, label, K)
                code = tl.where(top > best, here, code)
                best = tl.maximum(top, best)
        code = tl.load(twin + code)
        tl.store(codes + begin + row, code, mask=inside)
        state = tl.load(codebook + code[:, None] * SIZE + size[None, :])
        put(embedding + begin * SIZE, state, row, episodes, SIZE)
        begin += episodes


@triton.jit
def _backward(
    flows,
    proposal,
    norm,
    lower,
    upper,
    entering,
    middle,
    leaving,
    into_lower,
    into_upper,
    into_out,
    into_first,
    episodes,
    STEPS,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    DEEP: tl.constexpr,
    BOUND: tl.constexpr,
    PERSISTENT: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < episodes
    inward = _turned(entering + run * SIZE * WIDTH, SIZE, WIDTH)
    outward = _turned(leaving + run * WIDTH * SIZE, WIDTH, SIZE)
    if DEEP:
        inner = _turned(middle + run * WIDTH * WIDTH, WIDTH, WIDTH)
    begin = (run * STEPS + STEPS - 1) * episodes
    flow = tl.zeros((ROWS, SIZE), tl.float32)
    for _ in range(STEPS):
        for k in tl.static_range(len(flows)):  # pyright: ignore[reportGeneralTypeIssues]
            flow += block(flows[k] + begin * SIZE, row, episodes, SIZE)
        if BOUND > 0:
            value = block(proposal + begin * SIZE, row, episodes, SIZE)
            if BOUND == 1:
                flow = flow * (1 - value * value)
            if BOUND == 2:
                length = tl.load(norm + begin + row, mask=inside, other=1.0)
                flow = (flow - value * tl.sum(value * flow, 1)[:, None]) / length[:, None]
        put(into_out + begin * SIZE, flow, row, episodes, SIZE)
        back = tl.dot(flow, outward, input_precision=PRECISION)
        if DEEP:
            back = tl.where(block(upper + begin * WIDTH, row, episodes, WIDTH) > 0, back, 0.0)
            put(into_upper + begin * WIDTH, back, row, episodes, WIDTH)
            back = tl.dot(back, inner, input_precision=PRECISION)
        back = tl.where(block(lower + begin * WIDTH, row, episodes, WIDTH) > 0, back, 0.0)
        put(into_lower + begin * WIDTH, back, row, episodes, WIDTH)
        if PERSISTENT:
            flow = tl.dot(back, inward, flow, input_precision=PRECISION)
        else:
            flow = tl.zeros((ROWS, SIZE), tl.float32)
        begin -= episodes
    put(into_first + run * episodes * SIZE, flow, row, episodes, SIZE)


class Recurrence(torch.autograd.Function):
    """Proposals ẽ_t and vectors e_t [S, T·N, d], and codes [S, T·N], from what drives f's first layer [S, T·N, H].

    `pushed` [S, T·N, d] is added to the proposals before they are bounded, where it is given. `first` [S, 1, d] is e₀
    and `codebook` [S, K, d] holds the vectors of the codes as they are. f's layers are `entering` [S, d, H], `middle`
    [S, H, H] with its bias (none: one hidden layer), `leaving` [S, H, d] with its bias.
    """

    @staticmethod
    def forward(
        ctx,
        driven: Tensor,
        pushed: Tensor | None,
        first: Tensor,
        entering: Tensor,
        middle: Tensor | None,
        middle_bias: Tensor | None,
        leaving: Tensor,
        leaving_bias: Tensor,
        codebook: Tensor,
        steps: int,
        bound: str,
        persistent: bool,
        precision: str,
    ) -> tuple[Tensor, Tensor, Tensor]:
        (S, R, H), (_, K, d) = driven.shape, codebook.shape
        episodes, deep = R // steps, middle is not None
        given = [value.detach().contiguous() for value in (driven, first, entering, leaving, leaving_bias, codebook)]
        driven, first, entering, leaving, leaving_bias, codebook = given
        more = [driven if one is None else one.detach().contiguous() for one in (pushed, middle, middle_bias)]
        lower = torch.empty_like(driven)
        upper = torch.empty_like(driven) if deep else lower
        proposal, embedding, norm = driven.new_empty(S, R, d), driven.new_empty(S, R, d), driven.new_empty(S, R)
        codes = torch.empty(S, R, dtype=torch.int64, device=driven.device)
        layers = driven, more[0], first, entering, *more[1:], leaving, leaving_bias, codebook, lowest_twin(codebook)
        numbers = lower, upper, proposal, embedding, norm, codes, episodes, K, steps, SMALLEST
        sizes = {"SIZE": d, "WIDTH": H, "DEEP": deep, "BOUND": BOUNDS[bound], "PERSISTENT": persistent}
        constants = {**sizes, "PRECISION": precision}
        grid, (chunk, chunks) = (tiles("recurrence", episodes), S), pieced("recurrence", K)
        more_constants = {"CHUNK": chunk, "CHUNKS": chunks, "PUSHED": pushed is not None}
        launch("recurrence", _forward, grid, *layers, *numbers, **constants, **more_constants)
        ctx.constants, ctx.steps = constants, steps
        ctx.save_for_backward(proposal, norm, lower, upper, entering, more[1], leaving, first, embedding)
        ctx.mark_non_differentiable(codes)
        ctx.set_materialize_grads(False)
        return proposal, embedding, codes

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        proposal, norm, lower, upper, entering, middle, leaving, first, embedding = ctx.saved_tensors
        flows = tuple(flow.contiguous() for flow in gradients[:2] if flow is not None)
        (S, R), d, deep = lower.shape[:2], proposal.shape[-1], ctx.constants["DEEP"]
        episodes = R // ctx.steps
        into_lower, into_out = torch.empty_like(lower), torch.empty_like(proposal)
        into_upper = torch.empty_like(lower) if deep else into_lower
        into_first = proposal.new_empty(S, episodes, d)
        values = flows, proposal, norm, lower, upper, entering, middle, leaving
        results = into_lower, into_upper, into_out, into_first
        grid = tiles("recurrence back", episodes), S
        launch("recurrence back", _backward, grid, *values, *results, episodes, ctx.steps, **ctx.constants)
        carried = torch.cat([first.expand(-1, episodes, -1), embedding[:, :-episodes]], 1)
        if not ctx.constants["PERSISTENT"]:
            carried = torch.zeros_like(carried)
        of_middle = (outer(lower, into_upper), into_upper.sum(1)) if deep else (None, None)
        of_first = into_first.sum(1, keepdim=True)
        of_layers = of_first, outer(carried, into_lower), *of_middle, outer(upper, into_out), into_out.sum(1)
        of_pushed = into_out if ctx.needs_input_grad[1] else None
        return into_lower, of_pushed, *of_layers, None, None, None, None, None


def follow(
    parameters: Parameters,
    architecture: Architecture,
    driven: Tensor,
    steps: int,
    rough: bool,
    pushed: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Proposals, vectors and codes of all rows; `rough` products are those of the tensor cores in TF32."""
    layers = [parameters.get(f"residual.{name}") for name in ("hidden1.weight", "hidden1.bias")]
    last = parameters["residual.out.weight"], parameters["residual.out.bias"]
    codebook = code_vectors(parameters["codebook"], architecture.bound)
    begun = first_vector(parameters, architecture)
    given = driven, pushed, begun, parameters["residual.code.weight"], *layers, *last
    settings = steps, architecture.bound, architecture.persistent, "tf32" if rough else "tf32x3"
    proposal, embedding, codes = Recurrence.apply(*given, codebook.detach(), *settings)
    return proposal, embedding, codes


def fits(parameters: Parameters, architecture: Architecture) -> bool:
    """Whether the kernels take these sizes; `training.unrolled` loops over steps where they do not."""
    usual = architecture.width in (32, 64, 128) and architecture.code_size in (16, 32, 64)
    small = architecture.codes <= LARGEST and architecture.residual_layers <= 2
    return usual and small and parameters["codebook"].dtype == torch.float32
