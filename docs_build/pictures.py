"""`python -m docs_build.pictures`: the annotated staircase, and reports as the tour and the gallery show them.

Needs Debian's Chromium, as `make test-system` does.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from diacritic.files.atomic import write_text
from docs_build.gallery import write
from docs_build.staircase import staircase

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TOY_STEP, ARM_STEP = 4, 20


def main() -> None:
    write_text(IMAGES / "staircase.svg", staircase())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write(Path(folder))
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1040, "height": 1000}, color_scheme="light")
        _open(page, Path(folder) / "toy.html", TOY_STEP)
        _between(page, "article.task h2", "article.task .detail", IMAGES / "tour-page.png")
        _between(page, "article.task .classes", "article.task figure.strip >> nth=2", IMAGES / "tour-strips.png")
        _open(page, Path(folder) / "arm.html", ARM_STEP)
        page.evaluate("document.querySelector('article.task video').controls = false")
        _between(page, "article.task video", "article.task input[type=range]", IMAGES / "tour-arm.png")


def _open(page: Page, path: Path, step: int) -> None:
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    slider = page.locator("article.task input[type=range]")
    slider.fill(str(step))
    slider.blur()
    page.wait_for_timeout(1000)  # the film seeks


def _between(page: Page, first: str, last: str, target: Path) -> None:
    """What lies between the top of one element and the bottom of another, over the whole width of the text."""
    page.evaluate("window.scrollTo(0, 0)")
    edge = "node => { const box = node.getBoundingClientRect(); return [box.top, box.bottom]; }"
    top, bottom = page.locator(first).first.evaluate(edge)[0] - 4, page.locator(last).first.evaluate(edge)[1] + 4
    width = page.viewport_size["width"] if page.viewport_size else 0
    page.screenshot(path=target, clip={"x": 0, "y": top, "width": width, "height": bottom - top}, full_page=True)


if __name__ == "__main__":
    main()
