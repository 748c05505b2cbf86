"""The error that reaches the cue, against the chain rule written out."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.preset import Preset
from diacritic.training.symbolic import from_model
from reproduction.beyond_paper.delays_cells import CAROUSEL, RELEASE, chain, counter, plan_for
from reproduction.beyond_paper.delays_error import (
    KINDS,
    coherence,
    distances,
    error_at_states,
    error_fields,
    mean_norm,
)

Bound = Literal["none", "tanh"]


def small(chosen: Preset, bound: Bound = "none", delay: int = 5) -> Cohort:
    bench = chain(1, delay)
    runs = [Run(0, residual_scale=3.0), Run(1, residual_scale=3.0)]
    plan: Plan = replace(
        plan_for(bench, chosen, 4, runs), architecture=Architecture(codes=4, code_size=6, width=8, bound=bound)
    )
    cohort = Cohort(plan, from_model(bench.model))
    cohort.advance(3)
    return cohort


def chain_rule(cohort: Cohort, run: int, episode: int) -> list[Tensor]:
    """∂ℓ/∂e_t of one episode, latest first, by multiplying the Jacobian of one step after another."""
    carrier, data = cohort.plan.carrier, cohort.given.to("cpu", torch.float64)
    weights = {name: value[run].detach().double() for name, value in cohort.parameters.items()}

    def layer(name: str, x: Tensor) -> Tensor:
        return x @ weights[f"{name}.weight"] + weights.get(f"{name}.bias", torch.zeros((), dtype=torch.float64))

    def seen(t: int) -> Tensor:
        first = torch.relu(layer("observe.first", data.observation[data.observation_index[t, episode]]))
        return torch.relu(layer("observe.second", first))

    def one_step(t: int, e: Tensor) -> Tensor:
        acted = torch.relu(layer("previous", data.previous[data.previous_index[t, episode]]))
        driven = layer("residual.observation", seen(t)) + layer("residual.action", acted)
        entering = e.detach() if cohort.plan.preset.gradient == "carousel" else e
        proposal = e + layer("residual.out", torch.relu(driven + layer("residual.code", entering)))
        return torch.tanh(proposal) if carrier.bound == "tanh" else proposal

    def loss(e: Tensor) -> Tensor:
        hidden = torch.relu(layer("act.observation", seen(data.horizon - 1)) + layer("act.code", e))
        logits = layer("act.out", torch.relu(layer("act.hidden1", hidden)))
        return -(data.target[-1, episode] * torch.log_softmax(logits, -1)).sum()

    states = [torch.zeros(carrier.code_size, dtype=torch.float64)]
    for t in range(data.horizon):
        apart = (one_step(t, states[-1]) - weights["codebook"]).square().sum(-1)
        states.append(weights["codebook"][apart.argmin()])
    errors = [torch.func.jacrev(loss)(states[-1])]
    for t in range(data.horizon - 1, 0, -1):
        errors.append(errors[-1] @ torch.func.jacrev(lambda e, t=t: one_step(t, e))(states[t]))
    return errors


@pytest.mark.parametrize(("name", "bound"), [("carousel", "none"), ("carousel", "tanh"), ("full gradient", "none")])
def test_errors_are_those_of_the_chain_rule(name: str, bound: Bound) -> None:
    cohort = small(KINDS[name][0], bound)
    actual = error_at_states(cohort)
    for run in range(2):
        for episode in range(cohort.data.episodes):
            wanted = torch.stack(chain_rule(cohort, run, episode)[::-1])
            torch.testing.assert_close(actual[run, :, episode], wanted)


def test_the_carousel_keeps_the_norm_and_the_full_gradient_does_not() -> None:
    kept, changed = ([row["norm"] for row in error_fields(small(chosen))] for chosen in (CAROUSEL, RELEASE))
    assert all(norm == pytest.approx([norm[0]] * len(norm), rel=1e-12) for norm in kept)
    assert all(norm[-1] != pytest.approx(norm[0], rel=1e-3) for norm in changed)


def test_coherence_is_what_a_history_tells_of_its_error() -> None:
    data = from_model(chain(1, 3).model).to("cpu", torch.float64)
    told = torch.zeros(1, 4, 2, 3, dtype=torch.float64)
    told[:, :, 0, 0], told[:, :, 1, 0] = 1.0, -1.0
    assert coherence(told, data).tolist() == [[1.0] * 4]
    common = torch.ones_like(told)
    assert coherence(common, data).tolist() == [[0.0] * 4]
    assert mean_norm(common, data.weight).flatten().tolist() == pytest.approx([3**0.5] * 4)


def test_later_coins_turn_the_error_of_parity_about() -> None:
    bench = counter("running-parity", 5)
    cohort = Cohort(plan_for(bench, CAROUSEL, 1, [Run(0), Run(1)]), from_model(bench.model, 20_000))
    held = Cohort(plan_for(chain(1, 4), CAROUSEL, 1, [Run(0), Run(1)]), from_model(chain(1, 4).model))
    for parity, memory in zip(error_fields(cohort), error_fields(held), strict=True):
        assert max(parity["coherence"][2:]) < 0.05
        assert min(memory["coherence"]) > 0.5


def test_distances_reach_from_the_decision_to_the_first_step() -> None:
    assert distances(5) == [0, 1, 2, 3, 4]
    for horizon in (1, 11, 101, 1001):
        actual = distances(horizon)
        assert (actual[0], actual[-1]) == (0, horizon - 1)
        assert actual == sorted(set(actual))
        assert len(actual) < 60
