"""The picture shows the run over the staircase, failed seeds in red and dashed."""

from pathlib import Path

import pytest

from diacritic.measure.figure import FAILED, PASSED, REQUIRED, draw
from diacritic.measure.gates import Judgement
from diacritic.measure.verdict import Profile, Subject, Verdict, judge


def verdict(seed: int, passed: bool) -> Verdict:
    judgement = Judgement("full", passed, 1.0, {}, () if passed else ("gap1: score 0.2",))
    profile = Profile([0.0, 2.0, None], [0.0, 2.0, None], [0.0, 0.0, 1.0], {"gap1": [1], "gap2": [2]})
    return judge(Subject(f"run {seed}", "gap", "plain", seed, "exact"), judgement, profile, [])


@pytest.mark.parametrize(("passed", "others"), [(True, [False]), (False, [True]), (True, []), (False, [])])
def test_colours_tell_verdicts(passed: bool, others: list[bool], tmp_path: Path) -> None:
    draw(verdict(0, passed), tmp_path / "a.svg", [verdict(k + 1, good) for k, good in enumerate(others)])
    text = (tmp_path / "a.svg").read_text()
    assert REQUIRED in text
    assert (PASSED in text) == (passed or True in others)
    assert (FAILED in text) == (not passed or False in others)
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_a_png_is_written(tmp_path: Path) -> None:
    draw(verdict(0, True), tmp_path / "staircase.png")
    assert (tmp_path / "staircase.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_verdict_twice_in_a_new_folder(tmp_path: Path) -> None:
    pictures = [tmp_path / name / "a.pdf" for name in ("one", "two")]
    for path in pictures:
        draw(verdict(0, True), path)
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert [path.name for path in pictures[0].parent.iterdir()] == ["a.pdf"]
