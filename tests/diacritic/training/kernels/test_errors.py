"""The kernel of squared errors against torch, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.training.kernels.errors import SquaredError


def normal(seed: int, *size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def assert_same(actual: Tensor, expected: Tensor, prediction: Tensor) -> None:
    """Values and gradients, with another pull on every run."""
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)
    pull = 1 + torch.arange(len(actual))
    flows = [torch.autograd.grad((loss * pull).sum(), prediction)[0] for loss in (actual, expected)]
    assert flows[1].abs().max() > 0
    torch.testing.assert_close(*flows, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("rows", "actions"), [(300, 4), (256, 1), (7, 5)])
def test_errors_against_one_target_for_all_runs(rows: int, actions: int) -> None:
    prediction = normal(0, 3, rows, actions).requires_grad_()
    target, weight = normal(1, 40, actions), normal(2, 3, rows).exp()
    origins = torch.randint(40, (3, rows), generator=torch.Generator().manual_seed(3), dtype=torch.int32)
    expected = ((prediction - target[origins]).square().mean(-1) * weight).sum(1)
    assert_same(SquaredError.apply(prediction, target, origins, weight), expected, prediction)


def test_errors_against_the_recorded_action_at_an_offset() -> None:
    S, T, N, A = 2, 5, 6, 3
    prediction, target = normal(0, S, T * N, A).requires_grad_(), normal(1, N, T, A).transpose(0, 1)
    weight = normal(2, S, T * N).exp()
    offset = torch.randint(1, T, (S, T * N), generator=torch.Generator().manual_seed(3))
    origins = torch.arange(T * N, dtype=torch.int32).expand(S, -1)
    later = origins // N + offset
    gap = prediction - target[later.clamp(max=T - 1), origins % N]
    expected = (gap.square().mean(-1) * weight * (later < T)).sum(1)
    assert (later >= T).any()
    assert_same(SquaredError.apply(prediction, target, origins, weight, offset), expected, prediction)


@pytest.mark.parametrize(("forecasts", "order"), [(1, (0, 1, 2, 3, 4)), (3, (0, 2, 1, 3, 4)), (2, (4, 3, 2, 1, 0))])
def test_errors_against_a_forecast_at_an_offset(forecasts: int, order: tuple[int, ...]) -> None:
    """However the forecast lies in memory, and whichever episodes a run sees."""
    S, T, N, A, seen = 3, 6, 50, 3, 20
    prediction = normal(0, S, T * seen, A).requires_grad_()
    size = (forecasts, T, N, T - 1, A)
    back = [order.index(k) for k in range(5)]
    forecast, weight = normal(1, *(size[k] for k in order)).permute(back), normal(2, S, T * seen).exp()
    assert forecast.shape == size
    offset = torch.randint(1, T, (S, T * seen), generator=torch.Generator().manual_seed(3))
    episodes = torch.randint(N, (S, seen), generator=torch.Generator().manual_seed(4), dtype=torch.int32)
    origins = torch.cat([t * N + episodes for t in range(T)], 1)
    total = []
    for s in range(S):
        for t in range(T):
            for slot, n in enumerate(episodes[s].tolist()):
                row = t * seen + slot
                j = int(offset[s, row])
                if t + j < T:
                    gap = prediction[s, row] - forecast[s % forecasts, t, n, j - 1]
                    total.append(torch.eye(S)[s] * weight[s, row] * gap.square().mean())
    assert len(total) < S * T * seen
    actual = SquaredError.apply(prediction, forecast, origins, weight, offset)
    assert_same(actual, torch.stack(total).sum(0), prediction)
