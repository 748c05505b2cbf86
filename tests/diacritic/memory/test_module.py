"""One run as an ordinary module: against the stacked cell, from the code alone, and what it refuses."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import NARROW, TABLE, TINY, lively
from torch import Tensor

from certify.errors import UserError
from diacritic.memory import sole_carrier
from diacritic.memory.act import act
from diacritic.memory.kinds import memory_of
from diacritic.memory.module import Carrier, one_run
from diacritic.memory.protocol import Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.objectives.rate import Rate
from diacritic.training.objectives.readout import Controlled
from diacritic.training.randomness import initial

SHAPE = Shape(observation=4, action=2, symbols=5, classes=3)
VARIANTS = [
    TINY,
    replace(TINY, bound="tanh"),
    NARROW,
    replace(NARROW, path="bypass"),
    TABLE,
    replace(TINY, persistent=False),
    replace(TINY, path="bypass"),
    replace(TINY, identification=4),
    replace(TINY, memory="gaussian"),
    replace(TINY, side="symbol"),
    replace(TINY, side="symbol", readout="hierarchical"),
    replace(TINY, side="symbol", readout="intent"),
]


def _weights(architecture: Architecture) -> dict[str, Tensor]:
    layers = memory_of(architecture).weights(SHAPE, architecture) | Rate().weights(SHAPE, architecture)
    readout = architecture.readout
    term = Imitation() if readout == "direct" else Controlled(readout)
    return lively(layers | term.weights(SHAPE, architecture), [1, 2, 3], torch.float32)


def _episodes(T: int = 6, N: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    made = torch.Generator().manual_seed(0)
    symbol = torch.eye(5)[torch.randint(5, (T, N), generator=made)]
    return torch.randn(T, N, 4, generator=made), torch.randn(T, N, 2, generator=made), symbol


@pytest.mark.parametrize("architecture", VARIANTS)
@torch.no_grad()
def test_a_module_is_one_run_of_the_cohort(architecture: Architecture) -> None:
    parameters = _weights(architecture)
    seen, did, symbol = _episodes()
    carrier = Carrier(SHAPE, architecture, one_run(parameters, 1))
    memory = memory_of(architecture)
    state, many = carrier.begin(4), memory.start(parameters, architecture, 4)
    for t in range(6):
        sign = symbol[t] if architecture.side == "symbol" else None
        many, record = memory.step(parameters, architecture, many, Inputs(seen[t], did[t], sign))
        state, code, action = carrier.step(state, seen[t], did[t], sign)
        assert torch.equal(code, record.code[1])
        torch.testing.assert_close(action, act(parameters, architecture, record)[1], rtol=0, atol=1e-5)


@torch.no_grad()
def test_the_code_alone_is_enough_to_go_on() -> None:
    carrier = Carrier(SHAPE, TINY, one_run(_weights(TINY), 0))
    seen, did, _ = _episodes()
    state, code = carrier.begin(4), torch.full((4,), 6)
    met = set()
    for t in range(6):
        state, wanted, action = carrier.step(state, seen[t], did[t])
        code, answer = carrier(code, seen[t], did[t])
        assert torch.equal(code, wanted)
        assert torch.equal(answer, action)
        met |= set(code.tolist())
    assert len(met) > 1


def test_it_is_a_module_like_any_other() -> None:
    carrier = Carrier(SHAPE, TINY, one_run(_weights(TINY), 0))
    names = dict(carrier.named_parameters())
    assert sum(value.numel() for value in names.values()) == sum(value[0].numel() for value in _weights(TINY).values())
    other = Carrier(SHAPE, TINY, one_run(_weights(TINY), 1))
    other.load_state_dict(carrier.state_dict())
    seen, did, _ = _episodes()
    assert torch.equal(
        carrier.step(carrier.begin(4), seen[0], did[0])[2], other.step(other.begin(4), seen[0], did[0])[2]
    )
    _, _, action = carrier.step(carrier.begin(4), seen[0], did[0])
    action.sum().backward()
    reached = names["weights.observe_first_weight"].grad
    assert reached is not None
    assert reached.abs().sum() > 0


def test_training_heads_are_left_behind() -> None:
    parameters = one_run(_weights(TINY), 0) | {"future.out.weight": torch.zeros(3, 3)}
    assert not any("future" in name for name, _ in Carrier(SHAPE, TINY, parameters).named_parameters())


def test_a_scaffold_has_been_taken_down() -> None:
    architecture = replace(TINY, path="scaffold")
    parameters = one_run(_weights(architecture), 0)
    seen, did, _ = _episodes()
    with_path, plain = Carrier(SHAPE, architecture, parameters), Carrier(SHAPE, TINY, parameters)
    assert with_path.begin(4).hidden is None
    state, bare = with_path.begin(4), plain.begin(4)
    for t in range(6):
        state, code, action = with_path.step(state, seen[t], did[t])
        bare, wanted, answer = plain.step(bare, seen[t], did[t])
        assert torch.equal(code, wanted)
        assert torch.equal(action, answer)


def test_parameters_of_another_architecture_are_refused_in_one_line() -> None:
    parameters = one_run(_weights(TINY), 0)
    with pytest.raises(
        UserError, match=r"parameters\['codebook'\]: has shape \(6, 3\); the architecture needs \(7, 3\)"
    ):
        Carrier(SHAPE, replace(TINY, codes=7), parameters)
    with pytest.raises(UserError, match=r"parameters\['path.input.weight'\]: is missing"):
        Carrier(SHAPE, replace(TINY, path="bypass"), parameters)
    with pytest.raises(UserError, match="'gru' has no code to hand on"):
        Carrier(SHAPE, replace(TINY, memory="gru"), parameters)


@pytest.mark.parametrize(
    ("seen", "did", "message"), [(5, 2, "observation: has 5 columns"), (4, 1, "previous_action: has 1")]
)
def test_inputs_of_another_size_are_refused_in_one_line(seen: int, did: int, message: str) -> None:
    carrier = Carrier(SHAPE, TINY, one_run(_weights(TINY), 0))
    with pytest.raises(UserError, match=rf"^{message}[^\n]*$"):
        carrier.step(carrier.begin(4), torch.zeros(4, seen), torch.zeros(4, did))


def test_a_carrier_with_a_camera_sees_its_frames():
    shape = Shape(3, 2, frames=True)
    weights = sole_carrier.weights(shape, Architecture()) | Imitation().weights(shape, Architecture())
    carrier = Carrier(shape, Architecture(), {name: value[0] for name, value in initial(weights, [0]).items()})
    seen, before = torch.zeros(2, 3), torch.zeros(2, 2)
    dark, bright = torch.zeros(2, 64, 64, 3, dtype=torch.uint8), torch.full((2, 64, 64, 3), 255, dtype=torch.uint8)
    blind, dazzled = (carrier.step(carrier.begin(2), seen, before, frame=frame)[2] for frame in (dark, bright))
    assert not torch.allclose(blind, dazzled)
    with pytest.raises(UserError, match="camera"):
        carrier.step(carrier.begin(2), seen, before)
