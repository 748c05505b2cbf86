"""Heads that name hidden things: θ, the pending joint class, a teacher's state; each against a loop."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import TINY, gradients, head, one_of, scene, symbols, vectors

from certify.errors import UserError
from diacritic.training.objectives.base import Term
from diacritic.training.objectives.identification import Identification, JoinHead, TeacherState


@pytest.mark.parametrize("second", [0, 5])
def test_the_hidden_parameter_at_every_step(second: int) -> None:
    data = symbols(4, 3)
    assert data.label is not None
    at = scene([Identification()], data, replace(TINY, identification=second))
    watched = at.trace.identification if second else at.trace
    assert watched is not None
    values = {}
    for s, t, n in at.steps:
        logits = head(one_of(at.parameters, s), "identify", at.features(s, t, n), watched.step_embedding[s, t, n])
        values[s, t, n] = -logits.log_softmax(-1)[data.label[n]]
    loss = Identification().loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)


@pytest.mark.parametrize("detached", [False, True])
def test_a_detached_second_carrier_leaves_the_policy_alone(detached: bool) -> None:
    data = symbols(4, 3)
    at = scene([Identification()], data, replace(TINY, identification=5, detached=detached))
    flow = gradients(Identification().loss(at.trace, data, at.schedule), at.parameters)
    for name, value in flow.items():
        shared = name.startswith(("observe", "previous"))
        if name.startswith("residual") or name == "codebook":
            assert value.abs().sum() == 0, name
        elif shared:
            assert bool(value.abs().sum() > 0) is not detached, name
    assert flow["identify.observation.weight"].abs().sum() > 0
    assert flow["identification.out.weight"].abs().sum() > 0


def test_the_joint_class_while_it_is_pending() -> None:
    data = vectors(4, 3)
    assert data.joint is not None
    assert (data.joint < 0).any()
    at = scene([JoinHead()], data)
    values = {}
    for s, t, n in at.steps:
        logits = head(one_of(at.parameters, s), "join", at.features(s, t, n), at.vector(s, t, n))
        pending = int(data.joint[t, n])
        values[s, t, n] = torch.zeros((), dtype=torch.float64) if pending < 0 else -logits.log_softmax(-1)[pending]
    loss = JoinHead().loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)


def test_the_teachers_state_of_each_run() -> None:
    data = vectors(4, 3)
    assert data.teacher is not None
    data = replace(data, teacher=torch.cat([data.teacher, 2 * data.teacher]))
    assert data.teacher is not None
    at = scene([TeacherState()], data)
    values = {}
    for s, t, n in at.steps:
        guess = head(one_of(at.parameters, s), "teacher", at.features(s, t, n), at.vector(s, t, n))
        values[s, t, n] = (guess - data.teacher[s, t, n]).square().mean()
    loss = TeacherState().loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("term", "name"), [(Identification(), "label"), (JoinHead(), "joint"), (TeacherState(), "teacher")]
)
def test_what_is_missing_is_named(term: Term, name: str) -> None:
    data = vectors(4, 3)
    at = scene([term], data)
    missing: dict[str, object] = {name: None}
    with pytest.raises(UserError, match=rf"^data\.{name}: the term"):
        term.loss(at.trace, replace(data, **missing), at.schedule)


def test_the_joint_class_at_every_step_is_that_after_the_last_cue() -> None:
    data, term = vectors(4, 3), JoinHead("all")
    joint = torch.tensor([[-1, -1, -1], [3, 0, 2], [1, 1, 1], [-1, -1, -1]])
    data = replace(data, joint=joint, last_reveal=1)
    at = scene([term], data)
    values = {}
    for s, t, n in at.steps:
        logits = head(one_of(at.parameters, s), "join", at.features(s, t, n), at.vector(s, t, n))
        values[s, t, n] = -logits.log_softmax(-1)[joint[1, n]]
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)


def test_the_teachers_state_may_be_brought_to_length_one_and_summed() -> None:
    data, term = vectors(4, 3), TeacherState(numbers="sum", unit_length=True)
    assert data.teacher is not None
    at = scene([term], data)
    values = {}
    for s, t, n in at.steps:
        told = head(one_of(at.parameters, s), "teacher", at.features(s, t, n), at.vector(s, t, n))
        state = data.teacher[0, t, n]
        values[s, t, n] = (told - state / state.norm()).square().sum()
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)


def test_a_detached_second_carrier_may_still_be_read_beside_the_policys_features() -> None:
    data = symbols(4, 3)
    term = Identification(own_features=True)
    at = scene([term], data, replace(TINY, identification=5, detached=True))
    flow = gradients(term.loss(at.trace, data, at.schedule), at.parameters)
    assert flow["observe.first.weight"].abs().sum() > 0
    assert flow["previous.weight"].abs().sum() == 0
    plain = gradients(Identification().loss(at.trace, data, at.schedule), at.parameters)
    torch.testing.assert_close(flow["identification.out.weight"], plain["identification.out.weight"])
