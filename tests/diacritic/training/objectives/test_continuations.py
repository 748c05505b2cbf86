"""Continuations from every step against PyTorch's GRU, one start at a time."""

import pytest
import torch
from carrier_twin import NARROW, TABLE, One, Scene, acted, error, layer, one_of, scene, symbols, vectors
from torch import Tensor

from diacritic.training.data import Data
from diacritic.training.objectives.continuations import EveryContinuation


def _cell(p: One, features: int, width: int) -> torch.nn.GRUCell:
    cell = torch.nn.GRUCell(2 * features, width, dtype=torch.float64)
    for theirs, ours in (("ih", "input"), ("hh", "state")):
        getattr(cell, f"weight_{theirs}").data = p[f"bfs.{ours}.weight"].detach().T.clone()
        getattr(cell, f"bias_{theirs}").data = p[f"bfs.{ours}.bias"].detach().clone()
    return cell


def _from(at: Scene, term: EveryContinuation, s: int, t: int, n: int) -> Tensor:
    """The mean error over the rest of one episode."""
    p, data = one_of(at.parameters, s), at.data
    cell = _cell(p, NARROW.features, NARROW.width)
    hidden = layer(p, "bfs.start", torch.cat([at.features(s, t, n), at.vector(s, t, n)])).tanh()
    errors = []
    for later in range(t + 1, min(data.horizon, t + 1 + term.reach)):
        did = data.previous[data.previous_index[later, n]]
        token = torch.cat([at.features(s, later, n), acted(p, did)])
        hidden = cell((torch.zeros_like(token) if term.blind else token)[None], hidden[None])[0]
        for name, wanted in (("bfs", data.target), ("bfs.world", data.observation[data.observation_index])):
            if name == "bfs" or term.world:
                told = layer(p, f"{name}.out", layer(p, f"{name}.hidden", hidden).relu())
                errors.append(error(told, wanted[later, n], data.shape.symbolic))
    steps = len(errors) / (2 if term.world else 1)
    return torch.stack(errors).sum() / steps if errors else torch.zeros((), dtype=torch.float64)


@pytest.mark.parametrize(
    "term",
    [
        EveryContinuation(),
        EveryContinuation(blind=True),
        EveryContinuation(blind=True, world=True),
        EveryContinuation(reach=2),
    ],
)
@pytest.mark.parametrize(("data", "carrier"), [(vectors(5, 3), NARROW), (symbols(5, 3), TABLE)])
def test_every_start_reads_the_rest_of_its_episode(data: Data, carrier: object, term: EveryContinuation) -> None:
    at = scene([term], data, NARROW if carrier is NARROW else TABLE)
    values = {(s, t, n): _from(at, term, s, t, n) for s, t, n in at.steps}
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)
