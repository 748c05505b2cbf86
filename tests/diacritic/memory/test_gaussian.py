"""The Gaussian bottleneck against PyTorch's own distributions, row by row."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import NARROW, TABLE, TINY, Architecture, acted, layer, lively, observed, one_of
from torch.distributions import Normal, kl_divergence

from diacritic.memory import gaussian
from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import Inputs, Record
from diacritic.memory.shape import Shape

SHAPE = Shape(4, 2)


def _case(architecture: Architecture, noisy: bool = True) -> tuple[Parameters, Inputs, list[Record]]:
    memory = memory_of(architecture)
    parameters = lively(memory.weights(SHAPE, architecture), [1, 2])
    made = torch.Generator().manual_seed(0)
    seen = torch.eye(4, dtype=torch.float64)[torch.randint(4, (3, 5), generator=made)]
    did = torch.eye(2, dtype=torch.float64)[torch.randint(2, (3, 5), generator=made)]
    noise = torch.randn(2, 3, 5, 3, generator=made, dtype=torch.float64) if noisy else None
    shown = Inputs(seen, did, noise=noise)
    return parameters, shown, memory.unroll(parameters, architecture, shown)


@pytest.mark.parametrize("kind", [TINY, NARROW, replace(TABLE, bound="none")])
def test_every_step_is_a_normal_that_pays_its_divergence(kind: Architecture) -> None:
    """Where the deviation is read from f's last hidden layer and the prior is a table, these are the authors' own."""
    architecture = replace(kind, memory="gaussian")
    parameters, shown, records = _case(architecture)
    hidden = architecture.deviation_reads == "hidden"
    assert shown.noise is not None
    for run in range(2):
        p = one_of(parameters, run)
        for n in range(5):
            z = torch.zeros(3, dtype=torch.float64)
            for t, record in enumerate(records):
                seen, side = shown.observation[t, n], observed(p, shown.observation[t, n])
                parts = ("code", "observation", "action")
                matrix = torch.cat([p[f"residual.{part}.weight"] for part in parts])
                joined = torch.cat([z, side, acted(p, shown.previous[t, n])])
                h = (joined @ matrix + p["residual.observation.bias"]).relu()
                h = layer(p, "residual.hidden1", h).relu() if "residual.hidden1.weight" in p else h
                mean = z + layer(p, "residual.out", h)
                mean = mean / mean.norm() if architecture.bound == "sphere" else mean
                least = -6.0 if hidden else -5.0
                deviation = layer(p, "gaussian.deviation", h if hidden else mean).clamp(least, 2.0).exp()
                if architecture.prior_reads == "table":
                    prior = p["gaussian.prior.weight"][int(seen.argmax())]
                else:
                    prior = layer(p, "gaussian.prior", seen if hidden else side)
                middle, spread = prior[:3], prior[3:].clamp(least, 2.0).exp()
                wanted = kl_divergence(Normal(mean, deviation), Normal(middle, spread)).sum()
                assert record.bits is not None
                torch.testing.assert_close(record.bits[run, n], wanted, rtol=1e-10, atol=1e-10)
                z = mean + deviation * shown.noise[run, t, n]
                torch.testing.assert_close(record.embedding[run, n], z, rtol=1e-10, atol=1e-10)


def test_the_divergence_is_never_negative_and_deviations_stay_within_bounds() -> None:
    made = torch.Generator().manual_seed(0)
    values = torch.randn(4, 2, 5, 3, generator=made, dtype=torch.float64)
    assert (gaussian.divergence(*values) >= 0).all()
    assert gaussian.divergence(values[0], values[1], values[0], values[1]).abs().max() < 1e-12
    parameters, shown, _ = _case(replace(TINY, memory="gaussian"))
    memory = memory_of(replace(TINY, memory="gaussian"))
    loud = {name: 1e3 * value for name, value in parameters.items()}
    for record in memory.unroll(loud, replace(TINY, memory="gaussian"), shown):
        assert record.bits is not None
        assert record.bits.isfinite().all()


def test_it_carries_its_mean_and_no_code() -> None:
    architecture = replace(TINY, memory="gaussian")
    parameters, shown, records = _case(architecture, noisy=False)
    memory = memory_of(architecture)
    state, last = memory.step(parameters, architecture, memory.start(parameters, architecture, 5), shown.at(0))
    assert torch.equal(state.embedding, last.proposal)
    assert torch.equal(records[0].embedding, last.embedding)
    assert not any(record.code.any() for record in records)
