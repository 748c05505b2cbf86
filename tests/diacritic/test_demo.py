"""The demo from end to end, smaller than it is shown."""

import json
from pathlib import Path

import pytest

from diacritic.demo import Demo


def test_the_demo_goes_from_the_question_to_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert Demo(out=tmp_path / "demo", seeds=1, steps=20, episodes=64).run() == 0
    said = capsys.readouterr().out
    assert "required bits, step by step: 0 0 0 0 0 0 2 2 2 1" in said
    assert "gap2 × slot (linear): 1.00" in said
    folder = tmp_path / "demo"
    assert json.loads((folder / "machine.json").read_text())["equal"]
    page = (folder / "report.html").read_text()
    assert "gap gap1=1 gap2=2" in page
    assert (folder / "staircase.png").stat().st_size > 1000
