"""Orientations as quaternions (n, 4) in the order w, x, y, z."""

import numpy as np

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
FLIPPED = np.array([0.0, 1.0, 0.0, 0.0])  # fingers that point down


def product(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Hamilton's product; either may be a single quaternion (4,)."""
    (a, b, c, d), (e, f, g, h) = np.moveaxis(one, -1, 0), np.moveaxis(two, -1, 0)
    rows = (a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g)
    return np.stack([*rows, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e], axis=-1)


def conjugate(turn: np.ndarray) -> np.ndarray:
    """The opposite rotation."""
    return turn * (1, -1, -1, -1)


def rotated(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) after a rotation."""
    pure = np.concatenate([np.zeros_like(vector[..., :1]), vector], axis=-1)
    return product(product(turn, pure), conjugate(turn))[..., 1:]


def facing(turn: np.ndarray) -> np.ndarray:
    """The one of the two equal quaternions ±q with positive x: a flipped hand is half a turn about it."""
    return turn * np.where(turn[:, 1:2] < 0, -1.0, 1.0)
