"""The shipped cohort on the page, in a browser: its closed loop, its codes, and a real film that plays."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from diacritic.cli import main
from diacritic.report.inputs import FILM_BYTES
from diacritic.report.video import SMALL
from diacritic.shipped import cohort
from diacritic.tasks.registry import make as make_task

TASK = make_task("two-cues", gap=20)
pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cohort, played and filmed, with a recording of its task."""
    folder = tmp_path_factory.mktemp("arm")
    first, *_ = cohort(folder / "arm")
    film, demos = folder / "two-cues gap=20, seed 0.mp4", folder / "two-cues"
    for words in (
        ["rollout", folder / "arm", "--episodes", 4],
        ["video", "--run", first, "--small", "-o", film],
        ["record", "two-cues", "gap=20", "--episodes", 32, "--no-checks", "--out", demos],
        ["report", folder, "-o", folder / "report.html"],
    ):
        assert main([str(word) for word in words]) == 0
    assert film.stat().st_size < FILM_BYTES
    return folder / "report.html"


def test_the_film_plays(opened: Page):
    video = opened.locator("article.task video")
    opened.wait_for_function("() => document.querySelector('video').readyState >= 2")
    size, seconds = video.evaluate("film => [[film.videoWidth, film.videoHeight], film.duration]")
    assert size == [SMALL.width, SMALL.height]
    assert seconds > 5
    video.evaluate("film => film.play()")
    opened.wait_for_function("() => document.querySelector('video').currentTime > 0.5")
    video.evaluate("film => film.pause()")
    assert "two-cues gap=20, seed 0" in opened.locator(".film figcaption").inner_text()


def test_the_film_moves_with_the_playhead(opened: Page):
    opened.locator("article.task input[type=range]").fill("40")
    late = opened.evaluate("document.querySelector('video').currentTime")
    opened.locator("article.task input[type=range]").fill("10")
    assert late > opened.evaluate("document.querySelector('video').currentTime") > 0
    assert opened.locator("article.task .slide output").inner_text() == "10"


def test_the_closed_loop_shows_eight_policies(opened: Page):
    rows = opened.locator("#run-table tbody tr")
    assert rows.count() == 8
    for seed, row in enumerate(rows.all()):
        cells = row.locator("td").all_inner_texts()
        assert cells[:2] == ["two-cues gap=20", "event-agnostic"]
        assert cells[3] == str(seed)
        assert cells[8].endswith("%")
        assert cells[-1] == "4 episodes"
    names = opened.locator("section#runs .plot svg > text title").all_text_contents()
    assert names == [f"two-cues gap=20 · event-agnostic · {name}" for name in ("success", "side", "slot")]
    assert opened.locator("section#runs g.mark[data-runs]").count() == 3 * 8


def test_codes_of_every_seed_stand_under_the_bits(opened: Page):
    strips = opened.locator(".strip")
    assert strips.count() == 8
    for strip in strips.all():
        assert "closed loop" in strip.locator("figcaption").inner_text()
        assert strip.locator("svg > text").count() >= 2  # a row for each side and slot, as far as they were drawn
    assert len(opened.locator(".classes li").all()) >= 4


def test_the_staircase_is_certified_and_its_title_short(opened: Page):
    task = opened.locator("article.task")
    assert task.locator("h2").inner_text().startswith("two-cues gap=20")
    assert "gap=20 first_gap=2" in task.locator("h2 + p").inner_text()
    assert "checked: verified" in task.locator(".badges").inner_text()
    assert task.locator("[data-lane=bits] .phase").count() == len(set(TASK.phases))
