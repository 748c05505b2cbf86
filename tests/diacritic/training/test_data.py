"""What a cohort trains on: recorded arrays become inputs once each, and bad data is refused in one line."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import symbols, vectors
from torch import Tensor

from certify.errors import UserError
from diacritic.training.data import Data, check, from_arrays


def test_recorded_episodes_see_what_was_recorded() -> None:
    made = torch.Generator().manual_seed(0)
    seen, did = torch.randn(5, 3, 4, generator=made), torch.randn(5, 3, 2, generator=made)
    data = from_arrays(seen, did, torch.tensor([1.0, 2.0, 5.0]))
    assert (data.horizon, data.episodes) == (5, 3)
    assert (data.shape.observation, data.shape.action, data.shape.horizon) == (4, 2, 5)
    for t in range(5):
        for n in range(3):
            assert torch.equal(data.observation[data.observation_index[t, n]], seen[t, n])
            before = torch.zeros(2) if t == 0 else did[t - 1, n]
            assert torch.equal(data.previous[data.previous_index[t, n]], before)
    assert torch.equal(data.target, did)
    assert data.weight.tolist() == [0.125, 0.25, 0.625]
    assert from_arrays(seen, did).weight.tolist() == pytest.approx([1 / 3] * 3)


def test_precision_changes_numbers_and_leaves_indices() -> None:
    moved = vectors(4, 3).to("cpu", torch.float32)
    for name in ("observation", "previous", "weight", "target", "forecast", "pending", "teacher"):
        assert getattr(moved, name).dtype == torch.float32
    for name in ("observation_index", "previous_index", "symbol", "label", "joint"):
        assert getattr(moved, name).dtype == torch.int64


def test_good_data_passes() -> None:
    check(vectors(4, 3))
    check(symbols(4, 3))


def _broken(value: Tensor, number: float) -> Tensor:
    changed = value.clone()
    changed.view(-1)[-1] = number
    return changed


@pytest.mark.parametrize("name", ["observation", "previous", "weight", "target", "forecast", "pending", "teacher"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(name: str, number: float) -> None:
    data = vectors(4, 3)
    changed = {name: _broken(getattr(data, name), number)}
    with pytest.raises(UserError, match=rf"^data\.{name}: holds a value that is not finite; remove or repair[^\n]*$"):
        check(replace(data, **changed))


@pytest.mark.parametrize(
    "name", ["observation_index", "previous_index", "symbol", "classes", "joint", "label", "weight"]
)
def test_shapes_that_do_not_match_are_refused(name: str) -> None:
    data = vectors(4, 3)
    changed = {name: getattr(data, name)[:-1]}
    with pytest.raises(UserError, match=rf"^data\.{name}: has shape \([^\n]*\), but \([^\n]*\) is needed$"):
        check(replace(data, **changed))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: replace(d, observation=d.observation[:, :2]),
            r"^data\.observation: has 2 columns, but the shape says 3$",
        ),
        (lambda d: replace(d, previous=d.previous[:, :1]), r"^data\.previous: has 1 columns, but the shape says 2$"),
        (
            lambda d: replace(d, previous=d.previous[:-1]),
            r"^data\.previous_index: points outside the 9 rows of data\.previous$",
        ),
        (
            lambda d: replace(d, observation_index=d.observation_index - 1),
            r"^data\.observation_index: points outside the 12",
        ),
        (lambda d: replace(d, own=torch.tensor([[0, 3]])), r"^data\.own: points outside the 3 episodes$"),
    ],
)
def test_tables_that_do_not_match_are_refused(change: object, message: str) -> None:
    assert callable(change)
    broken = change(vectors(4, 3))
    assert isinstance(broken, Data)
    with pytest.raises(UserError, match=message):
        check(broken)


def test_arrays_of_other_lengths_are_refused() -> None:
    with pytest.raises(UserError, match=r"^data: observations are \(5, 3\) steps × episodes, actions \(4, 3\)$"):
        from_arrays(torch.zeros(5, 3, 4), torch.zeros(4, 3, 2))
