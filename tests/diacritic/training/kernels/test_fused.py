"""The fast engines through the fused kernels against the same engines in torch, in Triton's interpreter."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import gradients, lively, schedule_at, symbols, vectors
from torch import Tensor

from diacritic.memory import sole_carrier
from diacritic.memory.kernels.launch import SIZES
from diacritic.memory.shape import Architecture
from diacritic.training import parallel, unrolled
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.data import Data
from diacritic.training.kernels.drawn import choose
from diacritic.training.kernels.fused import fits
from diacritic.training.learner import learner
from diacritic.training.preset import preset

SMALL = Architecture(codes=6, code_size=16, width=32)
Learned = tuple[Tensor, dict[str, Tensor]]


def learned(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    data: Data,
    low: torch.dtype | None,
    engine: str = "parallel",
    weight: Tensor | None = None,
    room: int | None = None,
    codes: int = 6,
) -> Learned:
    """Losses and gradients of a learner, with the kernels in a precision or without; on episodes of each run's own."""
    chosen, data = learner(name), data.to("cpu", torch.float32)
    carrier = replace(chosen.architecture(SMALL), codes=codes)
    layers = sole_carrier.weights(data.shape, carrier)
    for term in chosen.terms:
        layers |= term.weights(data.shape, carrier)
    parameters = {name: value.requires_grad_() for name, value in lively(layers, [1, 2], torch.float32).items()}
    shown = parallel.tokens(data)
    monkeypatch.setattr(parallel, "on_gpu", lambda shown: low is not None)
    weight = data.weight.expand(2, -1) if weight is None else weight
    drawn, weight = (None, weight) if room is None else choose(weight, room)
    if engine == "unrolled":
        trace = unrolled.trace(parameters, carrier, data, weight, shown, low, drawn)
    else:
        code = parallel.codes(parameters, carrier, data, shown, drawn)
        trace = parallel.trace(parameters, carrier, data, weight, shown, code, low, drawn)
    assert (trace.heads is not None) == (low is not None)
    assert len(trace.code.unique()) > 2
    losses = torch.stack([term.loss(trace, data, schedule_at(2)) for term in chosen.terms])
    return losses, gradients(losses, parameters)


def assert_same(actual: Learned, expected: Learned) -> None:
    torch.testing.assert_close(actual[0], expected[0], rtol=1e-5, atol=1e-5)
    for parameter, value in expected[1].items():
        scale = max(1.0, float(value.abs().max()))
        torch.testing.assert_close(actual[1][parameter], value, rtol=1e-4, atol=1e-5 * scale, msg=parameter)


@pytest.mark.parametrize(
    "name",
    [
        "event-agnostic",
        "event-agnostic-recorded",
        "event-agnostic-all",
        "event-agnostic-all-recorded",
        "task-informed",
        "plain",
        "unconditional",
        "inverse+imitation",
        "inverse-only+rate",
        "join",
        "dual",
        "dual-detached",
        "matched",
        "matched+task-informed",
        "hierarchical",
        "hierarchical+task-informed",
        "intent",
        "intent+task-informed",
    ],
)
def test_a_learner_learns_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = vectors(4, 9, observation=5)
    actual, expected = (learned(monkeypatch, name, data, low) for low in (torch.float32, None))
    assert_same(actual, expected)


