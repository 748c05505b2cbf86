"""Open-loop targets against a double loop over steps and later steps."""

import pytest
import torch
from carrier_twin import Scene, error, head, one_of, scene, symbols, vectors
from torch import Tensor

from diacritic.training.data import Data
from diacritic.training.objectives.open_loop import OpenLoop


def _ahead(at: Scene, name: str, s: int, t: int, n: int, values: Tensor) -> Tensor:
    """The mean error over all that is still to come; nothing at the last step."""
    T, _, size = values.shape
    prediction = head(one_of(at.parameters, s), name, at.features(s, t, n), at.vector(s, t, n)).view(T - 1, size)
    errors = [error(prediction[j - 1], values[t + j, n], at.data.shape.symbolic) for j in range(1, T - t)]
    return torch.stack(errors).mean() if errors else torch.zeros((), dtype=torch.float64)


@pytest.mark.parametrize("observations", [False, True])
@pytest.mark.parametrize("data", [vectors(5, 3), symbols(5, 3)])
def test_everything_to_come_from_code_and_observation_alone(data: Data, observations: bool) -> None:
    term = OpenLoop(observations)
    at = scene([term], data)
    seen = data.observation[data.observation_index]
    values = {}
    for s, t, n in at.steps:
        values[s, t, n] = _ahead(at, "ahead", s, t, n, data.target)
        if observations:
            values[s, t, n] = values[s, t, n] + _ahead(at, "world", s, t, n, seen)
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)
    assert observations == any(name.startswith("world") for name in at.parameters)
