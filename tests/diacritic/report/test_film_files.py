"""Films as files: both formats are read back, a .gif is small, and the times of the steps travel with an .mp4."""

from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageSequence

from certify.errors import UserError
from diacritic.report.film_files import GIF_RATE, GIF_WIDTH, read_times, write_film


def frames(count: int, height: int = 120, width: int = 240) -> list[np.ndarray]:
    """A bright square that wanders over a grey ground."""
    actual = []
    for k in range(count):
        frame = np.full((height, width, 3), 90, np.uint8)
        frame[20 * (k % 5) : 20 * (k % 5) + 20, 40:80] = (230, 40, 30)
        actual.append(frame)
    return actual


def test_gifs_are_read_back(tmp_path: Path) -> None:
    made = frames(5)
    write_film(made, tmp_path / "new" / "film.gif", rate=GIF_RATE)
    with Image.open(tmp_path / "new" / "film.gif") as gif:
        read = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(gif)]
    assert len(read) == 5
    assert max(abs(decoded - frame).max() for decoded, frame in zip(read, made, strict=True)) < 8
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["film.gif"]


def test_gifs_of_large_films_are_smaller_and_have_fewer_frames(tmp_path: Path) -> None:
    write_film(frames(9, 720, 1280), tmp_path / "film.gif", rate=3 * GIF_RATE)
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.size == (GIF_WIDTH, 360)
        assert sum(1 for _ in ImageSequence.Iterator(gif)) == 3


def test_mp4s_are_read_back(tmp_path: Path) -> None:
    write_film(frames(5), tmp_path / "film.mp4", 10)
    with av.open(str(tmp_path / "film.mp4")) as container:
        assert container.streams.video[0].average_rate == 10
        read = [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(video=0)]
    assert len(read) == 5
    for k, frame in enumerate(read):
        assert frame.shape == (120, 240, 3)
        assert frame[20 * k + 10, 60, 0] > 180  # the red square is where it was


def test_the_times_of_the_steps_travel_with_an_mp4(tmp_path: Path) -> None:
    for name in ("with.mp4", "without.mp4", "film.gif"):
        write_film(frames(3), tmp_path / name, 10, [0.0, 0.1, 0.25] if name != "without.mp4" else [])
    assert read_times(tmp_path / "with.mp4") == [0.0, 0.1, 0.25]
    assert read_times(tmp_path / "without.mp4") == read_times(tmp_path / "film.gif") == []


def test_what_is_not_a_film_has_no_times(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"not a film")
    assert read_times(tmp_path / "film.mp4") == []


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"films are written as \.gif or \.mp4"):
        write_film(frames(1), tmp_path / "film.avi")
