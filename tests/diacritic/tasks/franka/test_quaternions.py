"""Rotations against their matrices."""

import numpy as np

from diacritic.tasks.franka.quaternions import FLIPPED, UPRIGHT, conjugate, facing, product, rotated


def matrix(turn: np.ndarray) -> np.ndarray:
    w, x, y, z = turn
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def test_products_and_rotations_are_those_of_matrices() -> None:
    turns = np.random.default_rng(0).normal(size=(2, 7, 4))
    one, two = turns / np.linalg.norm(turns, axis=-1, keepdims=True)
    vectors = np.random.default_rng(1).normal(size=(7, 3))
    for a, b, both, vector, moved in zip(one, two, product(one, two), vectors, rotated(one, vectors), strict=True):
        np.testing.assert_allclose(matrix(both), matrix(a) @ matrix(b), atol=1e-12)
        np.testing.assert_allclose(moved, matrix(a) @ vector, atol=1e-12)
    np.testing.assert_allclose(product(one, conjugate(one)), np.tile(UPRIGHT, (7, 1)), atol=1e-12)


def test_a_flipped_hand_has_one_name() -> None:
    np.testing.assert_array_equal(facing(np.stack([-FLIPPED, FLIPPED])), [FLIPPED, FLIPPED])
    np.testing.assert_allclose(rotated(FLIPPED, np.array([0.1, 0.2, 0.3])), [0.1, -0.2, -0.3])
