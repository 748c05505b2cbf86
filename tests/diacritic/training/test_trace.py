"""Rows and steps of a trace are two views of the same thing."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import TINY, gradients, lively, symbols
from torch import Tensor

from diacritic.memory import sole_carrier
from diacritic.training import reference, tables
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.trace import Rows, Trace, row_weights

DATA = symbols(5, 7, observations=2, actions=2)


def _traces() -> tuple[dict[str, Tensor], list[Trace]]:
    layers = sole_carrier.weights(DATA.shape, TINY) | Imitation().weights(DATA.shape, TINY)
    parameters = {name: value.requires_grad_() for name, value in lively(layers, [1, 2]).items()}
    weight = torch.stack([DATA.weight, DATA.weight.flip(0)])
    table = tables.prepare(DATA)
    return parameters, [
        reference.trace(parameters, TINY, DATA, weight, "carousel"),
        tables.trace(parameters, TINY, DATA, table, weight),
    ]


def test_runs_see_their_own_episodes() -> None:
    trace = _traces()[1][0]
    drawn = torch.tensor([[6, 2, 0], [1, 1, 5]])
    some = replace(trace, rows=Rows(5, 3, drawn=drawn))
    for values in (torch.rand(1, 5, 7), torch.rand(2, 5, 7), torch.rand(1, 5, 7, 4)):
        actual = some.own(values)
        for s in range(2):
            assert torch.equal(actual[s], values[s % len(values)][:, drawn[s]])
        assert trace.own(values) is values


def test_means_over_rows_are_means_over_steps() -> None:
    for trace in _traces()[1]:
        values = trace.proposal.sum(-1)
        steps = trace.steps(values)
        wanted = (steps * trace.step_weight).sum((1, 2))
        torch.testing.assert_close(trace.mean(values), wanted, rtol=0, atol=1e-12)


def test_targets_of_a_row_are_the_weighted_sum_of_its_steps() -> None:
    for trace in _traces()[1]:
        actual = trace.targets(DATA.target)
        wanted = torch.zeros_like(actual)
        for s in range(2):
            for t in range(5):
                for n in range(7):
                    row = t * 7 + n if trace.rows.token is None else int(trace.rows.token[s, t, n])
                    wanted[s, row] += DATA.target[t, n] * trace.episode_weight[s, n] / 5
        torch.testing.assert_close(actual, wanted, rtol=0, atol=1e-12)
        torch.testing.assert_close(actual.sum(-1), trace.weight, rtol=0, atol=1e-12)  # laws sum to one


def test_a_head_by_rows_is_the_head_by_steps() -> None:
    _, (plain, shared) = _traces()
    for trace in (plain, shared):
        torch.testing.assert_close(trace.steps(trace.read("act")), trace.read_steps("act"), rtol=0, atol=1e-12)
    torch.testing.assert_close(plain.read_steps("act"), shared.read_steps("act"), rtol=0, atol=1e-12)


def test_an_extra_term_enters_the_first_layer() -> None:
    _, (plain, shared) = _traces()
    extra = torch.randn(2, 5, 7, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    actual = plain.read_steps("act", extra)
    torch.testing.assert_close(actual, shared.read_steps("act", extra), rtol=0, atol=1e-12)
    assert (actual != plain.read_steps("act")).any(-1).all()


@pytest.mark.parametrize("engine", [0, 1])
def test_a_detached_head_learns_and_teaches_nothing(engine: int) -> None:
    parameters, traces = _traces()
    attached = gradients(traces[engine].read("act").square(), parameters)
    detached = gradients(traces[engine].read("act", detached=True).square(), parameters)
    for name in parameters:
        if name.startswith("act."):
            torch.testing.assert_close(detached[name], attached[name], rtol=1e-12, atol=1e-12)
            assert detached[name].abs().sum() > 0, name
        else:
            assert detached[name].abs().sum() == 0, name
            assert name == "codebook" or attached[name].abs().sum() > 0, name


def test_row_weights_count_the_steps_of_each_row() -> None:
    token = torch.tensor([[[0, 2, 2], [1, 2, 0]]])
    weight = torch.tensor([[0.5, 0.25, 0.25]])
    assert row_weights(token, weight, 4).tolist() == [[0.25 + 0.125, 0.25, 0.125 * 3, 0.0]]
