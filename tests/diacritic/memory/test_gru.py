"""GRU policies: against PyTorch's own cell, step by step against whole sequences, many runs against one."""

import pytest
import torch
from torch import Tensor

from diacritic.memory.gru import Gru
from diacritic.memory.layers import Weight
from diacritic.memory.protocol import Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.randomness import initial

GRU = Gru()
PLAIN = Architecture()


def _weights(inputs: int, actions: int, state: int) -> dict[str, Weight]:
    return GRU.weights(Shape(inputs, actions), Architecture(state_size=state))


def _unroll(parameters: dict[str, Tensor], observations: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
    """States and actions of whole sequences, [runs, T, N, ·]."""
    (record,) = GRU.unroll(parameters, PLAIN, Inputs(observations, previous))
    assert record.actions is not None
    return record.embedding.unflatten(1, (7, 3)), record.actions.unflatten(1, (7, 3))


def _inputs(runs: int | None = None) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    lead = () if runs is None else (runs,)
    observations = torch.randn(*lead, 7, 3, 5, generator=generator, dtype=torch.float64)
    return observations, torch.randn(*lead, 7, 3, 2, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("state", [16, 8, 4])
@pytest.mark.parametrize("runs", [None, 2])
def test_steps_and_whole_sequences_agree(state: int, runs: int | None) -> None:
    parameters = initial(_weights(5, 2, state), [1, 2], torch.float64)
    observations, previous = _inputs(runs)
    states, actions = _unroll(parameters, observations, previous)
    memory = GRU.start(parameters, PLAIN, 3)
    for t in range(7):
        inputs = Inputs(observations[..., t, :, :], previous[..., t, :, :])
        memory, record = GRU.step(parameters, PLAIN, memory, inputs)
        torch.testing.assert_close(memory, states[:, t], rtol=0, atol=1e-12)
        torch.testing.assert_close(record.actions, actions[:, t], rtol=0, atol=1e-12)


def test_the_cell_is_that_of_pytorch() -> None:
    parameters = initial(_weights(5, 2, 8), [4], torch.float64)
    observations, previous = _inputs()
    cell = torch.nn.GRUCell(8, 8, dtype=torch.float64)
    with torch.no_grad():
        for theirs, ours in (("ih", "input"), ("hh", "state")):
            getattr(cell, f"weight_{theirs}").copy_(parameters[f"cell.{ours}.weight"][0].T)
            getattr(cell, f"bias_{theirs}").copy_(parameters[f"cell.{ours}.bias"][0])
        hidden = torch.zeros(3, 8, dtype=torch.float64)
        for t in range(7):
            rows = torch.cat([observations[t], previous[t]], -1)
            hidden = cell(torch.relu(rows @ parameters["input.weight"][0] + parameters["input.bias"][0]), hidden)
    states, _ = _unroll(parameters, observations, previous)
    torch.testing.assert_close(states[0, -1], hidden, rtol=0, atol=1e-12)


def test_runs_do_not_mix_and_gradients_reach_everything() -> None:
    shape = _weights(5, 2, 8)
    parameters = {k: v.requires_grad_() for k, v in initial(shape, [1, 2, 3], torch.float64).items()}
    observations, previous = _inputs()
    _, actions = _unroll(parameters, observations, previous)
    alone = _unroll(initial(shape, [2], torch.float64), observations, previous)[1]
    torch.testing.assert_close(actions[1:2], alone, rtol=0, atol=1e-12)
    actions[1].square().sum().backward()
    for name, value in parameters.items():
        assert value.grad is not None
        assert value.grad[1].abs().sum() > 0, name
        assert value.grad[[0, 2]].abs().sum() == 0, name


def test_everything_shrinks_with_the_state() -> None:
    def size(state: int) -> int:
        return sum(int(torch.Size(w.shape).numel()) for w in _weights(27, 7, state).values())

    # input net, two products of the cell, head: each layer with its bias
    assert size(8) == 35 * 8 + 2 * (9 * 24) + 9 * 8 + 9 * 7
    assert size(4) < size(8) < size(128)
    assert GRU.start(initial(_weights(27, 7, 32), [0]), PLAIN, 1).numel() == 32
