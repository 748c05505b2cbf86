"""Task-informed supervision: masks and strides, against a loop over steps and decisions."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import error, head, one_of, scene, symbols, vectors

from certify.errors import UserError
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.objectives.decisions import PendingDecisions


@pytest.mark.parametrize("data", [vectors(7, 3), symbols(7, 3)])
@pytest.mark.parametrize(
    "term",
    [
        PendingDecisions(),
        PendingDecisions(since="start"),
        PendingDecisions(stride=2),
        PendingDecisions(since="start", stride=4),
        PendingDecisions(target="recorded"),
    ],
)
def test_each_decision_is_supervised_until_it_is_reached(data: Data, term: PendingDecisions) -> None:
    data = replace(data, last_reveal=1, decisions=(4, 6))
    assert data.pending is not None
    at = scene([term], data)
    first = 1 if term.since == "last-reveal" else 0
    values = {}
    supervised = set()
    for s, t, n in at.steps:
        prediction = head(one_of(at.parameters, s), "pending", at.features(s, t, n), at.vector(s, t, n)).view(2, -1)
        total = torch.zeros((), dtype=torch.float64)
        for d, step in enumerate((4, 6)):
            if first <= t < step and (t - first) % term.stride == 0:
                wanted = data.target[step, n] if term.target == "recorded" else data.pending[0, t, n, d]
                total = total + error(prediction[d], wanted, data.shape.symbolic)
                supervised.add((t, d))
        values[s, t, n] = total
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)
    if term == PendingDecisions(stride=2):
        assert supervised == {(1, 0), (1, 1), (3, 0), (3, 1), (5, 1)}


def test_it_must_know_its_decisions() -> None:
    data = replace(vectors(7, 3), decisions=(3,))
    at = scene([PendingDecisions()], data)
    with pytest.raises(UserError, match=r"^data\.decisions: 1 decision steps, but the learner supervises 2$"):
        PendingDecisions().loss(at.trace, data, at.schedule)
    missing = replace(vectors(7, 3), pending=None)
    with pytest.raises(UserError, match=r"data\.pending: the term 'pending decisions' needs it"):
        PendingDecisions().loss(at.trace, missing, at.schedule)


def test_the_read_side_controls_see_the_symbol_and_not_the_observation() -> None:
    data = replace(vectors(7, 3), last_reveal=1, decisions=(4, 6))
    at = scene([PendingDecisions(reads="symbol")], data)
    term, blind = PendingDecisions(reads="symbol"), PendingDecisions()
    side = torch.randn_like(at.trace.side)
    seen = replace(at.trace, side=side)
    assert torch.equal(
        term.loss(seen, at.data, at.schedule), blind.loss(replace(seen, features=side), at.data, at.schedule)
    )
    dark = replace(seen, features=torch.zeros_like(seen.features))
    assert torch.equal(term.loss(dark, at.data, at.schedule), term.loss(seen, at.data, at.schedule))


def test_hierarchical_and_intent_learners_are_supervised_through_the_symbol() -> None:
    for name in ("hierarchical", "hierarchical-10", "hierarchical-30", "intent"):
        (term,) = (t for t in learner(f"{name}+task-informed").terms if isinstance(t, PendingDecisions))
        assert term.reads == "symbol"


def test_numbers_of_an_action_may_be_summed() -> None:
    data = vectors(5, 3)
    at = scene([PendingDecisions()], data)
    mean, total = (PendingDecisions(numbers=how).loss(at.trace, data, at.schedule) for how in ("mean", "sum"))
    torch.testing.assert_close(total, data.shape.action * mean, rtol=1e-12, atol=0)
