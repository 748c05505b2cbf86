"""Behavioural future sufficiency against continuations walked one by one."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import Scene, error, layer, one_of, scene, symbols, vectors
from torch import Tensor

from diacritic.training.data import Data
from diacritic.training.objectives.bfs import FutureSufficiency
from diacritic.training.schedule import STREAMS


def _continuation(at: Scene, s: int, n: int, first: int, code: Tensor) -> Tensor:
    """The mean over prefixes from one drawn step: a GRU starts at the code and reads what the episode showed."""
    p, data = one_of(at.parameters, s), at.data
    hidden = layer(p, "bfs.start", code).tanh()
    total = torch.zeros((), dtype=torch.float64)
    for t in range(first, data.horizon):
        acted = layer(p, "previous", data.previous[data.previous_index[t, n]]).relu()
        given = torch.cat([at.features(s, t, n), acted])
        hidden = torch.gru_cell(
            given.unsqueeze(0),
            hidden.unsqueeze(0),
            p["bfs.input.weight"].T,
            p["bfs.state.weight"].T,
            p["bfs.input.bias"],
            p["bfs.state.bias"],
        ).squeeze(0)
        total = total + error(layer(p, "bfs.out", hidden), data.target[t, n], data.shape.symbolic)
    return total / (data.horizon - first)


@pytest.mark.parametrize("starts", [1, 3])
@pytest.mark.parametrize("data", [vectors(5, 3), symbols(5, 3)])
def test_it_is_the_mean_over_prefixes_of_drawn_continuations(data: Data, starts: int) -> None:
    term = FutureSufficiency(starts)
    at = scene([term], data)
    first = (at.schedule.uniform(STREAMS["bfs"], starts * 3) * 5).long()
    wanted = torch.zeros(2, dtype=torch.float64)
    for s in range(2):
        for m in range(starts * 3):
            n, start = m % 3, int(first[s, m])
            code = at.vector(s, start, n)
            wanted[s] = wanted[s] + data.weight[n] / starts * _continuation(at, s, n, start, code)
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * wanted, rtol=0, atol=1e-12)


def test_it_teaches_the_codes_of_drawn_steps_and_no_others() -> None:
    data = symbols(6, 4)
    term = FutureSufficiency(1)
    at = scene([term], data)
    first = (at.schedule.uniform(STREAMS["bfs"], 4) * 6).long()
    flow = torch.autograd.grad(term.loss(at.trace, data, at.schedule).sum(), at.trace.embedding)[0]
    reached = at.trace.steps(flow).abs().sum(-1) > 0
    drawn = torch.zeros(2, 6, 4, dtype=torch.bool)
    for s in range(2):
        for n in range(4):
            drawn[s, first[s, n], n] = True
    assert torch.equal(reached, drawn)


def test_what_only_the_code_can_tell_is_learned_from_it() -> None:
    """Two episodes look alike and differ in their last action: a decoder whose code tells them apart predicts it."""
    last = torch.eye(2, dtype=torch.float64)[torch.tensor([[0, 0], [0, 0], [0, 1]])]
    alike = torch.tensor([[0, 0], [1, 1], [1, 1]])
    given = symbols(3, 2, observations=1, actions=2)
    data = replace(given, target=last, previous_index=alike, weight=torch.full((2,), 0.5, dtype=torch.float64))
    at = scene([FutureSufficiency(8)], data)
    final = []
    for vector in ([[1.0] * 3, [-1.0] * 3], [[1.0] * 3, [1.0] * 3]):
        fixed = {name: value.detach().clone() for name, value in at.parameters.items()}
        learned = [value.requires_grad_() for name, value in fixed.items() if name.startswith("bfs")]
        code = torch.tensor(vector, dtype=torch.float64).repeat(3, 1).expand(2, -1, -1)
        trace = replace(at.trace, parameters=fixed, embedding=code, features=at.trace.features.detach())
        optimiser = torch.optim.Adam(learned, 0.05)
        for _ in range(50):
            loss = FutureSufficiency(8).loss(trace, data, at.schedule)
            optimiser.zero_grad()
            loss.sum().backward()
            optimiser.step()
        final.append(FutureSufficiency(8).loss(trace, data, at.schedule).detach())
    assert (final[0] < 0.7 * final[1]).all()
