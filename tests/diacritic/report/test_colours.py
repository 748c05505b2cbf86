"""Colours of classes: different, readable, and distinguished by colour-blind readers."""

from itertools import combinations

import numpy as np

from diacritic.report.colours import CLASSES, colour, ink_on, style

# linear RGB as a deuteranope and a protanope see it (Viénot, Brettel and Mollon 1999)
BLIND = {
    "deuteranopia": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
    "protanopia": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
}


def linear(text: str) -> np.ndarray:
    channels = np.array([int(text[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(text: str) -> float:
    return float(linear(text) @ [0.2126, 0.7152, 0.0722])


def test_the_first_six_colours_differ_for_colour_blind_readers():
    for matrix in BLIND.values():
        seen = [np.clip(matrix @ linear(text), 0, 1) ** (1 / 2.2) for text in CLASSES[:6]]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 0.1


def test_the_ink_on_a_colour_is_readable():
    for text in CLASSES:
        dark, light = sorted([luminance(text), luminance(ink_on(text))])
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_further_classes_use_the_colours_again():
    assert colour(len(CLASSES) + 1) == CLASSES[1]
    assert f"--class-{len(CLASSES) - 1}:" in style()
