"""`diacritic report`: a page is written, what is left out is said, bad input is one line."""

from pathlib import Path

import pytest

from diacritic.cli import main


def test_the_command_writes_the_page_and_says_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "empty").mkdir()
    out = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "empty"), "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "left out" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["page.html"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "give at least one input"),
        (["none.json"], "no such file"),
        (["gap gap2=x"], "gap"),
    ],
)
def test_bad_input_ends_with_one_line(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["report", *arguments, "-o", str(tmp_path / "page.html")]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert len(said.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())
