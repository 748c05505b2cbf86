"""The kernels of the state against the definition, in Triton's interpreter."""

import torch

from diacritic.memory.quantise import look_up, straight_through
from diacritic.training.kernels.state import State
from diacritic.training.scan import running_sum


def test_values_are_exact_and_the_gradient_is_that_of_the_running_sum() -> None:
    made = torch.Generator().manual_seed(0)
    S, T, N, K, d = 2, 7, 19, 5, 16
    residual = torch.randn(S, T * N, d, generator=made).requires_grad_()
    codebook = torch.randn(S, K, d, generator=made)
    code = torch.randint(K, (S, T, N), generator=made)
    before = torch.cat([torch.full_like(code[:, :1], K), code[:, :-1]], 1).flatten(1)
    actual = State.apply(residual, codebook, before, code.flatten(1), T)
    carried = look_up(torch.cat([codebook, torch.zeros(S, 1, d)], 1), before)
    running = running_sum(residual.unflatten(1, (T, N))).flatten(1, 2)
    expected = (
        straight_through(carried + residual, running),
        straight_through(look_up(codebook, code.flatten(1)), running),
    )
    assert isinstance(actual, tuple)
    pull = [torch.randn(residual.shape, generator=made) for _ in actual]
    for one, other in zip(actual, expected, strict=True):
        assert torch.equal(one, other)
    for used in ((0, 1), (0,), (1,)):
        one, other = (
            torch.autograd.grad(torch.stack([pair[k] * pull[k] for k in used]).sum(), residual, retain_graph=True)[0]
            for pair in (actual, expected)
        )
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_paths_carry_the_same_gradient_without_content() -> None:
    made = torch.Generator().manual_seed(1)
    S, T, N, d = 2, 5, 9, 16
    residual = torch.randn(S, T * N, d, generator=made).requires_grad_()
    code = torch.zeros(S, T * N, dtype=torch.long)
    given = torch.zeros(S, 3, d), code, code, T
    proposal, _, *paths = State.apply(residual, *given, 3, torch.bfloat16)
    assert all(path.shape == residual.shape and path.stride() == (0, 0, 0) for path in paths)
    flows = [torch.randn(residual.shape, generator=made) for _ in range(3)]
    low = [flow.bfloat16() for flow in flows[1:]]
    actual = torch.autograd.grad([proposal, paths[0], paths[2]], residual, [flows[0], *low])[0]
    total = flows[0] + low[0].float() + low[1].float()
    later = total.view(S, T, N, d).flip(1).cumsum(1).flip(1).flatten(1, 2)
    torch.testing.assert_close(actual, later, rtol=1e-5, atol=1e-5)
