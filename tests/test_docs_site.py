"""The documentation as built, in a browser: it builds strictly, every picture is there, nothing is fetched from
elsewhere, nothing complains, light and dark, no table is cut off, and axe-core finds no fault."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Playwright, ViewportSize, sync_playwright

from docs_build import gallery

pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ALIKE = DOCS / "results"  # of these pages two are opened
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if path.parent != ALIKE]
PAGES += [ALIKE / "index.md", ALIKE / "learning-targets.md"]
WIDE: ViewportSize = {"width": 1280, "height": 900}
MISSING = "[...document.images].filter(image => !image.complete || !image.naturalWidth).map(image => image.src)"
CUT_OFF = """[...document.querySelectorAll(".md-typeset__scrollwrap")].filter(wrap =>
    !wrap.closest("details") && wrap.scrollWidth > wrap.clientWidth + 2).map(wrap => wrap.innerText.slice(0, 80))"""
SPRAWLING = "document.documentElement.scrollWidth > window.innerWidth"


def address(path: Path) -> str:
    """Where a page is once it is built."""
    name = path.relative_to(DOCS).with_suffix("").as_posix()
    return "" if name == "index" else f"{name.removesuffix('/index')}/"


VISITED = [address(path) for path in PAGES]
DARK = ["", "arena/", "atlas/", "beyond_paper/", "glossary/", "theory/", "tour/", "api/tasks/", "results/"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the built pages are served, on this machine alone."""
    folder = tmp_path_factory.mktemp("site")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    shutil.copytree(ROOT / "docs", folder / "docs")
    for room in ("src", "reproduction", "docs_build"):
        (folder / room).symlink_to(ROOT / room)
    gallery.write(folder / "docs" / "gallery", steps=20, episodes=2)
    (folder / "mkdocs.yml").write_text(settings, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=folder, check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder / "site"))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def opened(playwright: Playwright, **options: Any) -> Page:
    return playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"]).new_page(**options)


def seen_on(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Pictures that did not load, tables that are cut off, and faults of what we wrote; the frame is the theme's."""
    page.evaluate("for (const image of document.querySelectorAll('article img')) image.loading = 'eager'")
    page.wait_for_load_state("networkidle")
    options = {"runOnly": list(rules)} if rules else None
    faults = Axe().run(page, context="article", options=options).response["violations"]
    return [
        *page.evaluate(MISSING),
        *(f"cut off: {text}" for text in page.evaluate(CUT_OFF)),
        *(f"{fault['help']}: {fault['nodes'][0]['target']}" for fault in faults),
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_open_without_fault(site: str, scheme: str):
    with sync_playwright() as playwright:
        page = opened(playwright, viewport=WIDE, color_scheme=scheme)
        faults: list[str] = []
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on(
            "request", lambda sent: None if sent.url.startswith((site, "data:", "blob:")) else faults.append(sent.url)
        )
        for name in VISITED if scheme == "light" else DARK:
            page.goto(site + name)
            faults += [f"{name}: {fault}" for fault in seen_on(page, () if scheme == "light" else ("color-contrast",))]
        assert faults == []


def test_pages_fit_a_phone_and_search_finds(site: str):
    with sync_playwright() as playwright:
        page = opened(playwright, viewport={"width": 390, "height": 844})
        for name in VISITED:
            page.goto(site + name)
            assert not page.evaluate(SPRAWLING), name
        page.set_viewport_size(WIDE)
        page.goto(site)
        page.locator(".md-search__button").click()
        page.get_by_placeholder("Search").fill("anticipatory")
        page.locator("a[href*=theory]", has_text="Theory").first.wait_for()


def test_a_table_is_behind_its_picture_and_scrolls_with_the_keyboard(site: str):
    with sync_playwright() as playwright:
        page = opened(playwright, viewport=WIDE)
        page.goto(site + "beyond_paper/")
        fold = page.locator("article details").first
        assert page.locator("article img").first.is_visible()
        assert not fold.locator("table").is_visible()
        fold.locator("summary").press("Enter")
        wrap = fold.locator(".md-typeset__scrollwrap")
        assert wrap.evaluate("wrap => wrap.scrollWidth > wrap.clientWidth")  # it is wide, or this test shows nothing
        wrap.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("document.querySelector('article details .md-typeset__scrollwrap').scrollLeft > 0")
        assert not page.evaluate(SPRAWLING)


def test_the_gallery_opens_live_reports(site: str):
    with sync_playwright() as playwright:
        page = opened(playwright, viewport=WIDE)
        for name in gallery.REPORTS:
            page.goto(site + "gallery/")
            page.locator(f"a[href$='{name}']", has_text="Open the report").click()
            page.wait_for_selector("html[data-ready=yes]")
            assert page.locator(".card").count() >= 1
            assert "/tmp" not in page.content()


def test_formulas_are_typeset(site: str):
    """A subscript stands lower than its letter, so a font with the tables of mathematics is at work."""
    with sync_playwright() as playwright:
        page = opened(playwright, viewport=WIDE)
        page.goto(site + "theory/")
        page.evaluate("document.fonts.ready")
        letter, below = (page.locator("math msub").first.locator(f"> :nth-child({k})").bounding_box() for k in (1, 2))
        assert letter
        assert below
        assert below["y"] + below["height"] > letter["y"] + letter["height"]
        assert page.evaluate("document.fonts.check('16px \"STIX Two Math\"')")


def test_a_faulty_page_is_noticed(site: str):
    with sync_playwright() as playwright:
        page = opened(playwright, viewport=WIDE)
        page.goto(site)
        page.evaluate("document.querySelector('article').insertAdjacentHTML('beforeend', '<img src=none.png>')")
        faults = seen_on(page)
        assert any(fault.endswith("none.png") for fault in faults)
        assert any("alternative text" in fault for fault in faults)
