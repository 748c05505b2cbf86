"""The single-frame probe: finds a late frame, and nothing where there is nothing."""

from dataclasses import replace

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos.pixel_probe import frame_probe, pixel_table
from diacritic.demos.record import record


def test_a_late_frame_is_caught(stand_in):
    def caught(late: bool):
        demos, binner = record(stand_in(pixels=True, late=late), 96, 0)
        demos = replace(demos, convention=replace(demos.convention, hidden={"side": 2}))
        return {cell.phase: cell for cell in pixel_table(demos, binner, ["grasp"], held_out=32, epochs=6)}

    clean, late = caught(False), caught(True)
    assert clean["grasp, step 6"].status == "hidden"
    assert clean["grasp, step 6"].passed
    assert not late["grasp, step 6"].passed
    assert late["grasp, step 6"].accuracy > 0.9


def test_the_display_is_not_in_the_image(stand_in):
    demos, binner = record(stand_in(pixels=True), 48, 0)
    cells = pixel_table(demos, binner, ["scan"], held_out=16, epochs=1)
    assert {cell.status for cell in cells} == {"hidden"}
    assert {cell.phase for cell in cells} == {"scan, step 2", "scan, step 3"}


def test_same_seed_same_answers():
    draw = np.random.default_rng(0)
    frames, labels = draw.integers(0, 255, (24, 64, 64, 3), np.uint8), draw.choice([3, 7], 24)
    one, again = (frame_probe(frames[:16], labels[:16], frames[16:], epochs=2, seed=5) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert set(one) <= {3, 7}


def test_no_images(stand_in):
    with pytest.raises(UserError, match="frames: the recording has no images"):
        pixel_table(*record(stand_in(), 8, 0))
