"""What stands around the pictures of a film: everything that changes is drawn, with the colours of the report."""

from typing import Any

import numpy as np
import pytest
from PIL import ImageColor

from diacritic.report.colours import colour
from diacritic.report.design import Design
from diacritic.report.film_panel import Format, Now, Story, compose
from diacritic.report.meanings import Look
from diacritic.report.takes import Colours, Take
from diacritic.tasks.pointmass import PointMass

TASK = PointMass(first_wait=1, wait=2)
FORM = Format(360, 640, 10)
LOOKS = [{1: Look(0), 2: Look(1), 3: Look(0, True)} for _ in range(TASK.horizon)]
STORY = Story(TASK, Design.of(TASK), Colours(["goal=0", "goal=1"], LOOKS))
SCENE = np.full((FORM.scene, FORM.width, 3), 120, np.uint8)


def take(code: int | None) -> Take:
    codes = None if code is None else np.full(TASK.horizon, code)
    return Take("a policy", np.zeros((TASK.horizon + 1, 2)), codes, np.full(TASK.horizon, -1), "success")


def drawn(code: int | None = 1, **change: Any) -> np.ndarray:
    now = Now(4, 0.5, ["waits"])._replace(**change)
    return compose(FORM, [SCENE], [take(code)], now, STORY)


def shows(frame: np.ndarray, text: str) -> bool:
    return bool((frame[FORM.scene :] == ImageColor.getrgb(text)).all(-1).any())


@pytest.mark.parametrize("change", [{"t": 5}, {"share": 1.0}, {"notes": ["decides the goal"]}, {"bright": True}])
def test_every_field_is_drawn(change: dict[str, Any]) -> None:
    frame = drawn(**change)
    assert frame.shape == (FORM.height, FORM.width, 3)
    assert (frame != drawn()).any()


def test_a_code_has_the_colour_of_its_class() -> None:
    assert shows(drawn(1), colour(0))
    assert not shows(drawn(1), colour(1))
    assert shows(drawn(2), colour(1))
    assert not shows(drawn(None), colour(0))


def test_a_second_code_is_hatched() -> None:
    assert shows(drawn(3), colour(0))
    assert (drawn(3) != drawn(1)).any()


def test_two_takes_stand_side_by_side() -> None:
    half = SCENE[:, : FORM.width // 2]
    frame = compose(FORM, [half, half], [take(1), take(2)], Now(4, 0.5, ["", ""]), STORY)
    assert shows(frame[:, : FORM.width // 2], colour(0))
    assert shows(frame[:, FORM.width // 2 :], colour(1))
    assert not shows(frame[:, : FORM.width // 2], colour(1))
