"""Read-side controls against a loop, and what a controller learns from."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from carrier_twin import NARROW, TINY, Architecture, Scene, error, gradients, head, one_of, scene, vectors

from certify.errors import UserError
from diacritic.training.data import Data
from diacritic.training.objectives.readout import Controlled

Choice = Literal["hierarchical", "intent"]


def _scene(choice: Choice, weight: float, data: Data, carrier: Architecture = TINY) -> tuple[Controlled, Scene]:
    term = Controlled(choice, weight)
    return term, scene([term], data, replace(carrier, side="symbol", readout=choice))


@pytest.mark.parametrize("weight", [1.0, 30.0])
@pytest.mark.parametrize("choice", ["hierarchical", "intent"])
@pytest.mark.parametrize("carrier", [TINY, NARROW])
def test_a_choice_and_its_execution(choice: Choice, weight: float, carrier: Architecture) -> None:
    """The authors' controller reads the observation itself, and what it does is added to an intent."""
    data, raw = vectors(4, 3), carrier.controller_reads == "observation"
    assert data.classes is not None
    term, at = _scene(choice, weight, data, carrier)
    values = {}
    for s, t, n in at.steps:
        p, target = one_of(at.parameters, s), data.target[t, n]
        chosen = head(p, "choose", at.trace.steps(at.trace.side)[s, t, n], at.vector(s, t, n))
        if choice == "hierarchical":
            wanted = int(data.classes[t, n])
            choosing = -chosen.log_softmax(-1)[wanted]
            given = torch.eye(3, dtype=torch.float64)[wanted]  # taught with the expert's choice
        else:
            choosing, given = error(chosen, target, False), chosen
        if raw:
            done = head(p, "control", data.observation[data.observation_index[t, n]], given.detach())
            done = chosen + done if choice == "intent" else done
        else:
            done = head(p, "act", at.features(s, t, n), given.detach())
        values[s, t, n] = weight * choosing + error(done, target, False)
    loss = term.loss(at.trace, data, at.schedule)
    wanted = gradients(at.literal(values), at.parameters)
    for name, flow in gradients(loss, at.parameters).items():
        torch.testing.assert_close(flow, wanted[name], rtol=1e-10, atol=1e-10)
    assert ("choose.hidden1.weight" in at.parameters) == (raw and choice == "intent")
    torch.testing.assert_close(loss, at.literal(values), rtol=0, atol=1e-12)


@pytest.mark.parametrize("choice", ["hierarchical", "intent"])
def test_the_controller_does_not_shape_the_memory(choice: Choice) -> None:
    """With the choice itself weighing nothing, nothing but the controller and its encoder learns."""
    data = vectors(4, 3)
    term, at = _scene(choice, 0.0, data)
    flow = gradients(term.loss(at.trace, data, at.schedule), at.parameters)
    for name, value in flow.items():
        assert bool(value.abs().sum() > 0) == name.startswith(("act", "observe")), name


def test_a_hierarchical_policy_needs_symbolic_actions() -> None:
    data = vectors(4, 3)
    term, at = _scene("hierarchical", 1.0, data)
    with pytest.raises(UserError, match=r"data\.classes: the term 'hierarchical' needs it"):
        term.loss(at.trace, replace(data, classes=None), at.schedule)