@pytest.mark.parametrize("name", ["event-agnostic", "event-agnostic-all", "matched"])
def test_any_tiling_gives_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Small tiles, of which a program takes several in turn, and a codebook in pieces."""
    data = vectors(4, 9)
    expected = learned(monkeypatch, name, data, None, codes=20)
    for kernel, sizes in SIZES.items():
        monkeypatch.setitem(SIZES, kernel, sizes._replace(rows=16, programs=2, chunk=16))
    assert_same(learned(monkeypatch, name, data, torch.float32, codes=20), expected)


@pytest.mark.parametrize("name", ["sysid", "event-agnostic-all", "matched"])
def test_a_large_codebook_and_a_wide_head_are_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = vectors(4, 9)
    label = torch.arange(9) * 8
    data = replace(data, label=label, shape=replace(data.shape, labels=70))
    actual, expected = (learned(monkeypatch, name, data, low, codes=150) for low in (torch.float32, None))
    assert_same(actual, expected)


@pytest.mark.parametrize(
    ("name", "low", "engine"),
    [
        ("event-agnostic", torch.float32, "parallel"),
        ("event-agnostic-all", torch.float32, "parallel"),
        ("sysid", torch.float32, "parallel"),
        ("join", torch.float32, "parallel"),
        ("teacher-state", torch.float32, "parallel"),
        ("task-informed", torch.float32, "parallel"),
        ("task-informed-recorded", None, "parallel"),
        ("inverse+imitation", torch.float32, "parallel"),
        ("inverse-only", None, "parallel"),
        ("open-loop-world", torch.float32, "parallel"),
        ("dual", torch.float32, "parallel"),
        ("matched", torch.float32, "parallel"),
        ("intent+task-informed", torch.float32, "parallel"),
        ("sysid", None, "unrolled"),
        ("event-agnostic", None, "unrolled"),
        ("event-agnostic-all-recorded", None, "parallel"),
    ],
)
def test_episodes_without_weight_need_not_be_computed(
    monkeypatch: pytest.MonkeyPatch, name: str, low: torch.dtype | None, engine: str
) -> None:
    """What is drawn is other episodes in each run, once nearly as many as there are places and once few."""
    weight = torch.zeros(2, 9)
    weight[0, [1, 4, 5, 8]] = torch.tensor([0.1, 0.2, 0.3, 0.4])
    weight[1, [0, 7]] = 0.5
    data = vectors(4, 9)
    every, some = (learned(monkeypatch, name, data, low, engine, weight, room) for room in (None, 5))
    assert_same(some, every)


@pytest.mark.parametrize(
    ("name", "codes"), [("event-agnostic", 6), ("event-agnostic-all", 6), ("sysid", 150), ("matched", 6)]
)
def test_low_precision_comes_near(monkeypatch: pytest.MonkeyPatch, name: str, codes: int) -> None:
    data = vectors(4, 9)
    (losses, flow), (wanted, expected) = (
        learned(monkeypatch, name, data, low, codes=codes) for low in (torch.bfloat16, None)
    )
    torch.testing.assert_close(losses, wanted, rtol=0.05, atol=0.05)
    actual, other = (torch.cat([value.flatten() for value in flows.values()]) for flows in (flow, expected))
    assert (actual - other).norm() < 0.15 * other.norm()


def test_a_whole_update_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = (Run(1), Run(2, beta=0.1))
    plan = Plan(learner("event-agnostic"), preset("carousel"), runs, 10, SMALL, batch=6, low=torch.float32)
    cohorts = []
    for fused in (True, False):
        monkeypatch.setattr(parallel, "on_gpu", lambda shown, fused=fused: fused)
        cohorts.append(Cohort(plan, vectors(3, 20)))
        cohorts[-1].advance(2)
    one, two = cohorts
    torch.testing.assert_close(one.losses, two.losses, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(one.optimiser.gradient, two.optimiser.gradient, rtol=1e-3, atol=1e-4)


def test_what_does_not_fit_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    data = symbols(4, 3).to("cpu", torch.float32)
    parameters = lively(sole_carrier.weights(data.shape, SMALL), [1], torch.float32)
    shown = parallel.tokens(data)
    assert fits(parameters, shown)
    assert not fits(parameters, replace(shown, observation=shown.observation.unsqueeze(0)))
    assert not fits({name: value.double() for name, value in parameters.items()}, shown)
    for missing in ("observe.second.weight", "codebook"):
        assert not fits({name: value for name, value in parameters.items() if name != missing}, shown)
    assert not fits(lively(sole_carrier.weights(data.shape, replace(SMALL, width=24)), [1], torch.float32), shown)
    matched = lively(sole_carrier.weights(data.shape, replace(SMALL, side="symbol")), [1], torch.float32)
    assert fits(matched, shown)
    assert not fits(matched, replace(shown, symbol=None))
    monkeypatch.setattr(parallel, "on_gpu", lambda shown: True)
    code = torch.zeros(1, 4, 3, dtype=torch.long)
    weight = data.weight.expand(1, -1)
    for change in ({"bound": "tanh"}, {"persistent": False}):
        carrier = replace(SMALL, **change)
        assert parallel.trace(parameters, carrier, data, weight, shown, code, torch.float32).heads is None
