"""The kernel of the code scan against the definition, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.memory.quantise import look_up, lowest_maximum
from diacritic.training.kernels.scan import fits, launch, scan_codes_cuda

Case = tuple[Tensor, Tensor, Tensor, Tensor]


def no_twins(runs: int, codes: int) -> Tensor:
    return torch.arange(codes).expand(runs, -1)


def case(runs: int, steps: int, episodes: int, width: int, codes: int, seed: int) -> Case:
    """Random tables; every code is visited by someone."""
    made = torch.Generator().manual_seed(seed)
    sizes = ((runs, steps, episodes, width), (runs, codes + 1, width), (runs, width, codes), (runs, codes + 1, codes))
    driven, entering, scoring, fixed = (torch.randn(size, generator=made) for size in sizes)
    return driven, entering, scoring / width**0.5, fixed


def step_by_step(driven: Tensor, entering: Tensor, scoring: Tensor, fixed: Tensor) -> Tensor:
    """The definition, one step after the other."""
    code = torch.full((len(driven), driven.shape[2]), scoring.shape[-1])
    codes = []
    for now in driven.unbind(1):
        h = torch.relu(now + look_up(entering, code))
        code = lowest_maximum(h @ scoring + look_up(fixed, code))
        codes.append(code)
    return torch.stack(codes, 1)


@pytest.mark.parametrize(("width", "codes"), [(16, 2), (32, 16), (128, 16), (64, 37), (16, 300)])
def test_codes_are_best_given_the_codes_before(width: int, codes: int) -> None:
    given = case(2, 4, 21, width, codes, seed=width + codes)
    actual = scan_codes_cuda(*given, no_twins(2, codes))
    driven, entering, scoring, fixed = (value.double() for value in given)
    before = torch.cat([torch.full_like(actual[:, :1], codes), actual[:, :-1]], 1).flatten(1)
    h = torch.relu(driven.flatten(1, 2) + look_up(entering, before))
    score = h @ scoring + look_up(fixed, before)
    lost = score.max(-1).values - look_up(score.flatten(0, 1).unsqueeze(-1), actual.view(-1, 1)).view(2, -1)
    assert actual.dtype == torch.int64
    assert actual.unique().numel() > 1
    assert lost.max() < 1e-5


def test_whole_numbers_give_exactly_the_same_codes() -> None:
    """Sums of small whole numbers are exact in any order, so even ties must fall the same way."""
    driven, entering, scoring, fixed = ((3 * value).round() for value in case(3, 6, 40, 32, 8, seed=1))
    scoring = scoring.sign()
    expected = step_by_step(driven, entering, scoring, fixed)
    for rows, chunk in ((16, 16), (32, 32)):
        assert torch.equal(launch(driven, entering, scoring, fixed, no_twins(3, 8), rows, chunk), expected)
    driven, entering, scoring, fixed = ((2 * value).round() for value in case(2, 4, 20, 16, 60, seed=4))
    actual = launch(driven, entering, scoring, fixed, no_twins(2, 60), piece=16)
    assert torch.equal(actual, step_by_step(driven, entering, scoring, fixed))


def test_whole_numbers_tie() -> None:
    """The case above has ties, or it would show nothing."""
    driven, entering, scoring, fixed = ((3 * value).round() for value in case(3, 6, 40, 32, 8, seed=1))
    scoring = scoring.sign()
    expected = step_by_step(driven, entering, scoring, fixed)
    backwards = step_by_step(driven, turned(entering), scoring.flip(-1), turned(fixed).flip(-1))
    assert not torch.equal(7 - backwards, expected)


def turned(table: Tensor) -> Tensor:
    """The same table with the codes numbered backwards; the start keeps its place."""
    return torch.cat([table[:, :-1].flip(1), table[:, -1:]], 1)


def whole_twins(runs: int, codes: int, seed: int) -> Case:
    """Whole numbers, which no order of adding rounds; every code of the upper half is one of the lower half again."""
    half = codes // 2
    driven, entering, scoring, fixed = ((3 * value).round() for value in case(runs, 5, 30, 32, codes, seed))
    scoring = scoring.sign()
    for table in (scoring, fixed):
        table[..., half:] = table[..., :half]
    for table in (entering, fixed):
        table[:, half:codes] = table[:, :half]
    return driven, entering, scoring, fixed


def lower_half(given: Case) -> Case:
    """The same tables without the upper twins; the start keeps its place at the end."""
    driven, entering, scoring, fixed = given
    half = scoring.shape[-1] // 2
    kept = [*range(half), -1]
    return driven, entering[:, kept], scoring[..., :half], fixed[:, kept, :half]


@pytest.mark.parametrize(("codes", "piece"), [(6, 16), (40, 16), (40, 64)])
def test_equal_scores_tie_to_the_lowest(codes: int, piece: int) -> None:
    """Also where the twins lie in different pieces of the codebook."""
    given = whole_twins(1, codes, seed=2)
    assert torch.equal(launch(*given, no_twins(1, codes), piece=piece), step_by_step(*lower_half(given)))


@pytest.mark.parametrize("codes", [8, 40])
def test_twins_are_met_under_the_lowest_index_however_the_scores_round(codes: int) -> None:
    """The upper twin scores a little higher, as rounding may have it, and still the lower one is met."""
    half = codes // 2
    given = whole_twins(2, codes, seed=5)
    expected = step_by_step(*lower_half(given))
    given[-1][..., half:] += 0.25
    assert scan_codes_cuda(*given, no_twins(2, codes)).min() >= half
    assert torch.equal(scan_codes_cuda(*given, torch.arange(half).repeat(2, 2)), expected)


@pytest.mark.filterwarnings("ignore:All-NaN slice")  # the interpreter's maximum is numpy's
def test_a_row_without_numbers_harms_no_other() -> None:
    given = case(2, 4, 10, 16, 4, seed=3)
    clean = scan_codes_cuda(*given, no_twins(2, 4))
    given[0][1, 0, 7] = torch.nan
    actual = scan_codes_cuda(*given, no_twins(2, 4))
    assert ((actual >= 0) & (actual < 4)).all()
    others = torch.ones(2, 10, dtype=torch.bool)
    others[1, 7] = False
    assert torch.equal(actual.transpose(1, 2)[others], clean.transpose(1, 2)[others])


def test_sizes_that_do_not_fit_are_left_to_the_loop() -> None:
    driven = torch.zeros(1, 1, 1, 128)
    assert fits(driven, 1024)
    assert not fits(driven, 1025)
    assert not fits(driven.double(), 16)
    assert not fits(driven[..., :100], 16)
