"""One fiber's solver against plain Blahut–Arimoto on a grid of decoders."""

from fractions import Fraction
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.distortion.blahut import Array, Law, distortion_matrix, minimise, total_variation

# Laws whose vertices all have coordinates in quarters or thirds, so that a grid of twelfths contains every one.
QUARTERS = [(4, 0, 0), (0, 4, 0), (2, 2, 0), (1, 1, 2), (3, 1, 0), (0, 1, 3), (2, 1, 1)]
THIRDS = [(3, 0, 0), (0, 0, 3), (1, 1, 1), (2, 1, 0), (0, 2, 1), (1, 0, 2)]

letter_sets = st.one_of(*(st.lists(st.sampled_from(family), min_size=2, max_size=4) for family in (QUARTERS, THIRDS)))


def law(*weights: int) -> Law:
    return {str(action): Fraction(weight, sum(weights)) for action, weight in enumerate(weights) if weight}


def grid_distortions(letters: list[tuple[int, ...]], grid: int) -> Array:
    """Total variation from each law on three actions to every law whose entries are multiples of 1/grid."""
    decoders = [(a, b, grid - a - b) for a in range(grid + 1) for b in range(grid + 1 - a)]
    scaled = np.array([[weight / sum(letter) for weight in letter] for letter in letters])
    return np.abs(scaled[:, None, :] - np.array(decoders)[None] / grid).sum(axis=2) / 2


def plain_blahut_arimoto(masses: Array, distortions: Array, slope: float, rounds: int) -> tuple[float, float]:
    """Blahut's lower and upper bound on the least rate + slope·distortion after the given number of plain updates."""
    kernel = np.exp2(-slope * distortions)
    output = np.full(distortions.shape[1], 1 / distortions.shape[1])
    for _ in range(rounds):
        output = output * ((masses / (kernel @ output)) @ kernel)
    ratio = (masses / (kernel @ output)) @ kernel
    objective = -float(masses @ np.log2(kernel @ output))
    return objective - float(np.log2(ratio.max())), objective


@settings(max_examples=60)
@given(letter_sets, st.data(), st.sampled_from([0.0, 0.7, 1.5, 3.0, 6.0, 40.0]))
def test_the_vertices_reach_what_a_grid_of_decoders_reaches(
    letters: list[tuple[int, ...]], data: st.DataObject, slope: float
) -> None:
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(letters), max_size=len(letters)))
    masses = np.array(weights) / sum(weights)
    point = minimise(masses, distortion_matrix([law(*letter) for letter in letters]), slope)
    lower, upper = plain_blahut_arimoto(masses, grid_distortions(letters, 12), slope, rounds=1500)
    assert lower - 1e-12 <= point.rate + slope * point.distortion <= upper + 1e-12
    assert point.gap <= 1e-13


def test_newton_closes_the_gap_where_plain_updates_crawl() -> None:
    """At the slope where a decoder is about to enter, the gap of plain updates falls only like a power law."""
    letters = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    masses, distortions = np.array([0.6, 0.2, 0.2]), distortion_matrix([law(*letter) for letter in letters])
    slope = log2(0.6 / 0.2)
    lower, upper = plain_blahut_arimoto(masses, distortions, slope, rounds=3000)
    point = minimise(masses, distortions, slope)
    assert upper - lower > 1e-8
    assert point.gap <= 1e-14
    assert (point.rate, point.distortion) == (pytest.approx(0, abs=1e-7), pytest.approx(0.4, abs=1e-7))


def test_columns_are_total_variations_and_contain_every_own_law() -> None:
    laws = [law(1, 0, 1), law(2, 1, 0), law(1, 1, 1)]
    matrix = distortion_matrix(laws)
    own = {tuple(float(total_variation(row, column)) for row in laws) for column in laws}
    assert own <= {tuple(column) for column in matrix.T}
    assert not any(
        (left <= right).all() for left in matrix.T for right in matrix.T if left is not right and (left != right).any()
    )


def test_rare_letters_keep_the_gap_closed() -> None:
    laws = [law(0, 1, 0), law(0, 2, 7), law(1, 7, 0), law(1, 0, 2)]
    masses = np.array([5, 10**6, 2, 1]) / (10**6 + 8)
    assert minimise(masses, distortion_matrix(laws), 27.23962752231689).gap <= 1e-14


def test_deterministic_laws_need_only_point_masses() -> None:
    assert np.array_equal(distortion_matrix([law(*row) for row in np.eye(5, dtype=int).tolist()]), 1 - np.eye(5))


def test_integers_beyond_64_bits_are_compared_exactly() -> None:
    tiny = Fraction(1, 10**30)
    laws = [{"a": Fraction(1, 2) + k * tiny, "b": Fraction(1, 2) - k * tiny} for k in range(3)]
    assert distortion_matrix(laws).shape == (3, 3)


def test_too_many_decoders_are_refused() -> None:
    laws = [law(*(1 + (7 * g + a * a) % 11 for a in range(9))) for g in range(9)]
    with pytest.raises(ValueError, match="9 laws over 9 actions have more than 4096 candidate decoders"):
        distortion_matrix(laws)
