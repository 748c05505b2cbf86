"""Imitation against a loop over steps."""

import pytest
import torch
from carrier_twin import error, gradients, head, one_of, scene, symbols, vectors

from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.imitation import Imitation


@pytest.mark.parametrize("data", [vectors(4, 3), symbols(4, 3)])
def test_it_is_the_mean_over_steps(data: Data) -> None:
    at = scene([Imitation()], data)
    values = {}
    for s, t, n in at.steps:
        prediction = head(one_of(at.parameters, s), "act", at.features(s, t, n), at.vector(s, t, n))
        values[s, t, n] = error(prediction, data.target[t, n], data.shape.symbolic)
    loss = Imitation().loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.literal(values), rtol=0, atol=1e-12)
    detached = Imitation(detached=True).loss(at.trace, data, at.schedule)
    torch.testing.assert_close(detached, loss, rtol=0, atol=1e-12)


def test_a_detached_policy_reads_without_shaping_the_memory() -> None:
    data = symbols(4, 3)
    at = scene([Imitation()], data)
    free = gradients(Imitation().loss(at.trace, data, at.schedule), at.parameters)
    detached = gradients(Imitation(detached=True).loss(at.trace, data, at.schedule), at.parameters)
    for name in at.parameters:
        assert bool(detached[name].abs().sum() > 0) == name.startswith("act."), name
    assert free["residual.out.weight"].abs().sum() > 0
    torch.testing.assert_close(detached["act.observation.weight"], free["act.observation.weight"])


def test_a_gru_has_a_head_of_its_own() -> None:
    assert Imitation().weights(Shape(3, 2), Architecture(memory="gru")) == {}
