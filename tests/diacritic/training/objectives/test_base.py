"""Discrepancies, and inputs that are not there."""

import pytest
import torch

from certify.errors import UserError
from diacritic.training.objectives.base import discrepancy, need


def test_symbols_cost_nats_and_vectors_squares() -> None:
    made = torch.Generator().manual_seed(0)
    prediction, target = torch.randn(4, 3, generator=made), torch.randn(4, 3, generator=made)
    law = target.softmax(-1)
    for row in range(4):
        chances = prediction[row].exp() / prediction[row].exp().sum()
        nats = -sum(float(law[row, a]) * float(chances[a].log()) for a in range(3))
        assert float(discrepancy(prediction, law, True)[row]) == pytest.approx(nats, rel=1e-5)
        squares = sum(float(prediction[row, a] - target[row, a]) ** 2 for a in range(3)) / 3
        assert float(discrepancy(prediction, target, False)[row]) == pytest.approx(squares, rel=1e-5)


def test_what_is_missing_is_named() -> None:
    value = torch.ones(2)
    assert need(value, "label", "identification") is value
    with pytest.raises(
        UserError, match=r"^data\.label: the term 'identification' needs it; record or compute it[^\n]*$"
    ):
        need(None, "label", "identification")
