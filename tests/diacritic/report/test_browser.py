"""The page in a browser: charts draw, hovers tell, the machine walks, filters filter, nothing leaves the file."""

import json
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize
from report_inputs import HOSTILE, add_rollout, add_verdict, make_ledger, make_run

from certify.zoo import build
from diacritic.report.page import report
from diacritic.report.video import write_film

pytestmark = pytest.mark.system
WIDE: ViewportSize = {"width": 1200, "height": 900}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every section, whose names are hostile wherever a name can be."""
    folder = tmp_path_factory.mktemp("page")
    for seed in range(3):
        path = make_run(folder / "runs", seed, sufficient=seed != 1)
        add_verdict(path)
        add_rollout(path)
    make_run(folder / "runs", 7, task=HOSTILE, learner=HOSTILE)
    make_ledger(folder / "toys.jsonl")
    model = json.loads(build("gap").to_json())
    text = json.dumps(model).replace("cue1=0", HOSTILE.replace("/", "\\/"))
    (folder / "hostile.json").write_text(text, encoding="utf-8")
    frames = [np.full((64, 64, 3), 20 * k, np.uint8) for k in range(12)]
    write_film(frames, folder / "film.mp4")
    report("gap", folder, out=folder / "report.html", title=HOSTILE)
    return folder / "report.html"


def test_every_chart_draws(opened: Page):
    places = opened.locator(".plot").all()
    assert len(places) >= 8
    for place in places:
        assert place.locator("svg.main-svg").count() >= 1, place.get_attribute("id")
        assert place.locator(".trace, .bars .point").count() >= 1, place.get_attribute("id")
    assert opened.locator("#no-charts").is_hidden()


def test_a_hover_shows_classes_and_the_witness(opened: Page):
    chart = opened.locator(".plot").first
    panel = opened.locator(".detail").first
    opened.locator("[data-steps] input").first.fill("1")
    assert "Step 1: 2 classes" in panel.inner_text()
    chart.scroll_into_view_if_needed()
    area = chart.locator(".nsewdrag").first.bounding_box()
    assert area
    opened.mouse.move(area["x"] + area["width"] * 0.5, area["y"] + area["height"] / 2)  # the middle: step 6 of 11
    opened.wait_for_function("() => document.querySelector('.detail').textContent.startsWith('Step 6')")
    text = panel.inner_text()
    assert "Witness:" in text
    assert "the expert acts differently: put 0 or put 1, respectively" in text
    assert "cue1=0" in text


def test_the_slider_shows_the_same_from_the_keyboard(opened: Page):
    slider = opened.locator("[data-steps] input").first
    slider.fill("3")
    slider.press("ArrowRight")
    assert opened.locator(".detail").first.inner_text().startswith("Step 4")


def test_the_machine_walks_along_an_episode_and_along_choices(opened: Page):
    machine = opened.locator("[data-machine]").first
    state, after = machine.locator(".state"), machine.get_by_role("button", name="Next step")
    machine.locator("select").select_option(index=4)
    for t in range(1, 12):
        after.click()
        assert state.inner_text().startswith(f"Step {t}:")
    assert "The end." in state.inner_text()
    assert after.is_disabled()
    assert machine.locator("g.on").count() == 11
    machine.get_by_role("button", name="Back").click()
    assert state.inner_text().startswith("Step 10:")
    machine.get_by_role("button", name="Start again").click()
    machine.locator(".choices button", has_text="start z=1").click()
    machine.locator(".choices button", has_text="cue1=1").click()
    machine.locator(".choices button", has_text="cue2=0").click()
    assert "cue1=1" in state.inner_text()
    assert machine.locator("select").input_value() == ""


def test_filters_filter_the_table_and_the_dumbbells(opened: Page):
    shown = opened.locator("#cells tbody tr:not([hidden])")
    assert shown.count() == 3
    assert opened.locator("[data-filter=verdict]").count() == 0  # without a reference there is none
    opened.locator("[data-filter=study]").select_option("blocks")
    assert shown.count() == 2
    assert "gap2=15" in shown.first.inner_text()
    assert opened.locator("#shown-cells").inner_text() == "2 lines"
    points = "document.getElementById('dumbbells').data[0].y.length"
    assert opened.evaluate(points) == 2
    opened.locator("[data-filter=learner]").select_option("gru")
    assert shown.count() == 0
    opened.locator("[data-filter=study]").select_option("")
    assert opened.locator("#shown-cells").inner_text() == "1 line"
    opened.locator("[data-filter=learner]").select_option("")
    assert opened.evaluate(points) == 3


def test_the_video_plays(opened: Page):
    opened.evaluate("document.querySelector('video').play()")
    opened.wait_for_function("() => document.querySelector('video').currentTime > 0.2")


def test_a_hostile_name_stays_text(opened: Page):
    assert opened.title() == HOSTILE
    assert opened.locator("h1").inner_text() == HOSTILE
    assert opened.evaluate("[...document.scripts].filter(s => s.textContent === 'alert(1)').length") == 0
    machine = opened.locator("[data-machine]", has_text="<script>alert(1)").first
    assert machine.count() == 1
    named = "[...document.querySelectorAll('#cells td')].some(cell => cell.textContent === '<script>alert(1)</script>')"
    assert opened.evaluate(named)


def test_the_theme_changes_page_and_charts(opened: Page):
    colour = "getComputedStyle(document.querySelector('.plot .xtitle')).fill"
    before = opened.evaluate(colour)
    opened.get_by_role("button", name="Dark").click()
    opened.wait_for_function(f"() => {colour} !== {json.dumps(before)}")
    assert opened.locator("html").get_attribute("data-theme") == "dark"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_accessibility_fault(opened: Page, theme: Literal["light", "dark"]):
    if opened.locator("html").get_attribute("data-theme") != theme:
        opened.locator("#theme").click()
    opened.evaluate("() => document.querySelectorAll('details').forEach(item => { item.open = true; })")
    found = Axe().run(opened, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [
        (fault["id"], [node["target"] for node in fault["nodes"]][:3])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("width", [360, 800])
def test_nothing_hangs_over_on_small_screens(opened: Page, width: int):
    opened.set_viewport_size({"width": width, "height": 700})
    try:
        opened.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
    finally:
        opened.set_viewport_size(WIDE)


def test_the_page_prints(opened: Page, tmp_path: Path):
    printed = opened.pdf(path=tmp_path / "page.pdf")
    assert printed.startswith(b"%PDF")
    opened.emulate_media(media="print")
    assert opened.locator("nav").is_hidden()
    assert opened.locator(".verdict table").first.is_visible()
