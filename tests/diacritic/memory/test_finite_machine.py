"""A carrier as tables, against the module asked for every code and every input."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from carrier_twin import TINY, lively
from torch import Tensor

from certify.errors import UserError
from diacritic.memory import sole_carrier
from diacritic.memory.finite_machine import code_tables
from diacritic.memory.module import Carrier, one_run
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import State
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.objectives.readout import Controlled

SHAPE = Shape(observation=4, action=3, symbolic=True, symbols=4, classes=3)
SEEN, DID = torch.eye(4), torch.cat([torch.eye(3), torch.zeros(1, 3)])


def _weights(architecture: Architecture) -> dict[str, Tensor]:
    readout = architecture.readout
    term = Imitation() if readout == "direct" else Controlled(readout)
    layers = sole_carrier.weights(SHAPE, architecture) | term.weights(SHAPE, architecture)
    return lively(layers, [1, 2], torch.float32)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"bound": "tanh"},
        {"persistent": False},
        {"path": "scaffold"},
        {"side": "symbol"},
        {"side": "symbol", "readout": "hierarchical"},
        {"side": "symbol", "readout": "intent"},
        {"identification": 4},
    ],
)
@torch.no_grad()
def test_every_entry_is_what_the_module_does(change: dict[str, object]) -> None:
    architecture = replace(TINY, **change)
    parameters = _weights(architecture)
    moves, laws = code_tables(parameters, architecture, SEEN, DID)
    assert moves.shape == (2, 7, 4, 4)
    assert laws.shape == (2, 6, 4, 3)
    for run in range(2):
        carrier = Carrier(SHAPE, architecture, one_run(parameters, run))
        for code in range(7):
            for o in range(4):
                for a in range(4):
                    state = carrier.begin(1)
                    if code < 6:
                        vector = parameters["codebook"][run, code].view(1, 3)
                        state = State(vector, torch.tensor([code]), state.hidden, state.identification)
                    symbol = SEEN[o : o + 1] if architecture.side == "symbol" else None
                    _, after, logits = carrier.step(state, SEEN[o : o + 1], DID[a : a + 1], symbol)
                    assert moves[run, code, o, a] == int(after)
                    law = logits[0].double().softmax(-1).numpy()
                    assert np.allclose(laws[run, int(after), o], law, rtol=0, atol=1e-6)
        assert len(np.unique(moves[run])) > 1


@pytest.mark.parametrize("change", [{"path": "bypass"}, {"memory": "gaussian"}, {"memory": "gru"}])
def test_what_remembers_more_than_a_code_is_no_finite_machine(change: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"^architecture: only what remembers nothing but a code is a finite machine"):
        code_tables({}, replace(TINY, **change), SEEN, DID)
