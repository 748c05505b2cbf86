"""The kernels of all offsets against a loop over them in torch, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.training.kernels.ahead import ErrorsAhead

RUNS, STEPS, SEEN, EPISODES, WIDTH, CODE, CODES, ACTIONS = 2, 4, 11, 15, 32, 16, 5, 3
LAYERS = ("table", "offsets", "inner", "inner_bias", "last", "last_bias")


def normal(seed: int, *size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def case(low: torch.dtype) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor, Tensor], Tensor, Tensor]:
    """Weights, what the observation part is computed from, codes, and which episodes each run sees."""
    rows = STEPS * SEEN
    weights = {
        "table": normal(1, RUNS, CODES, WIDTH),
        "offsets": normal(2, RUNS, STEPS, WIDTH),
        "inner": normal(3, RUNS, WIDTH, WIDTH) / 6,
        "inner_bias": normal(4, RUNS, WIDTH),
        "last": normal(5, RUNS, WIDTH, ACTIONS) / 6,
        "last_bias": normal(6, RUNS, ACTIONS),
    }
    features, onward = normal(7, RUNS, rows, WIDTH).relu().to(low), (normal(8, RUNS, WIDTH, WIDTH) / 6).to(low)
    made = torch.Generator().manual_seed(9)
    code = torch.randint(CODES, (RUNS, rows), generator=made)
    episodes = torch.randint(EPISODES, (RUNS, SEEN), generator=made, dtype=torch.int32)
    origins = torch.cat([t * EPISODES + episodes for t in range(STEPS)], 1)
    return weights, (features, onward, normal(10, RUNS, WIDTH)), code, origins


def in_torch(
    given: dict[str, Tensor],
    part: Tensor,
    felt: Tensor,
    code: Tensor,
    origins: Tensor,
    target: Tensor,
    weight: Tensor,
    low: torch.dtype,
) -> Tensor:
    """In float64, one offset after the other; what flows into `felt` is what flows into the first layer.

    Weights and activations are rounded as they are stored, so that the same units are active.
    """
    table, offsets, inner, last = (given[name].to(low).double() for name in ("table", "offsets", "inner", "last"))
    run = torch.arange(RUNS).unsqueeze(1)
    time, episode = origins.long() // EPISODES, origins.long() % EPISODES
    total = torch.zeros(RUNS, dtype=torch.float64)
    first = (part + table[run, code] + (felt - felt.detach())).to(low).double()
    for j in range(1, STEPS):
        entered = (first + offsets[:, j : j + 1]).relu().to(low).double()
        hidden = (entered @ inner + given["inner_bias"].unsqueeze(1)).relu().to(low).double()
        answer = hidden @ last + given["last_bias"].unsqueeze(1)
        if target.dim() == 3:
            wanted = target[(time + j).clamp(max=STEPS - 1), episode]
        else:
            wanted = target[run % len(target), time, episode, j - 1]
        total = total + ((answer - wanted).square().mean(-1) * weight * (time + j < STEPS)).sum(1)
    return total


@pytest.mark.parametrize(("low", "close"), [(torch.float32, 1e-5), (torch.float16, 5e-3)])
@pytest.mark.parametrize("forecasts", [0, 1, 2])
def test_values_and_gradients_are_those_of_a_loop(low: torch.dtype, close: float, forecasts: int) -> None:
    weights, observing, code, origins = case(low)
    size = (forecasts, STEPS, EPISODES, STEPS - 1, ACTIONS) if forecasts else (STEPS, EPISODES, ACTIONS)
    target, weight = normal(11, *size), normal(12, RUNS, STEPS * SEEN).exp()
    reading = normal(13, RUNS, CODE, WIDTH)
    features, onward, bias = (value.double() for value in observing)
    twin_part = (features @ onward + bias.unsqueeze(1)).requires_grad_()
    vector = torch.zeros(RUNS, STEPS * SEEN, CODE, dtype=torch.float64).requires_grad_()
    twins = {name: value.double().requires_grad_() for name, value in weights.items()}
    expected = in_torch(
        twins, twin_part, vector @ reading.double(), code, origins, target.double(), weight.double(), low
    )
    part = torch.empty_strided(twin_part.shape, (0, 0, 0), dtype=low).fill_(float("nan")).requires_grad_()
    path = torch.empty_strided(vector.shape, (0, 0, 0), dtype=low).requires_grad_()
    leaves = {name: value.requires_grad_() for name, value in weights.items()}
    given = [leaves[name] for name in LAYERS]
    found = ErrorsAhead.apply(part, observing, path, *given, reading, code, target, origins, weight)
    assert isinstance(found, Tensor)
    assert error(found, expected) < close
    pull = 1 + torch.arange(RUNS)
    flows = torch.autograd.grad((found * pull).sum(), [part, path, *given])
    wanted = torch.autograd.grad((expected * pull).sum(), [twin_part, vector, *(twins[name] for name in LAYERS)])
    for name, flow, other in zip(("part", "path", *LAYERS), flows, wanted, strict=True):
        assert other.abs().max() > 0
        assert error(flow, other) < close, name


def test_without_a_gradient_it_is_the_same_sum() -> None:
    weights, observing, code, origins = case(torch.float32)
    given = [weights[name] for name in LAYERS]
    part, path, reading = torch.empty(RUNS, STEPS * SEEN, WIDTH), torch.empty(RUNS, STEPS * SEEN, CODE), normal(0, 1)
    rest = reading, code, normal(11, STEPS, EPISODES, ACTIONS), origins, torch.ones(RUNS, STEPS * SEEN)
    plain = ErrorsAhead.apply(part, observing, path, *given, *rest)
    learned = ErrorsAhead.apply(part, observing, path, *(value.requires_grad_() for value in given), *rest)
    assert not plain.requires_grad
    assert torch.equal(plain, learned)


def error(found: Tensor, expected: Tensor) -> float:
    return float(((found - expected).norm() / expected.norm()).detach())
