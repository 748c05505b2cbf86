"""The gradient of the state by rows, against autograd through a recurrence that is written out."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory.quantise import look_up
from diacritic.training.flow import Path, Track


def _written_out(residual: Tensor, track: Track, weight: Tensor, step_weight: Tensor) -> Tensor:
    """Σ w · state over rows and steps, with the state of every step by its recurrence and rows as means of steps."""
    S, T, N = track.token.shape
    state, total = residual.new_zeros(S, N, residual.shape[2]), residual.new_zeros(())
    for t in range(T):
        before = state if track.persistent else torch.zeros_like(state)
        new = before + look_up(residual, track.token[:, t])
        if track.through is not None and track.persistent:
            active, leaving, entering = track.through
            new = new + torch.bmm(torch.bmm(before, entering) * look_up(active, track.token[:, t]), leaving)
        state = new if track.factor is None else new * look_up(track.factor, track.token[:, t])
        told = look_up(weight, track.token[:, t]) * track.share[:, t].unsqueeze(-1) + step_weight[:, t]
        total = total + (state * told).sum()
    return total


@settings(max_examples=40)
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.integers(1, 6)),
    persistent=st.booleans(),
    bounded=st.booleans(),
    full=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_rows_and_steps_receive_what_autograd_gives(
    sizes: tuple[int, int, int, int], persistent: bool, bounded: bool, full: bool, seed: int
) -> None:
    S, T, N, R = sizes
    d, H = 3, 5
    made = torch.Generator().manual_seed(seed)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=made, dtype=torch.float64)

    through = ((numbers(S, R, H) > 0).double(), numbers(S, H, d), numbers(S, d, H)) if full else None
    token = torch.randint(R, (S, T, N), generator=made)
    track = Track(token, numbers(S, T, N).abs(), persistent, numbers(S, R, d) if bounded else None, through)
    residual, weight, step_weight = numbers(S, R, d).requires_grad_(), numbers(S, R, d), numbers(S, T, N, d)
    rows, steps = Path.apply(residual, track)
    assert not rows.any()
    assert not steps.any()
    (found,) = torch.autograd.grad((rows * weight).sum() + (steps * step_weight).sum(), residual)
    (wanted,) = torch.autograd.grad(_written_out(residual, track, weight, step_weight), residual)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


def test_what_nobody_reads_has_no_gradient() -> None:
    track = Track(torch.zeros(1, 2, 1, dtype=torch.long), torch.ones(1, 2, 1, dtype=torch.float64))
    residual = torch.ones(1, 1, 2, dtype=torch.float64, requires_grad=True)
    rows, _ = Path.apply(residual, track)
    (found,) = torch.autograd.grad(rows.sum(), residual)
    assert found.tolist() == [[[3.0, 3.0]]]  # the first step feels both, the second itself
