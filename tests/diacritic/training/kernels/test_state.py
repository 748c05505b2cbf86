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
    found = State.apply(residual, codebook, before, code.flatten(1), T)
    carried = look_up(torch.cat([codebook, torch.zeros(S, 1, d)], 1), before)
    running = running_sum(residual.unflatten(1, (T, N))).flatten(1, 2)
    expected = (
        straight_through(carried + residual, running),
        straight_through(look_up(codebook, code.flatten(1)), running),
    )
    assert isinstance(found, tuple)
    pull = [torch.randn(residual.shape, generator=made) for _ in found]
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)
    for used in ((0, 1), (0,), (1,)):
        one, other = (
            torch.autograd.grad(torch.stack([pair[k] * pull[k] for k in used]).sum(), residual, retain_graph=True)[0]
            for pair in (found, expected)
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
    found = torch.autograd.grad([proposal, paths[0], paths[2]], residual, [flows[0], *low])[0]
    total = flows[0] + low[0].float() + low[1].float()
    later = total.view(S, T, N, d).flip(1).cumsum(1).flip(1).flatten(1, 2)
    torch.testing.assert_close(found, later, rtol=1e-5, atol=1e-5)


def test_the_full_gradient_is_that_of_the_loop() -> None:
    made = torch.Generator().manual_seed(2)
    S, T, N, K, d, H = 2, 6, 19, 5, 16, 32

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(S, *size, generator=made)

    codebook, code = normal(K, d), torch.randint(K, (S, T, N), generator=made)
    entering, leaving = normal(d, H) / 4, normal(H, d) / 4
    driven = normal(T, N, H).requires_grad_()
    before = torch.cat([torch.full_like(code[:, :1], K), code[:, :-1]], 1).flatten(1)
    embedding, proposals, embeddings = torch.zeros(S, N, d), [], []
    for t in range(T):
        proposal = embedding + torch.relu(driven[:, t] + embedding @ entering) @ leaving
        embedding = straight_through(look_up(codebook, code[:, t]), proposal)
        proposals.append(proposal)
        embeddings.append(embedding)
    expected = torch.cat(proposals, 1), torch.cat(embeddings, 1)
    carried = look_up(torch.cat([codebook, torch.zeros(S, 1, d)], 1), before)
    entered = torch.relu(driven.flatten(1, 2) + carried @ entering)
    given = entered @ leaving, codebook, before, code.flatten(1), T, 0, torch.float32
    found = State.apply(*given, (entered, leaving, entering))
    assert isinstance(found, tuple)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    pull = [torch.randn(S, T * N, d, generator=made) for _ in found]
    one, other = (
        torch.autograd.grad(torch.stack([pair[k] * pull[k] for k in range(2)]).sum(), driven)[0]
        for pair in (found, expected)
    )
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
