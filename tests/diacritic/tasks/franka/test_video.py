"""The panel shows what is observed; the film has a picture for every observation."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from diacritic.tasks.franka.observation import symbols
from diacritic.tasks.franka.tasks import TwoCues
from diacritic.tasks.franka.video import _panel, expert_film

TASK = TwoCues(gap=1, first_gap=1)


def panel(t: int, theta: int) -> np.ndarray:
    latents = {name: np.zeros(1, int) for name in TASK.latents} | {"theta": np.array([theta])}
    return _panel(TASK, 0, symbols(TASK, t, latents)[0])


def test_panel_tells_display_and_phase_and_nothing_else() -> None:
    assert not np.array_equal(panel(3, 0), panel(3, 1))  # the scan shows the cues
    assert np.array_equal(panel(6, 0), panel(6, 1))  # the gap does not
    assert not np.array_equal(panel(6, 0), panel(7, 0))  # another phase
    assert np.array_equal(panel(7, 0), panel(8, 0))  # the same phase


@pytest.mark.system
def test_film_has_a_picture_for_every_observation(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    expert_film(TASK, path, {"theta": 1})
    with Image.open(path) as film:
        assert film.size == (400, 210)
        assert getattr(film, "n_frames", 1) > TASK.horizon // 2  # equal neighbours are stored once
    assert [file.name for file in tmp_path.iterdir()] == ["film.gif"]
    assert path.stat().st_size < 1_000_000
