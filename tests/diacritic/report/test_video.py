"""Films: the bits beside the scene, the panel, the files, and (with OpenGL) whole films of every task."""

from pathlib import Path

import numpy as np
import pytest
from expert_carrier import expert_carrier, odd_scale, short_task
from PIL import Image, ImageSequence

from certify.errors import UserError
from diacritic.cli import main
from diacritic.report.video import HEIGHT, LAST, PANEL, WIDTH, Design, Panel, draw_panel, film, write_film
from diacritic.rollout.policies import Policies
from diacritic.tasks.franka.tasks import TASKS, make_task
from diacritic.tasks.franka.timeline import PHASES

PANEL_AT_REST = Panel("two-cues", 3, 33, "scan", PHASES, [0.0] * 9, -1, 1.0, 2.0, None, "")


def in_phase(bits: tuple[float, ...], steps: range) -> set[float]:
    return {round(bits[t], 6) for t in steps}


@pytest.mark.parametrize(
    ("name", "waiting", "carrying"),
    [("two-cues", 2, 1), ("full-reveal", 2, 1), ("readout-2", 2, 1), ("readout-3", 3, 3)],
)
def test_required_bits_of_the_carried_tasks(name: str, waiting: float, carrying: float) -> None:
    task = make_task(name)
    bits = Design.of(task).required
    assert in_phase(bits, task.windows["gap1"]) == {waiting}
    assert in_phase(bits, task.windows["gap2"]) == {carrying}
    assert in_phase(bits, task.phase_steps("to_scan")) == {0}
    assert bits[-1] == 0


def test_required_bits_of_masses() -> None:
    hidden, weighing = make_task("hidden-mass"), make_task("weighing")
    bits = Design.of(hidden).required
    assert in_phase(bits, hidden.windows["gap1"]) == {0}
    assert bits[hidden.decisions["slot"]] == 2
    bits = Design.of(weighing).required
    assert in_phase(bits, weighing.windows["gap1"]) == {2}
    assert in_phase(bits, weighing.phase_steps("place")) == {0}


@pytest.mark.parametrize(
    "change",
    [
        {"t": 4},
        {"phase": "gap2"},
        {"display": [1.0] + [0.0] * 8},
        {"display": [0.0] * 8 + [-1.0]},
        {"shown": 7},
        {"required": 2.0},
        {"code": 3},
        {"note": "success"},
    ],
)
def test_the_panel_shows_every_field(change: dict) -> None:
    rest, changed = draw_panel(PANEL_AT_REST), draw_panel(PANEL_AT_REST._replace(**change))
    assert rest.shape == (HEIGHT, PANEL, 3)
    assert (rest != changed).any()


def frames(count: int) -> list[np.ndarray]:
    """A bright square that wanders over a grey ground."""
    found = []
    for k in range(count):
        frame = np.full((HEIGHT, WIDTH + PANEL, 3), 90, np.uint8)
        frame[20 * k : 20 * k + 20, 40:80] = (230, 40, 30)
        found.append(frame)
    return found


def test_gifs_are_read_back(tmp_path: Path) -> None:
    made = frames(6)
    write_film(iter(made), tmp_path / "new" / "film.gif")
    with Image.open(tmp_path / "new" / "film.gif") as gif:
        read = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(gif)]
    assert len(read) == 6
    assert max(abs(found - frame).max() for found, frame in zip(read, made, strict=True)) < 8
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["film.gif"]


def test_colours_of_the_panel_survive_though_few_frames_hold_them(tmp_path: Path) -> None:
    made = frames(5)
    made[3][:, -PANEL:] = draw_panel(PANEL_AT_REST._replace(display=[1.0, -1.0] + [0.0] * 7))
    write_film(made, tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as gif:
        gif.seek(3)
        read = np.asarray(gif.convert("RGB")).astype(int)
    assert abs(read[:, -PANEL:] - made[3][:, -PANEL:])[125, 10:35].max() < 8


def test_mp4s_are_read_back(tmp_path: Path) -> None:
    import av

    write_film(frames(6), tmp_path / "film.mp4")
    with av.open(str(tmp_path / "film.mp4")) as container:
        read = [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(video=0)]
    assert len(read) == 6
    for k, frame in enumerate(read):
        assert frame.shape == (HEIGHT, WIDTH + PANEL, 3)
        assert frame[20 * k + 10, 60, 0] > 180  # the red square is where it was


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"films are written as \.gif or \.mp4"):
        write_film(frames(1), tmp_path / "film.avi")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "video: give either the name of a task or --run"),
        (["two-cues", "--run", "somewhere"], "video: give either the name of a task or --run"),
        (["two-cues", "--hidden", "theta=x"], "hidden.theta: 'x' is not a whole number"),
        (["--run", "nowhere"], "nowhere: is not a run and holds none"),
    ],
)
def test_bad_input_ends_with_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["video", *arguments]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


@pytest.mark.system
@pytest.mark.parametrize("name", list(TASKS))
def test_films_of_all_experts_are_small_and_end_well(name: str, tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    assert main(["video", name, "-o", str(path)]) == 0
    assert path.stat().st_size < 1_000_000
    with Image.open(path) as gif:
        assert gif.size == (WIDTH + PANEL, HEIGHT)
        assert sum(1 for _ in ImageSequence.Iterator(gif)) >= make_task(name).horizon


@pytest.mark.system
def test_a_film_of_a_policy_shows_its_codes_and_its_outcome() -> None:
    task, scale = short_task(), odd_scale()
    made = {}
    for swapped in (False, True):
        weights, architecture = expert_carrier(task, scale, swapped)
        player = Policies({name: value[None] for name, value in weights.items()}, architecture, scale)
        made[swapped] = list(film(task, player, latents={"theta": 1, "hover": 0}))
    assert len(made[False]) == task.horizon + LAST
    for t in (0, 2):  # the same until the display is lit
        np.testing.assert_array_equal(made[False][t], made[True][t])
    codes = slice(178, 195)
    assert (made[False][5][codes, WIDTH:] != made[True][5][codes, WIDTH:]).any()
    note = slice(205, 230)
    assert (made[False][-1][note, WIDTH:] != made[True][-1][note, WIDTH:]).any()
