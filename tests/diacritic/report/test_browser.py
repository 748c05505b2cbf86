"""The report in a browser: charts draw and save, one playhead moves all, tables sort, nothing leaves the file."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, ViewportSize
from report_inputs import HOSTILE, add_rollout, add_verdict, make_ledger, make_run

from certify.zoo import build
from diacritic.report.film_files import write_film
from diacritic.report.page import report

pytestmark = pytest.mark.system
WIDE: ViewportSize = {"width": 1280, "height": 900}
HOSTILE_FILE = "<img src=x onerror=alert(1)>"
PHONE: ViewportSize = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every section, whose names are hostile wherever a name can be."""
    folder = tmp_path_factory.mktemp("page")
    for seed in range(3):
        path = make_run(folder / "runs", seed, sufficient=seed != 1)
        add_verdict(path)
        add_rollout(path)
    make_run(folder / "runs", 7, task=HOSTILE, learner=HOSTILE)
    make_ledger(folder / "toys.jsonl")
    model = json.loads(build("gap").to_json())
    text = json.dumps(model).replace("cue1=0", HOSTILE.replace("/", "\\/")).replace("take 0", "take <b>0</b>")
    (folder / "hostile.json").write_text(text, encoding="utf-8")
    frames = [np.full((64, 64, 3), 20 * k, np.uint8) for k in range(12)]
    write_film(frames, folder / f"{HOSTILE_FILE}.mp4")
    report("gap", folder, out=folder / "report.html", title=HOSTILE, command=HOSTILE)
    return folder / "report.html"


@pytest.fixture
def task(opened: Page) -> Locator:
    """The article of the gap toy, which has runs."""
    return opened.locator("article.task", has=opened.locator("h2", has_text="gap")).first


def test_every_chart_draws_and_fits_its_width(opened: Page):
    opened.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true; })")
    plots = opened.locator(".plot").all()
    assert len(plots) >= 12
    for plot in plots:
        assert plot.get_attribute("aria-label")
        assert plot.locator("svg > *").count() >= 3, plot.get_attribute("aria-label")
        assert plot.evaluate("node => node.scrollWidth <= node.clientWidth + 1")


def test_the_first_screen_says_what_was_found(opened: Page):
    cards = opened.locator(".card")
    assert "2/3 seeds sufficient" in " ".join(cards.all_inner_texts())
    assert opened.locator(".card .spark svg").count() >= 2
    assert opened.locator(".origin summary").inner_text().startswith("Diacritic ")


def test_the_playhead_is_one_for_all(opened: Page, task: Locator):
    slider, panel = task.locator("input[type=range]"), task.locator(".detail")
    slider.fill("3")
    slider.press("ArrowRight")
    assert panel.inner_text().startswith("Step 4: up to 4 classes per observation → 2 bits")
    assert "the expert acts differently: put 0 or put 1, respectively" in panel.inner_text()
    heads = task.locator(".playhead").all()
    assert len(heads) >= 3
    assert len({head.get_attribute("x") for head in heads}) == 1
    centres = {round(box["x"] + box["width"] / 2) for head in heads if (box := head.bounding_box())}
    thumb = slider.evaluate(
        "node => { const b = node.getBoundingClientRect();"
        " return b.x + 8 + (b.width - 16) * (node.value - 1) / (node.max - 1); }"
    )
    assert max(abs(centre - thumb) for centre in centres) <= 2


def test_pointing_at_a_step_moves_the_playhead(opened: Page, task: Locator):
    area = task.locator("[data-lane=bits] svg")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box
    opened.mouse.click(box["x"] + 150 + (box["width"] - 162) * 5.5 / 11, box["y"] + box["height"] / 2)
    assert task.locator(".slide output").inner_text() == "6"
    task.locator("[data-act=reset]").focus()
    opened.keyboard.press("ArrowLeft")
    assert task.locator(".slide output").inner_text() == "5"


def test_codes_of_the_same_meaning_have_the_same_colour_in_every_seed(opened: Page, task: Locator):
    strips = task.locator(".strip.good")
    colours = [
        strip.locator("rect.cell").evaluate_all("cells => cells.map(c => c.getAttribute('fill'))")
        for strip in strips.all()
    ]
    assert len(colours) == 2
    assert colours[0] == colours[1]
    assert any(fill.startswith("url(#hatch-") for fill in colours[0])
    failed = task.locator(".strip.bad rect.cell").evaluate_all("cells => cells.map(c => c.getAttribute('fill'))")
    assert "url(#mixed)" in failed


