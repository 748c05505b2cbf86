"""Lessons: distinct rows, the laws that (O, C) allows, and what is refused."""

import pytest
import torch

from certify.errors import UserError
from certify.zoo import build
from diacritic.training.data import from_arrays
from diacritic.training.symbolic import from_model
from diacritic.training.transition_dataset import part, transition_dataset


def test_every_distinct_row_once_with_equal_weight() -> None:
    data = from_model(build("passive-t-maze", L=6))
    codes = (torch.arange(data.episodes) % 2).expand(2, data.horizon, -1).clone()
    codes[1] = 0
    dataset = transition_dataset(data, codes, 3)
    rows = {
        tuple(row)
        for row in torch.stack([dataset.before, dataset.observation, dataset.previous, dataset.code], -1)[0].tolist()
    }
    walked = set()
    for n in range(data.episodes):
        before = 3
        for t in range(data.horizon):
            now = int(codes[0, t, n])
            walked.add((before, int(data.observation_index[t, n]), int(data.previous_index[t, n]), now))
            before = now
    assert rows == walked
    assert dataset.weight.sum(1).tolist() == pytest.approx([1, 1])
    assert (dataset.weight[0] > 0).sum() > (dataset.weight[1] > 0).sum()  # the second run has fewer rows


def test_a_code_that_holds_two_histories_is_taught_the_mixture() -> None:
    data = from_model(build("passive-t-maze", L=2))
    dataset = transition_dataset(data, torch.zeros(1, data.horizon, data.episodes, dtype=torch.long), 2)
    last = dataset.observation[0] == data.observation_index[-1, 0]
    assert dataset.target[0, last].sort(-1).values[..., -2:].tolist() == [[0.5, 0.5]]


def test_recordings_keep_every_step() -> None:
    data = from_arrays(torch.zeros(3, 2, 4), torch.ones(3, 2, 1))
    dataset = transition_dataset(data, torch.zeros(1, 3, 2, dtype=torch.long), 2)
    assert dataset.before[0].tolist() == [2, 2, 0, 0, 0, 0]
    assert dataset.weight.tolist() == [pytest.approx([1 / 6] * 6)]


def test_what_is_no_function_is_refused_by_its_row() -> None:
    data = from_model(build("passive-t-maze", L=4))
    codes = torch.zeros(1, data.horizon, data.episodes, dtype=torch.long)
    codes[0, 2, 0] = 1
    with pytest.raises(UserError, match="leads to code 0 and to code 1; add codes"):
        transition_dataset(data, codes, 2)


@pytest.mark.parametrize(("shape", "value", "said"), [((1, 2, 2), 0, "have shape"), ((1, 5, 2), 2, "expected 0…1")])
def test_bad_codes_are_one_line(shape: tuple[int, ...], value: int, said: str) -> None:
    with pytest.raises(UserError, match=said):
        transition_dataset(from_model(build("passive-t-maze", L=4)), torch.full(shape, value), 2)


def test_some_rows_of_a_recording_read_their_own_inputs() -> None:
    draw = torch.Generator().manual_seed(2)
    data = from_arrays(torch.randn(3, 4, 5, generator=draw), torch.randn(3, 4, 2, generator=draw))
    codes = torch.randint(3, (2, 3, 4), generator=draw)
    whole, rows = transition_dataset(data, codes, 3), torch.tensor([11, 0, 5, 5])
    inputs, some = part(data, whole, rows)
    for run in range(2):
        for k, row in enumerate(rows.tolist()):
            t, n = divmod(row, 4)
            assert torch.equal(
                inputs.observation[some.observation[run, k]], data.observation[data.observation_index[t, n]]
            )
            assert torch.equal(inputs.previous[some.previous[run, k]], data.previous[data.previous_index[t, n]])
            assert torch.equal(some.target[run, k], data.target[t, n])
            assert some.code[run, k] == codes[run, t, n]
            assert some.before[run, k] == (codes[run, t - 1, n] if t else 3)
    assert some.weight.sum(1).tolist() == pytest.approx([1, 1])
