"""The Gaussian bottleneck against PyTorch's own distributions."""

from dataclasses import replace

import torch
from carrier_twin import TINY, lively
from torch.distributions import Normal, kl_divergence

from diacritic.memory import gaussian
from diacritic.memory.kinds import memory_of
from diacritic.memory.protocol import Inputs
from diacritic.memory.shape import Shape
from diacritic.training.randomness import initial


def _case() -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]:
    made = torch.Generator().manual_seed(0)
    parameters = initial(gaussian.weights(6, 3), [1, 2], torch.float64)
    mean = torch.randn(2, 5, 3, generator=made, dtype=torch.float64)
    return parameters, mean, torch.randn(2, 5, 6, generator=made, dtype=torch.float64)


def test_the_divergence_is_that_of_two_normals() -> None:
    parameters, mean, side = _case()
    _, nats = gaussian.sample(parameters, mean, side, None)
    for run in range(2):
        p = {name: value[run] for name, value in parameters.items()}
        deviation = (mean[run] @ p["gaussian.deviation.weight"] + p["gaussian.deviation.bias"]).exp()
        middle, spread = (side[run] @ p["gaussian.prior.weight"] + p["gaussian.prior.bias"]).chunk(2, -1)
        wanted = kl_divergence(Normal(mean[run], deviation), Normal(middle, spread.exp())).sum(-1)
        torch.testing.assert_close(nats[run], wanted, rtol=0, atol=1e-12)
    assert (nats >= 0).all()


def test_noise_spreads_by_the_deviation_around_the_mean() -> None:
    parameters, mean, side = _case()
    assert torch.equal(gaussian.sample(parameters, mean, side, None)[0], mean)
    one = torch.ones_like(mean)
    up, down = (gaussian.sample(parameters, mean, side, noise)[0] for noise in (one, -one))
    torch.testing.assert_close((up + down) / 2, mean, rtol=0, atol=1e-12)
    deviation = torch.einsum("srd,sde->sre", mean, parameters["gaussian.deviation.weight"])
    deviation = (deviation + parameters["gaussian.deviation.bias"].unsqueeze(1)).exp()
    torch.testing.assert_close((up - down) / 2, deviation, rtol=0, atol=1e-12)


def test_deviations_stay_within_sane_bounds() -> None:
    parameters, mean, side = _case()
    sample, nats = gaussian.sample(parameters, 1e3 * mean, 1e3 * side, torch.ones_like(mean))
    assert nats.isfinite().all()
    assert (sample - 1e3 * mean).abs().max() <= torch.tensor(2.0).exp() + 1e-6


def test_it_carries_its_mean_and_no_code() -> None:
    architecture = replace(TINY, memory="gaussian")
    memory = memory_of(architecture)
    parameters = lively(memory.weights(Shape(4, 2), architecture), [1, 2])
    made = torch.Generator().manual_seed(0)
    shown = Inputs(*(torch.randn(3, 5, size, generator=made, dtype=torch.float64) for size in (4, 2)))
    records = memory.unroll(parameters, architecture, shown)
    state, last = memory.step(parameters, architecture, memory.start(parameters, architecture, 5), shown.at(0))
    assert torch.equal(state.embedding, last.proposal)
    assert torch.equal(records[0].embedding, last.embedding)
    assert not any(record.code.any() for record in records)
    assert all(record.bits is not None and record.bits.shape == (2, 5) for record in records)
