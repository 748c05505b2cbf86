"""The gradient of the state by rows, against autograd through a recurrence that is written out."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory.quantise import look_up
from diacritic.training.flow import Path, Track


def _written_out(residual: Tensor, first: Tensor, track: Track, weight: Tensor, step_weight: Tensor) -> Tensor:
    """Σ w · state over rows and steps, with the state of every step by its recurrence and rows as means of steps."""
    S, T, N = track.token.shape
    state, total = first.expand(S, N, -1), residual.new_zeros(())
    for t in range(T):
        before = state if track.persistent else torch.zeros_like(state)
        new = before + look_up(residual, track.token[:, t])
        row = track.token[:, t]
        if track.entering is not None and track.persistent:
            hidden = torch.bmm(before, track.entering)
            for active, leaving in track.layers[::-1]:
                hidden = torch.bmm(hidden * look_up(active, row), leaving)
            new = new + hidden
        state = new
        if track.sphere is not None:
            point = look_up(track.sphere, row)
            state = state - point * (point * state).sum(-1, keepdim=True)
        state = state if track.factor is None else state * look_up(track.factor, row)
        told = look_up(weight, track.token[:, t]) * track.share[:, t].unsqueeze(-1) + step_weight[:, t]
        total = total + (state * told).sum()
    return total


@settings(max_examples=40)
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.integers(1, 6)),
    persistent=st.booleans(),
    bound=st.sampled_from(["none", "tanh", "sphere"]),
    depth=st.integers(0, 2),
    seed=st.integers(0, 10**6),
)
def test_rows_and_steps_receive_what_autograd_gives(
    sizes: tuple[int, int, int, int], persistent: bool, bound: str, depth: int, seed: int
) -> None:
    S, T, N, R = sizes
    d, H = 3, 5
    made = torch.Generator().manual_seed(seed)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=made, dtype=torch.float64)

    layers = tuple(((numbers(S, R, H) > 0).double(), numbers(S, H, H if k else d)) for k in range(depth))
    token = torch.randint(R, (S, T, N), generator=made)
    factor = {"none": None, "tanh": numbers(S, R, d), "sphere": numbers(S, R, 1)}[bound]
    point = torch.nn.functional.normalize(numbers(S, R, d), dim=-1) if bound == "sphere" else None
    entering = numbers(S, d, H) if depth else None
    track = Track(token, numbers(S, T, N).abs(), persistent, factor, point, layers, entering)
    residual, weight, step_weight = numbers(S, R, d).requires_grad_(), numbers(S, R, d), numbers(S, T, N, d)
    first = numbers(S, 1, d).requires_grad_()
    rows, steps = Path.apply(residual, first, track)
    assert not rows.any()
    assert not steps.any()
    read, inputs = (rows * weight).sum() + (steps * step_weight).sum(), (residual, first)
    literal = torch.autograd.grad(_written_out(*inputs, track, weight, step_weight), inputs, materialize_grads=True)
    for gradient, wanted in zip(torch.autograd.grad(read, inputs), literal, strict=True):
        torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-9)


def test_what_nobody_reads_has_no_gradient() -> None:
    track = Track(torch.zeros(1, 2, 1, dtype=torch.long), torch.ones(1, 2, 1, dtype=torch.float64))
    residual = torch.ones(1, 1, 2, dtype=torch.float64, requires_grad=True)
    rows, _ = Path.apply(residual, torch.zeros(1, 1, 2, dtype=torch.float64), track)
    (gradient,) = torch.autograd.grad(rows.sum(), residual)
    assert gradient.tolist() == [[[3.0, 3.0]]]  # the first step feels both, the second itself
