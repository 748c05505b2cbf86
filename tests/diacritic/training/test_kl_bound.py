"""The KL bound of a Gaussian bottleneck against torch's own divergence, step by step and episode by episode."""

from dataclasses import replace
from math import log

import pytest
import torch
from carrier_twin import TINY, lively, one_of, schedule_at, vectors
from torch.distributions import Normal, kl_divergence

from diacritic.memory import sole_carrier
from diacritic.memory.kinds import memory_of
from diacritic.training import reference
from diacritic.training.kl_bound import kl_profile


def test_the_profile_is_the_weighted_mean_divergence_in_bits() -> None:
    data, architecture = vectors(4, 3), replace(TINY, memory="gaussian")
    parameters = lively(memory_of(architecture).weights(data.shape, architecture), [3, 8])
    weight = torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], dtype=torch.float64)
    noise = schedule_at(2).uniform(0, 4, 3, architecture.code_size).double()
    trace = reference.trace(parameters, architecture, data, weight, noise=noise)
    actual = kl_profile(trace)
    assert actual is not None
    assert [len(profile) for profile in actual] == [4, 4]
    for run in range(2):
        p = one_of(parameters, run)
        for t in range(4):
            nats = torch.zeros((), dtype=torch.float64)
            for n in range(3):
                mean, side = trace.proposal[run, t * 3 + n], trace.side[run, t * 3 + n]
                spread = (mean @ p["gaussian.deviation.weight"] + p["gaussian.deviation.bias"]).clamp(-5, 2)
                prior = side @ p["gaussian.prior.weight"] + p["gaussian.prior.bias"]
                centre, around = prior.chunk(2)
                apart = kl_divergence(Normal(mean, spread.exp()), Normal(centre, around.clamp(-5, 2).exp()))
                nats += weight[run, n] * apart.sum()
            assert actual[run][t] == pytest.approx(float(nats) / log(2), rel=1e-6)


def test_a_code_has_none() -> None:
    data = vectors(4, 3)
    trace = reference.trace(lively(sole_carrier.weights(data.shape, TINY), [3]), TINY, data, data.weight.expand(1, -1))
    assert kl_profile(trace) is None
