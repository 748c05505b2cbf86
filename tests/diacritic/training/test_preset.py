"""Two presets, and no third one."""

import pytest

from certify.errors import UserError
from diacritic.training.preset import preset


def test_the_two_presets_differ_in_how_gradients_flow_and_where_training_starts() -> None:
    carousel, textbook = preset("carousel"), preset("textbook")
    assert (carousel.gradient, textbook.gradient) == ("carousel", "full")
    assert carousel.residual_scale < textbook.residual_scale == 1
    assert carousel.restarts > textbook.restarts == 0


def test_an_unknown_preset_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"^--preset: no preset is called 'carousell'; known: carousel, textbook$"):
        preset("carousell")
