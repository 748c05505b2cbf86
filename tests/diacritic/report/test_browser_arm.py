"""The shipped cohort on the page, in a browser: its closed loop, its codes, and a real film that plays."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from diacritic.cli import main
from diacritic.report.inputs import FILM_BYTES
from diacritic.report.video import HEIGHT, PANEL, PER_SECOND, WIDTH
from diacritic.shipped import cohort
from diacritic.tasks.registry import make as make_task

pytestmark = pytest.mark.system
TASK = make_task("two-cues", gap=20)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cohort, played and filmed, with a recording of its task."""
    folder = tmp_path_factory.mktemp("arm")
    first, *_ = cohort(folder / "arm")
    film, demos = folder / "two-cues gap=20, seed 0.mp4", folder / "two-cues"
    for words in (
        ["rollout", folder / "arm", "--episodes", 4],
        ["video", "--run", first, "-o", film],
        ["record", "two-cues", "gap=20", "--episodes", 32, "--no-checks", "--out", demos],
        ["report", folder, "-o", folder / "report.html"],
    ):
        assert main([str(word) for word in words]) == 0
    assert film.stat().st_size < FILM_BYTES
    return folder / "report.html"


def test_the_film_plays_and_its_controls_cover_none_of_it(opened: Page):
    video = opened.locator("#closed_loop video")
    video.scroll_into_view_if_needed()
    opened.wait_for_function("() => document.querySelector('video').readyState >= 2")
    size, seconds = video.evaluate("film => [[film.videoWidth, film.videoHeight], film.duration]")
    assert size == [WIDTH + PANEL, HEIGHT]
    assert seconds > TASK.horizon / PER_SECOND
    video.evaluate("film => film.play()")
    opened.wait_for_function("() => document.querySelector('video').currentTime > 0.5")
    video.evaluate("film => film.pause()")
    box = video.bounding_box()
    assert box
    assert box["height"] - box["width"] * HEIGHT / (WIDTH + PANEL) > 60  # pixels for the controls, below the picture
    assert "two-cues gap=20, seed 0" in opened.locator("#closed_loop figcaption").first.inner_text()


def test_the_closed_loop_shows_eight_policies(opened: Page):
    rows = opened.locator("#closed_loop tbody tr")
    assert rows.count() == 8
    for seed, row in enumerate(rows.all()):
        cells = row.locator("td").all_inner_texts()
        assert cells[:3] == ["two-cues gap=20", "event-agnostic", str(seed)]
        assert all(cell.endswith("%") for cell in (cells[3], cells[5], cells[6]))
        assert cells[-1] == "4 episodes"
    chart = opened.locator("#closed_loop .plot")
    assert chart.locator(".scatterlayer .trace").count() == 3
    assert chart.locator(".xtick").all_text_contents() == [f"seed {seed}" for seed in range(8)]
    assert chart.locator(".xtitle").text_content() == "two-cues gap=20, event-agnostic"


def test_codes_of_every_seed_stand_below_the_bits(opened: Page):
    strips = opened.locator("#cohort .strip")
    assert strips.count() == 8
    for strip in strips.all():
        assert "closed loop" in strip.locator("figcaption").inner_text()
        assert strip.locator("svg > text").count() == 4  # a row for each side and slot, as far as they were drawn
        assert strip.locator(".need").count() >= 3


def test_the_staircase_is_certified_and_its_title_short(opened: Page):
    model = opened.locator("#requirement article")
    assert model.locator("h3").inner_text() == "two-cues gap=20"
    assert "jitter=0.02 gap=20 first_gap=2" in model.locator("h3 + p").inner_text()
    assert "checked: verified" in model.locator(".badges").inner_text()
    named = opened.locator("#cohort figcaption span").first
    assert named.get_attribute("title") == "two-cues jitter=0.02 gap=20 first_gap=2 classes=2"