def test_the_machine_walks_along_an_episode_and_along_choices(opened: Page, task: Locator):
    machine = task.locator(".machine")
    state, after = machine.locator(".state"), machine.get_by_role("button", name="Next step")
    machine.locator("select").select_option(index=4)
    for t in range(2, 12):
        after.click()
        assert state.inner_text().startswith(f"Step {t}:")
    assert "The end." in state.inner_text()
    assert after.is_disabled()
    assert machine.locator("circle.on, circle.now").count() == 11
    machine.get_by_role("button", name="Back").click()
    assert state.inner_text().startswith("Step 10:")
    machine.locator("select").select_option("")
    machine.get_by_role("button", name="Start again").click()
    for seen in ("z=1", "cue1=1", "cue2=0"):
        machine.locator(".choices button", has_text=seen).click()
    assert "[take 1]" in state.inner_text() or "take 1" in state.inner_text()


def test_runs_are_sorted_filtered_and_chosen(opened: Page):
    rows = opened.locator("#run-table tbody tr")
    opened.locator("#run-table th button", has_text="seed").click()
    opened.locator("#run-table th button", has_text="seed").click()
    assert rows.first.locator(".pick").inner_text() == "7"
    opened.locator("[data-search]").fill("gap 1")
    assert opened.locator("[data-count]").inner_text().endswith(("run", "runs"))
    opened.locator("[data-search]").fill("")
    row = rows.filter(has=opened.locator(".pick", has_text="0")).first
    row.locator(".pick").click()
    chosen = row.get_attribute("id")
    assert opened.url.endswith(f"#{chosen}")
    assert opened.locator("figure.strip.hit").count() == 1
    assert opened.locator("g.mark.hit").count() == 3  # success, side, slot
    opened.locator("#unpick").click()
    assert opened.locator(".hit").count() == 0


def test_a_link_to_a_run_highlights_it(
    open_page: Callable[[Path], tuple[Page, list[str]]], written: Path, opened: Page
):
    chosen = opened.locator("#run-table tbody tr").first.get_attribute("id")
    page, faults = open_page(written)
    page.goto(f"{written.as_uri()}#{chosen}")
    page.reload()
    page.wait_for_selector("tr.picked")
    assert page.locator("tr.picked").get_attribute("id") == chosen
    assert faults == []
    page.close()


@pytest.mark.parametrize(("word", "start"), [("SVG", b"<svg"), ("CSV", b'"step","whole history"'), ("PNG", b"\x89PNG")])
def test_charts_are_saved(opened: Page, task: Locator, word: str, start: bytes, tmp_path: Path):
    figure = task.locator("figure.chart", has=opened.locator("[data-lane=bits]"))
    with opened.expect_download() as waiting:
        figure.locator(".save button", has_text=word).dispatch_event("click")
    waiting.value.save_as(tmp_path / "saved")
    saved = (tmp_path / "saved").read_bytes()
    assert saved.startswith(start)
    assert b"var(--" not in saved


def test_filters_filter_the_table_and_the_dots(opened: Page):
    shown = opened.locator("#cells tbody tr:not([hidden])")
    assert shown.count() == 3
    assert opened.locator("[data-filter=verdict]").count() == 0  # without a reference there is none
    opened.locator("[data-filter=study]").select_option("blocks")
    assert shown.count() == 2
    assert opened.locator("#shown-cells").inner_text() == "2 lines"
    assert opened.locator("#dumbbells g.mark title").count() == 2
    opened.locator("[data-filter=learner]").select_option("gru")
    assert shown.count() == 0
    opened.locator("[data-filter=study]").select_option("")
    assert opened.locator("#shown-cells").inner_text() == "1 line"
    opened.locator("[data-filter=learner]").select_option("")


def test_the_video_plays(opened: Page):
    opened.evaluate("document.querySelector('video').play()")
    opened.wait_for_function("() => document.querySelector('video').currentTime > 0.2")


def test_the_card_shows_a_picture_of_the_film(opened: Page):
    opened.wait_for_function(
        """() => {  // a copy, made to be read again and again: browsers warn of others
            const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
            copy.drawImage(document.querySelector("canvas"), -9, -9);
            return copy.getImageData(0, 0, 1, 1).data[3] === 255;
        }"""
    )


