"""The arena's pictures and page, from scores."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from certify import UserError
from diacritic.report.arena import bits_svg, horizon, matrix_svg, shade
from diacritic.report.arena_page import BEGIN, END, insert, page
from diacritic.studies.arena import Score, Setting
from diacritic.studies.tasks import task

NAMES = ["carousel", "GRU <wide>"]
CODED = Score(8, 8, 1.0, 1.0, 1.25, 10**6, 120, 0.4, 90_000, 200.0, "H200")
OTHER = Score(2, 8, 0.75, None, None, None, None, None, 110_000, 90.0, "cpu")
SCORES = {task("passive-t-maze", L=4): [CODED, OTHER], task("running-parity"): [CODED, None], task("gap"): [None, None]}


def test_the_matrix_has_a_box_for_every_cell_and_names_what_is_not_run() -> None:
    tree = ET.fromstring(matrix_svg(NAMES, SCORES))
    titles = [item.text for item in tree.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[1:] == [
        "passive-t-maze L=4, carousel: 8/8 seeds sufficient, success 1.000",
        "passive-t-maze L=4, GRU <wide>: 2/8 seeds sufficient, success 0.750",
        "running-parity, carousel: 8/8 seeds sufficient, success 1.000",
        "running-parity, GRU <wide>: not run",
        "gap, carousel: not run",
        "gap, GRU <wide>: not run",
    ]
    texts = [item.text for item in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("10⁶") == 2
    assert "GRU <wide>" in texts


def test_dots_without_a_code_stand_beyond_the_axis() -> None:
    tree = ET.fromstring(bits_svg(NAMES, SCORES))
    dots = [(item.get("fill"), float(item.get("cx", 0))) for item in tree.iter("{http://www.w3.org/2000/svg}circle")]
    [grey] = [x for fill, x in dots if fill == "#999999"]
    assert len(dots) == 3 + 1  # and the legend's
    assert all(x < 520 < grey for fill, x in dots[:3] if fill != "#999999")


def test_colours_and_horizons() -> None:
    assert (shade(0), shade(1)) == ("#f7f4ec", "#08519c")
    assert [horizon(steps) for steps in (None, 11, 1000, 1001, 10_000, 10**6)] == [
        "–",
        "11",
        "10³",
        "1,001",
        "10⁴",
        "10⁶",
    ]


def test_on_the_arm_closed_loops_stand_beside_the_counts() -> None:
    played, none = replace(OTHER, closed_loop=0.5), (5, 6)
    arm = {task("weighing", gap=6): [CODED, played], task("two-cues", gap=6): [CODED, None]}
    text = page(NAMES, arm, {}, [[], []], none)
    assert "| memory | weighing gap=6 | two-cues gap=6 |\n|---|---:|---:|\n" in text
    assert "| carousel | 8/8, – | 8/8, – |\n| GRU <wide> | 2/8, 0.50 |  |\n" in text
    assert "On the arm" not in page(NAMES, SCORES, {}, [[], []], none)


def test_where_nothing_is_missing_the_page_is_silent_about_it() -> None:
    text = page(NAMES, {task("gap"): [CODED, OTHER]}, {}, [[], []], (6, 6))
    assert "2 of 2 cells have been run. Every memory has the settings that its search chose" in text
    assert "What is missing" not in text


def test_the_page_says_what_is_missing_and_goes_between_its_marks(tmp_path: Path) -> None:
    row = {"success": 1.0, "lengths": {"100": 1.0, "1000": 0.5, "10000": None, "1000000": None}}
    text = page(NAMES, SCORES, {"carousel": Setting(1e-3, 16)}, [[row, row], []], (5, 6))
    assert "3 of 6 cells have been run. The search of settings was broken off after 5 of its 6 trials" in text
    assert "\nTasks in which every seed is sufficient: carousel 2, GRU <wide> 0.\n" in text
    assert "<summary>What is missing</summary>\n\nall of gap; running-parity (GRU <wide>)." in text
    assert "| carousel | 2/2 | 2/2 | 0/2 | ? | ? |" in text
    assert "| carousel | 0.001 | 16 | 90,000 | 200 | 2/2 | 120 | 0.40 | H200 |" in text
    path = tmp_path / "page.md"
    path.write_text(f"# Title\n{BEGIN}\nold\n{END}\nrest\n", encoding="utf-8")
    insert(path, text)
    assert path.read_text(encoding="utf-8") == f"# Title\n{BEGIN}\n{text}{END}\nrest\n"
    path.write_text("none", encoding="utf-8")
    with pytest.raises(UserError, match="has no marks"):
        insert(path, text)
