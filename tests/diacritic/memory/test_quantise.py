"""Nearest codes against the distances themselves; ties, gradients, and rows that are no numbers."""

import pytest
import torch
from carrier_twin import closest
from hypothesis import given
from hypothesis import strategies as st

from diacritic.memory.quantise import FEW, look_up, lowest_maximum, lowest_twin, nearest, straight_through

SIZES = {"runs": st.integers(1, 3), "rows": st.integers(1, 9), "K": st.integers(1, 19), "d": st.integers(1, 9)}


@given(seed=st.integers(0, 10**6), whole=st.booleans(), **SIZES)
def test_codes_are_the_nearest_ones(runs: int, rows: int, K: int, d: int, seed: int, whole: bool) -> None:
    """Whole numbers tie often, and exactly; then the lowest index wins."""
    made = torch.Generator().manual_seed(seed)
    points = torch.randn(runs, rows, d, generator=made, dtype=torch.float64)
    codebook = torch.randn(runs, K, d, generator=made, dtype=torch.float64)
    if whole:
        points, codebook = points.round(), codebook.round()
    actual = nearest(points, codebook)
    assert actual.tolist() == [[closest(points[s, r], codebook[s]) for r in range(rows)] for s in range(runs)]


@given(seed=st.integers(0, 10**6), kind=st.sampled_from([torch.float32, torch.float64]), **SIZES)
def test_twin_codes_are_met_under_the_lower_index(
    runs: int, rows: int, K: int, d: int, seed: int, kind: torch.dtype
) -> None:
    """Also where products of many shapes round differently."""
    made = torch.Generator().manual_seed(seed)
    codebook = torch.randn(runs, K, d, generator=made, dtype=kind)
    points = torch.randn(runs, rows, d, generator=made, dtype=kind)
    assert nearest(points, torch.cat([codebook, codebook], 1)).max() < K


@pytest.mark.parametrize("K", [1, 7, FEW, FEW + 1, 150])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_lowest_twin_is_the_first_code_with_the_same_vector(K: int, kind: torch.dtype) -> None:
    """Few codes are compared pair by pair and many are sorted; −0 is 0, and a vector of NaN has no twin."""
    made = torch.Generator().manual_seed(K)
    codebook = torch.randint(-1, 2, (3, K, 4), generator=made).to(kind) / 3
    codebook *= torch.randint(0, 2, (3, K, 1), generator=made) * 2 - 1
    codebook[1, K // 2] = torch.nan
    expected = [[next((j for j in range(k) if torch.equal(run[j], run[k])), k) for k in range(K)] for run in codebook]
    assert lowest_twin(codebook).tolist() == expected


def test_a_twin_that_scores_higher_by_rounding_is_still_met_under_the_lowest_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    product = torch.baddbmm
    monkeypatch.setattr(torch, "baddbmm", lambda *given: product(*given) + 1e-6 * torch.arange(6))
    points = torch.randn(1, 20, 3, generator=torch.Generator().manual_seed(1))
    codebook = torch.randn(1, 3, 3, generator=torch.Generator().manual_seed(2)).repeat(1, 2, 1)
    assert nearest(points, codebook).max() < 3


def test_ties_go_to_the_lowest_index() -> None:
    codebook = torch.tensor([[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 1.0]]])
    points = torch.tensor([[[0.0, 0.0], [-1.0, 1.0], [0.0, 2.0], [0.5, -0.5]]])
    assert nearest(points, codebook).tolist() == [[0, 1, 2, 0]]


def test_the_largest_score_and_rows_that_are_no_numbers() -> None:
    scores = torch.tensor([[1.0, 3.0, 3.0], [float("nan")] * 3, [float("-inf")] * 3])
    assert lowest_maximum(scores).tolist() == [1, 2, 0]  # without a maximum, still a code


def test_look_up_takes_the_vectors_of_each_run() -> None:
    codebook = torch.arange(24.0).view(2, 4, 3)
    code = torch.tensor([[3, 0], [1, 1]])
    actual = look_up(codebook, code)
    for s in range(2):
        for r in range(2):
            assert torch.equal(actual[s, r], codebook[s, code[s, r]])


@pytest.mark.parametrize("large", [1.0, 1e8])
def test_straight_through_shows_the_value_and_teaches_the_path(large: float) -> None:
    value = torch.tensor([0.1, 0.7], requires_grad=True)
    path = torch.tensor([large, -0.3], requires_grad=True)
    shown = straight_through(value, path)
    assert torch.equal(shown, value)  # exactly, however large the path is
    shown.mul(torch.tensor([2.0, 5.0])).sum().backward()
    assert value.grad is None
    assert path.grad is not None
    assert path.grad.tolist() == [2.0, 5.0]
