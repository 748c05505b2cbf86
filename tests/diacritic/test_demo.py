"""The demo from end to end, smaller than it is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from diacritic.demo import Demo
from diacritic.tasks.franka import pixels
from diacritic.tasks.registry import make as make_task


def test_the_demo_goes_from_the_question_to_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def blind(*_: Any) -> None:
        raise RuntimeError(pixels.MISSING_OPENGL)

    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setattr(pixels.mj, "Renderer", blind)  # as on a machine without OpenGL, on every machine
    assert Demo(out=tmp_path / "demo", seeds=1, steps=20, episodes=64, rollouts=2).run() == 0
    said = capsys.readouterr()
    assert "required bits, step by step: 0 0 0 0 0 1 2 2 2 1" in said.out
    assert "gap2 × slot (linear): 1.00" in said.out
    folder = tmp_path / "demo"
    runs = [json.loads(path.read_text()) for path in folder.glob("arm/*/run.json")]
    played = {run["task_version"] for run in runs} == {make_task("two-cues").version}  # an earlier one is refused
    assert ("8 × 2 episodes" in said.out) == played
    assert len(list(folder.glob("arm/*/rollout.json"))) == (8 if played else 0)
    blinded = [f"diacritic: {pixels.MISSING_OPENGL}"] if played else []
    assert [line for line in said.err.splitlines() if "OpenGL" in line] == blinded
    assert json.loads((folder / "machine.json").read_text())["equal"]
    page = (folder / "report.html").read_text()
    assert "gap gap1=1 gap2=2" in page
    assert ("two-cues gap=20 · event-agnostic · slot" in page) == played
    assert page.count('"title":"event-agnostic, seed 7"') == 1  # the codes of the last shipped policy
    assert "probes of two-cues-leaked" in page
    assert "<video" not in page
    assert '<section id="studies"' in page  # from the ledger of this clone
    assert "Left out" not in page
    assert (folder / "staircase.png").stat().st_size > 1000
