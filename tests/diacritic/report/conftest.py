"""Runs that were trained, judged and played, a recording, and a browser, as tests of the page need them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from report_inputs import add_rollout, add_verdict, make_run

from diacritic.demos.record import record
from diacritic.files.demos import save
from diacritic.report.inputs import Inputs, collect
from diacritic.tasks.registry import make as make_task

CHROMIUM = "/usr/bin/chromium"  # Debian's
WIDE: ViewportSize = {"width": 1200, "height": 900}
Opened = tuple[Page, list[str]]


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    """Three seeds that suffice and one that fails, all judged and played."""
    for seed in range(4):
        path = make_run(tmp_path, seed, sufficient=seed != 2)
        add_verdict(path)
        add_rollout(path)
    return collect([str(tmp_path)])


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The stem of a few episodes of a short `two-cues`."""
    demos, _ = record(make_task("two-cues", gap=1, first_gap=1), 16, seed=2)
    save(demos, tmp_path / "demos" / "short")
    return tmp_path / "demos" / "short"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def open_page(browser: Browser) -> Callable[[Path], Opened]:
    """Opens a page, waits until it is ready, and gives all that goes wrong on it from then on, too."""

    def opened(path: Path) -> Opened:
        page = browser.new_page(viewport=WIDE, color_scheme="light")
        faults: list[str] = []
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda problem: faults.append(str(problem)))
        page.on("dialog", lambda dialog: faults.append(f"dialog {dialog.message}"))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else faults.append(r.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        return page, faults

    return opened


@pytest.fixture(scope="module")
def loaded(open_page: Callable[[Path], Opened], written: Path) -> Opened:
    """The page that a module has written, ready, and all that went wrong on it so far."""
    return open_page(written)


@pytest.fixture
def opened(loaded: Opened) -> Iterator[Page]:
    """A console error, a fault, a dialog or a request that leaves the file fails the test."""
    page, faults = loaded
    yield page
    assert faults == []
