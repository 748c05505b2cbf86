"""The rate against a loop, its soft gradient against the formula, and priors that see or do not see."""

import math
from dataclasses import replace

import pytest
import torch
from carrier_twin import NARROW, TABLE, TINY, gradients, layer, one_of, scene, schedule_at, symbols, vectors
from torch import Tensor

from diacritic.training.data import Data
from diacritic.training.objectives.rate import Rate, prior_cost


def _costs(p: dict[str, Tensor], side: Tensor, name: str = "prior") -> Tensor:
    if f"{name}.logits" in p:
        return -p[f"{name}.logits"].log_softmax(-1)
    return -layer(p, f"{name}.out", layer(p, f"{name}.hidden", side).relu()).log_softmax(-1)


@pytest.mark.parametrize("prior", ["conditional", "unconditional"])
@pytest.mark.parametrize("data", [vectors(4, 3), symbols(4, 3)])
def test_it_is_the_mean_cost_of_the_codes(data: Data, prior: str) -> None:
    at = scene([Rate()], data, replace(TINY, prior=prior))
    values = {}
    for s, t, n in at.steps:
        cost = _costs(one_of(at.parameters, s), at.trace.steps(at.trace.side)[s, t, n])
        values[s, t, n] = cost[at.trace.step_code[s, t, n]]
    loss = Rate().loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.weight * at.literal(values), rtol=0, atol=1e-12)


def test_its_gradient_is_that_of_the_soft_assignment() -> None:
    """The proposal descends the expected cost under q_k ∝ exp(−‖ẽ − e_k‖²)."""
    data = vectors(4, 3)
    at = scene([Rate()], data)
    actual = torch.autograd.grad(Rate().loss(at.trace, data, at.schedule).sum(), at.trace.proposal, retain_graph=True)[
        0
    ]
    proposal = at.trace.proposal.detach().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for s, t, n in at.steps:
        p = {name: value.detach() for name, value in one_of(at.parameters, s).items()}
        point = proposal[s, t * 3 + n]
        soft = (-(point - p["codebook"]).square().sum(-1)).softmax(-1)
        cost = _costs(p, at.features(s, t, n).detach())
        total = total + at.schedule.weight[s] * at.weight(n) * (soft * cost).sum()
    torch.testing.assert_close(actual, torch.autograd.grad(total, proposal)[0], rtol=0, atol=1e-12)


def test_codes_are_not_moved_by_the_rate() -> None:
    data = vectors(4, 3)
    at = scene([Rate()], data)
    flow = gradients(Rate().loss(at.trace, data, at.schedule), at.parameters)
    assert flow["codebook"].abs().sum() == 0
    for name in ("prior.out.weight", "prior.hidden.bias", "residual.out.weight", "observe.first.weight"):
        assert flow[name].abs().sum() > 0, name


def test_an_unconditional_prior_does_not_see() -> None:
    data = vectors(4, 3)
    blind = prior_cost(scene([Rate()], data, replace(TINY, prior="unconditional")).trace, "prior")
    seeing = prior_cost(scene([Rate()], data).trace, "prior")
    assert (blind == blind[:, :1]).all()
    assert (seeing != seeing[:, :1]).any()
    torch.testing.assert_close(blind.exp().reciprocal().sum(-1), torch.ones(2, 12, dtype=torch.float64))


def test_pressure_rises_and_stays() -> None:
    data = vectors(4, 3)
    at = scene([Rate()], data)
    full = Rate().loss(at.trace, data, schedule_at(2, 0))
    for step, share in ((0, 0.0), (2, 0.0), (4, 0.5), (6, 1.0), (9, 1.0)):
        rising = replace(schedule_at(2, step), pressure=(0.2, 0.6))
        torch.testing.assert_close(Rate().loss(at.trace, data, rising), share * full, rtol=1e-6, atol=1e-12)


def test_a_second_carrier_pays_too() -> None:
    data = vectors(4, 3)
    at = scene([Rate()], data, replace(TINY, identification=5))
    second = at.trace.identification
    assert second is not None
    values = {}
    for s, t, n in at.steps:
        p = one_of(at.parameters, s)
        own = _costs(p, at.features(s, t, n))[at.trace.step_code[s, t, n]]
        other = _costs(p, at.features(s, t, n), "identification.prior")[second.step_code[s, t, n]]
        values[s, t, n] = own + other
    loss = Rate().loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.weight * at.literal(values), rtol=0, atol=1e-12)


def test_a_gaussian_pays_its_bound() -> None:
    data = vectors(4, 3)
    at = scene([Rate()], data, replace(TINY, memory="gaussian"))
    bits = at.trace.bits
    assert bits is not None
    values = {(s, t, n): at.trace.steps(bits)[s, t, n] for s, t, n in at.steps}
    assert not any(name.startswith("prior") for name in at.parameters)
    loss = Rate().loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.weight * at.literal(values), rtol=0, atol=1e-12)


def test_in_the_release_it_is_in_bits_and_its_gradient_reaches_codes_too() -> None:
    """R = −Σ_k w_k log₂ r(k | O) with w = onehot + q − sg(q), differentiated as it stands."""
    data, term = vectors(4, 3), Rate(unit="bits", moves_codes=True)
    at = scene([term], data, NARROW)
    total = torch.zeros((), dtype=torch.float64)
    for s, t, n in at.steps:
        p = one_of(at.parameters, s)
        book = at.trace.codebook[s]
        soft = (-(at.trace.proposal[s, t * 3 + n] - book).square().sum(-1)).softmax(-1)
        hard = torch.eye(6, dtype=torch.float64)[at.trace.step_code[s, t, n]]
        cost = _costs(p, data.observation[data.observation_index[t, n]]) / math.log(2)
        total = total + at.schedule.weight[s] * at.weight(n) * ((hard + soft - soft.detach()) * cost).sum()
    actual = term.loss(at.trace, data, at.schedule).sum()
    torch.testing.assert_close(actual, total, rtol=0, atol=1e-12)
    expected = gradients(total, at.parameters)
    for name, flow in gradients(actual, at.parameters).items():
        torch.testing.assert_close(flow, expected[name], rtol=0, atol=1e-12, msg=name)
    assert expected["codebook"].abs().sum() > 0


def test_a_table_has_logits_of_its_own_for_every_symbol() -> None:
    data = symbols(4, 3)
    at = scene([Rate()], data, TABLE)
    cost = at.trace.steps(prior_cost(at.trace, "prior"))
    for s, t, n in at.steps:
        logits = at.parameters["prior.table.weight"][s, data.observation_index[t, n]]
        torch.testing.assert_close(cost[s, t, n], -logits.log_softmax(-1), rtol=0, atol=1e-12)
