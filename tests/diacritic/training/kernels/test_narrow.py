"""The kernels of narrow carriers against the loop over steps, in Triton's interpreter."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import gradients, lively, schedule_at, vectors
from torch import Tensor

from diacritic.memory import sole_carrier
from diacritic.memory.kernels.launch import SIZES
from diacritic.memory.shape import Architecture
from diacritic.training import parallel, reference, unrolled
from diacritic.training.data import Data
from diacritic.training.kernels.drawn import choose
from diacritic.training.kernels.narrow import fits
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.released import released
from diacritic.training.trace import Trace

SMALL = preset("release").architecture(Architecture(codes=6, code_size=16, width=32, features=16))
Learned = tuple[Tensor, Tensor, dict[str, Tensor]]


def learned(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    data: Data,
    kernels: bool,
    room: int | None = None,
    codes: int = 6,
    rough: bool = True,
) -> Learned:
    """Codes, losses and gradients of a learner of the release, with the kernels or step by step."""
    chosen, data = released(learner(name)), data.to("cpu", torch.float32)
    carrier = chosen.architecture(SMALL.__class__(**{**vars(SMALL), "codes": codes}))
    layers = sole_carrier.weights(data.shape, carrier)
    for term in chosen.terms:
        layers |= term.weights(data.shape, carrier)
    parameters = {name: value.requires_grad_() for name, value in lively(layers, [1, 2], torch.float32).items()}
    monkeypatch.setattr(parallel, "on_gpu", lambda shown: kernels)
    made = torch.Generator().manual_seed(3)
    counts = torch.randint(0, 3, (2, data.episodes), generator=made).float()
    counts[:, 0] += 1
    weight = counts / counts.sum(1, keepdim=True)
    trace: Trace
    if kernels:
        drawn, weight = (None, weight) if room is None else choose(weight, room)
        shown = parallel.tokens(data)
        trace = unrolled.trace(parameters, carrier, data, weight, shown, torch.float32 if rough else None, drawn)
        assert trace.heads is not None
    else:
        trace = reference.trace(parameters, carrier, data, weight)
    assert len(trace.code.unique()) > 2
    losses = torch.stack([term.loss(trace, data, schedule_at(2)) for term in chosen.terms])
    return trace.step_code, losses, gradients(losses, parameters)


def assert_same(actual: Learned, expected: Learned) -> None:
    torch.testing.assert_close(actual[1], expected[1], rtol=1e-4, atol=1e-4)
    for parameter, value in expected[2].items():
        scale = max(1.0, float(value.abs().max()))
        torch.testing.assert_close(actual[2][parameter], value, rtol=1e-3, atol=1e-4 * scale, msg=parameter)


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "event-agnostic",
        "event-agnostic-recorded",
        "event-agnostic-all",
        "task-informed",
        "sysid",
        "join",
        "teacher-state",
        "unconditional",
        "non-persistent",
        "plain+bfs",
        "inverse+imitation",
        "scaffold",
        "bypass",
        "scaffold+bfs",
    ],
)
def test_a_learner_learns_the_same_as_step_by_step(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = vectors(5, 9, observation=5)
    rough = "bfs" not in name  # rough continuations have factors of bf16
    actual, expected = (learned(monkeypatch, name, data, kernels, rough=rough) for kernels in (True, False))
    assert torch.equal(actual[0], expected[0])
    assert_same(actual, expected)


@pytest.mark.parametrize("name", ["plain", "sysid"])
def test_many_codes_and_classes_are_learned_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = vectors(5, 9, observation=5)
    data = replace(data, shape=replace(data.shape, labels=70))
    actual, expected = (learned(monkeypatch, name, data, kernels, codes=70, rough=False) for kernels in (True, False))
    assert torch.equal(actual[0], expected[0])
    assert_same(actual, expected)


@pytest.mark.parametrize("name", ["plain", "event-agnostic"])
def test_actions_of_many_numbers_are_learned_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = vectors(5, 9, observation=5, action=70)
    actual, expected = (learned(monkeypatch, name, data, kernels, rough=False) for kernels in (True, False))
    assert_same(actual, expected)


@pytest.mark.parametrize("name", ["plain+bfs", "scaffold+bfs"])
def test_rough_continuations_are_close(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = vectors(5, 24, observation=5)
    actual = learned(monkeypatch, name, data, kernels=True, room=20)
    expected = learned(monkeypatch, name, data, kernels=False)
    torch.testing.assert_close(actual[1], expected[1], rtol=1e-2, atol=1e-4)
    errors = {
        parameter: float((actual[2][parameter] - value).norm() / value.norm().clamp(min=1e-6))
        for parameter, value in expected[2].items()
    }
    assert max(errors.values()) < 0.1, errors
    assert errors["bfs.state.weight"] > 1e-4  # the kernels did compute it


@pytest.mark.parametrize("name", ["event-agnostic", "task-informed"])
def test_episodes_without_weight_need_not_be_computed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = vectors(4, 24)
    actual = learned(monkeypatch, name, data, kernels=True, room=20)
    assert actual[0].shape[-1] == 20
    assert_same(actual, learned(monkeypatch, name, data, kernels=False))


def test_any_tiling_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = vectors(4, 9)
    expected = learned(monkeypatch, "event-agnostic", data, kernels=False, codes=20)
    for kernel, sizes in SIZES.items():
        monkeypatch.setitem(SIZES, kernel, sizes._replace(rows=16, programs=2, chunk=16))
    assert_same(learned(monkeypatch, "event-agnostic", data, kernels=True, codes=20), expected)


def test_other_carriers_are_left_to_the_loop() -> None:
    data = vectors(4, 9).to("cpu", torch.float32)
    inputs = parallel.tokens(data)
    parameters = {"codebook": torch.zeros(2, 6, 16)}
    assert fits(parameters, SMALL, inputs)
    assert not fits(parameters, Architecture(codes=6, code_size=16, width=32), inputs)
    assert not fits({"codebook": parameters["codebook"].double()}, SMALL, inputs)


def test_a_scaffold_that_has_fallen_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data, carrier = vectors(5, 9).to("cpu", torch.float32), learner("scaffold").architecture(SMALL)
    parameters = lively(sole_carrier.weights(data.shape, carrier), [1, 2], torch.float32)
    monkeypatch.setattr(parallel, "on_gpu", lambda shown: True)
    weight, shown = data.weight.expand(2, -1), parallel.tokens(data)
    standing, half, fallen = (
        unrolled.trace(parameters, carrier, data, weight, shown, torch.float32, strength=alpha).proposal
        for alpha in (1.0, 0.5, 0.0)
    )
    literal = reference.trace(parameters, carrier, data, weight, strength=0.5).proposal
    torch.testing.assert_close(half, literal, rtol=1e-4, atol=1e-4)
    plain = unrolled.trace(parameters, SMALL, data, weight, shown, torch.float32).proposal
    torch.testing.assert_close(fallen, plain, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(standing, half)
