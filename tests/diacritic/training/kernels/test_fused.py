"""The parallel engine through the fused kernels against the same engine in torch, in Triton's interpreter."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import clock_at, gradients, lively, symbols, vectors
from torch import Tensor

from diacritic.carrier import cell
from diacritic.carrier.shape import Architecture
from diacritic.training import parallel
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.data import Data
from diacritic.training.kernels.fused import fits
from diacritic.training.learner import learner
from diacritic.training.preset import preset

SMALL = Architecture(codes=6, code_size=16, width=32)


def both(
    monkeypatch: pytest.MonkeyPatch, name: str, low: torch.dtype, data: Data
) -> list[tuple[Tensor, dict[str, Tensor]]]:
    """Losses and gradients of a learner, with the kernels and without, on the same codes."""
    chosen, data = learner(name), data.to("cpu", torch.float32)
    carrier = chosen.architecture(SMALL)
    layers = cell.weights(data.shape, carrier)
    for term in chosen.terms:
        layers |= term.weights(data.shape, carrier)
    parameters = {name: value.requires_grad_() for name, value in lively(layers, [1, 2], torch.float32).items()}
    shown = parallel.tokens(data)
    code = parallel.codes(parameters, carrier, data, shown)
    assert len(code.unique()) > 2
    found = []
    for fused in (True, False):
        monkeypatch.setattr(parallel, "on_gpu", lambda shown, fused=fused: fused)
        precision = low if fused else None
        trace = parallel.trace(parameters, carrier, data, data.weight.expand(2, -1), shown, code, precision)
        assert (trace.heads is not None) == fused
        losses = torch.stack([term.loss(trace, data, clock_at(2)) for term in chosen.terms])
        found.append((losses, gradients(losses, parameters)))
    return found


@pytest.mark.parametrize(
    "name",
    [
        "event-agnostic",
        "event-agnostic-all-recorded",
        "task-informed",
        "plain",
        "unconditional",
        "inverse+imitation",
        "inverse-only+rate",
    ],
)
def test_a_learner_learns_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (losses, flow), (wanted, expected) = both(monkeypatch, name, torch.float32, vectors(4, 9, observation=5))
    torch.testing.assert_close(losses, wanted, rtol=1e-5, atol=1e-5)
    for parameter, value in expected.items():
        torch.testing.assert_close(
            flow[parameter], value, rtol=1e-4, atol=1e-5 * max(1.0, float(value.abs().max())), msg=parameter
        )


def test_low_precision_comes_near(monkeypatch: pytest.MonkeyPatch) -> None:
    (losses, flow), (wanted, expected) = both(monkeypatch, "event-agnostic", torch.bfloat16, vectors(4, 9))
    torch.testing.assert_close(losses, wanted, rtol=0.05, atol=0.05)
    found, other = (torch.cat([value.flatten() for value in flows.values()]) for flows in (flow, expected))
    assert (found - other).norm() < 0.15 * other.norm()


def test_a_whole_update_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = (Run(1), Run(2, beta=0.1))
    plan = Plan(learner("event-agnostic"), preset("carousel"), runs, 10, SMALL, batch=8, low=torch.float32)
    cohorts = []
    for fused in (True, False):
        monkeypatch.setattr(parallel, "on_gpu", lambda shown, fused=fused: fused)
        cohorts.append(Cohort(plan, vectors(4, 9)))
        cohorts[-1].advance(2)
    one, two = cohorts
    torch.testing.assert_close(one.losses, two.losses, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(one.optimiser.gradient, two.optimiser.gradient, rtol=1e-3, atol=1e-4)


def test_what_does_not_fit_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    data = symbols(4, 3).to("cpu", torch.float32)
    parameters = lively(cell.weights(data.shape, SMALL), [1], torch.float32)
    shown = parallel.tokens(data)
    assert fits(parameters, shown)
    assert not fits(parameters, replace(shown, observation=shown.observation.unsqueeze(0)))
    assert not fits({name: value.double() for name, value in parameters.items()}, shown)
    assert not fits(lively(cell.weights(data.shape, replace(SMALL, width=24)), [1], torch.float32), shown)
    assert not fits(lively(cell.weights(data.shape, replace(SMALL, side="symbol")), [1], torch.float32), shown)
    monkeypatch.setattr(parallel, "on_gpu", lambda shown: True)
    code = torch.zeros(1, 4, 3, dtype=torch.long)
    weight = data.weight.expand(1, -1)
    for change in ({"bound": "tanh"}, {"persistent": False}):
        carrier = replace(SMALL, **change)
        assert parallel.trace(parameters, carrier, data, weight, shown, code, torch.float32).heads is None