def test_a_hostile_name_stays_text(opened: Page):
    assert opened.title() == HOSTILE
    assert opened.locator("h1").inner_text() == HOSTILE
    assert opened.evaluate("[...document.scripts].filter(s => s.textContent === 'alert(1)').length") == 0
    assert opened.locator(".film figcaption").inner_text() == HOSTILE_FILE
    assert opened.locator("main b, main img").count() == 0
    for selector in ("#cells td", "#run-table td", ".card h2", ".origin code", "article.task h2"):
        named = f"[...document.querySelectorAll('{selector}')].some(cell => cell.textContent.includes('{HOSTILE}'))"
        assert opened.evaluate(named), selector


def test_the_theme_changes_page_and_charts(opened: Page):
    colour = "getComputedStyle(document.querySelector('.plot text')).fill"
    before = opened.evaluate(colour)
    opened.get_by_role("button", name="Dark").click()
    assert opened.evaluate(colour) != before


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_no_accessibility_fault(opened: Page, theme: str, size: ViewportSize):
    opened.set_viewport_size(size)
    try:
        if opened.locator("html").get_attribute("data-theme") != theme:
            opened.locator("#theme").click()
        opened.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true; })")
        actual = Axe().run(opened, options={"resultTypes": ["violations"]}).response["violations"]
    finally:
        opened.set_viewport_size(WIDE)
    assert [(fault["id"], [node["target"] for node in fault["nodes"]][:3]) for fault in actual] == []


CUT_OFF = """() => [...document.querySelectorAll('.plot svg')].flatMap(svg => {
    const frame = svg.getBoundingClientRect();
    const outside = box => box.width && (box.left < frame.left - 2 || box.right > frame.right + 2);
    const words = [...svg.querySelectorAll('text')];
    return words.filter(word => outside(word.getBoundingClientRect())).map(word => word.textContent);
})"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["desktop", "phone"])
def test_every_view_is_whole(opened: Page, theme: str, size: ViewportSize):
    """Each section has its heading and fills a screen's width, and no label of a chart is cut off."""
    opened.set_viewport_size(size)
    try:
        if opened.locator("html").get_attribute("data-theme") != theme:
            opened.locator("#theme").click()
        sections = opened.locator("main section[id]").all()
        assert [section.get_attribute("id") for section in sections] == ["summary", "tasks", "runs", "audit", "studies"]
        for section in sections:
            box = section.bounding_box()
            assert box
            assert size["width"] * 0.75 < box["width"] <= size["width"]
            assert section.locator("h2").first.is_visible()
        opened.wait_for_function(f"() => ({CUT_OFF})().length === 0")
    finally:
        opened.set_viewport_size(WIDE)


@pytest.mark.parametrize("width", [360, 800])
def test_nothing_hangs_over_on_small_screens(opened: Page, width: int):
    opened.set_viewport_size({"width": width, "height": 700})
    try:
        opened.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
        labels = opened.locator("#dumbbells svg > text").all_text_contents()
        assert any("gap" in label for label in labels)  # rows keep their labels
    finally:
        opened.set_viewport_size(WIDE)


def test_everything_can_be_reached_from_the_keyboard(opened: Page):
    focusable = "a[href], button:not([disabled]):not([hidden]), select, input, summary, [tabindex='0'], video[controls]"
    unreachable = f"[...document.querySelectorAll({json.dumps(focusable)})].filter(node => node.tabIndex < 0).length"
    assert opened.evaluate(unreachable) == 0
    assert opened.locator("#run-table tbody tr").count() == opened.locator("#run-table .pick").count()


def test_the_report_prints(opened: Page, tmp_path: Path):
    printed = opened.pdf(path=tmp_path / "page.pdf")
    assert printed.startswith(b"%PDF")
    opened.emulate_media(media="print")
    try:
        assert opened.locator("nav").is_hidden()
        assert opened.locator(".verdict table").first.is_visible()
        boxes = [strip.bounding_box() for strip in opened.locator(".strip").all()]
        ends = [box["y"] + box["height"] for box in boxes if box]
        starts = [box["y"] for box in boxes if box]
        assert all(end <= start + 1 for end, start in zip(ends[:-1], starts[1:], strict=True))  # none covers another
    finally:
        opened.emulate_media(media="screen")
