"""Films: every step has its frames, waits are short and cues long, motion is smooth; the command refuses bad input."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from diacritic.cli import main
from diacritic.report.design import Design
from diacritic.report.film_panel import Format, Story
from diacritic.report.takes import Colours, one_take
from diacritic.report.video import CUE, LONG, WAIT, _notes, film, schedule
from diacritic.tasks.franka.tasks import TASKS, make_task
from diacritic.tasks.pointmass import PointMass

TASK = PointMass(first_wait=1, wait=LONG + 2)
FORM = Format(180, 320, 8)
STORY = Story(TASK, Design.of(TASK), Colours())
(TAKE,) = one_take(TASK, TASK.batch(1, 0), None, None, {"gate": 1, "goal": 0})


def test_cues_and_decisions_are_held_and_long_waits_pass_quickly() -> None:
    counts = schedule(STORY, [TAKE], Format(rate=100), None)
    assert len(counts) == TASK.horizon
    assert {counts[t] for t in TASK.reveals} == {100 * CUE}
    waiting = max(TASK.windows.values(), key=len)
    assert {counts[t] for t in waiting} == {round(100 * WAIT)}
    assert all(counts[t] > counts[waiting[0]] for t in TASK.decisions.values())


def test_what_is_said_follows_the_episode() -> None:
    waiting = max(TASK.windows.values(), key=len)
    assert _notes(STORY, [TAKE], waiting[0], None) == [f"{len(waiting)} steps, nothing to see"]
    assert _notes(STORY, [TAKE], TASK.decisions["goal"], None) == ["decides the goal"]
    assert _notes(STORY, [TAKE] * 2, waiting[3], waiting[3]) == [
        f"{len(waiting)} steps, nothing to see",
        "We changed one code.",
    ]


def test_a_film_has_all_steps_and_moves_smoothly() -> None:
    made = film(TASK, latents={"gate": 1, "goal": 0}, form=FORM)
    counts = schedule(STORY, [TAKE], FORM, None)
    assert len(made.frames) == sum(counts) + FORM.frames(1.8)
    assert made.times == [sum(counts[:t]) / FORM.rate for t in range(TASK.horizon)]
    assert {frame.shape for frame in made.frames} == {(180, 320, 3)}
    assert (made.frames[0] != made.frames[-1]).any()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "video: give either the name of a task or --run"),
        (["two-cues", "--run", "somewhere"], "video: give either the name of a task or --run"),
        (["two-cues", "--hidden", "theta=x"], "hidden.theta: 'x' is not a whole number"),
        (["two-cues", "--swap"], "swap: codes are those of a trained policy; give it with --run"),
        (["two-cues", "-o", "film.avi"], "film.avi: films are written as .gif or .mp4"),
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
def test_every_task_is_filmed(name: str) -> None:
    made = film(make_task(name), form=Format(180, 320, 2))
    assert len(made.times) == make_task(name).horizon
    scenes = np.stack([frame[:135] for frame in made.frames]).astype(int)
    assert (abs(np.diff(scenes, axis=0)).max((1, 2, 3)) > 40).mean() > 0.3  # the arm moves in many of the frames


@pytest.mark.system
def test_the_panel_in_the_scene_lights_up_with_the_cue() -> None:
    task = make_task("two-cues")
    batch = task.batch(1, 0, threads=1)
    batch.reset()
    dark, lit = (batch.picture(180, 320, shown=shown).astype(int) for shown in (-1, 1))
    batch.close()
    changed = abs(lit - dark).max(-1) > 60
    assert 20 < changed.sum() < 2000  # a few lamps, nothing else


@pytest.mark.system
def test_a_film_is_written_in_both_formats(tmp_path: Path) -> None:
    paths = [tmp_path / "film.mp4", tmp_path / "film.gif"]
    assert main(["video", "two-cues", "gap=1", "first_gap=1", "--small", "-o", *map(str, paths)]) == 0
    assert all(1000 < path.stat().st_size < 1_000_000 for path in paths)
    with Image.open(paths[1]) as gif:
        assert gif.size == (640, 360)
