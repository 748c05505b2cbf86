"""Latency of a step: the last step of an episode is what is timed, and figures are entered one by one."""

import json
from pathlib import Path

import pytest
import torch

from diacritic.studies.results import Results
from reproduction import latency
from reproduction.catalogue import cost
from reproduction.verdicts import value


def test_the_paper_s_transformer_encodes_again_what_ours_keeps():
    """Both see the same episode and act alike at its end."""
    with torch.inference_mode():
        again, kept = (latency.stepper(name, 5, "cpu", 3)() for name in ("full-history", latency.CACHED))
    assert again.shape == (1, 3, 4)
    torch.testing.assert_close(again, kept, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["plain", "gru-128"])
def test_a_step_may_be_taken_again_from_the_state_that_the_episode_left(name: str):
    with torch.inference_mode():
        step = latency.stepper(name, 6, "cpu", 16)
        first, second = step(), step()
    assert torch.equal(first, second)  # nothing is left behind from one to the next
    assert first.shape == (1, 16, 4)


def test_every_figure_of_the_catalogue_is_measured():
    assert set(latency.LEARNERS) == {"transformer", "gru", "diacritic"}
    titles = {latency.title(*one) for one in latency.asked()}
    declared = {figure.name: figure for figure in cost.STUDY.figures if "one GPU" in figure.name}
    assert titles == set(declared)
    assert len(titles) == 20
    assert declared[latency.title("full-history", 1024)].paper == value(16.8)
    assert declared[latency.title("plain", 33)].paper == value(1.18)
    assert declared[latency.title("gru-128", 512)].paper == value(1.1)


def test_it_enters_its_figures_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "figures" / "cost.jsonl"
    out.parent.mkdir()
    other = {"figure": "another", "value": {"low": 1.0, "high": 1.0}}
    old = {"figure": latency.title("plain", 4), "value": {"low": -1.0, "high": -1.0}}
    out.write_text("".join(json.dumps(line) + "\n" for line in (other, old)))
    monkeypatch.setattr("sys.argv", ["latency", "--device", "cpu", "--quick", "--out", str(out)])
    latency.main()
    lines = {line["figure"]: line for line in map(json.loads, out.read_text().splitlines())}
    assert lines.pop("another") == other
    assert set(lines) == {latency.title(name, horizon) for name, horizon in latency.asked(quick=True)}
    assert all(line["value"]["low"] == line["value"]["high"] > 0 for line in lines.values())
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_a_line_of_a_gpu_is_ours_on_the_scoreboard(tmp_path: Path):
    (asked,) = (figure for figure in cost.STUDY.figures if figure.name == latency.title("plain", 33))
    assert asked.ours(Results.read(tmp_path), "cost") is None
    entry = latency.line(asked.name, {"low": 0.4, "high": 0.4}, 1.0, "some GPU")
    latency.enter(tmp_path / "figures" / "cost.jsonl", [entry])
    assert asked.ours(Results.read(tmp_path), "cost") == value(0.4)
    assert asked.verdict(value(0.4)).kind == "better"


def test_a_cpu_is_refused_where_a_gpu_is_meant(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    for words, said in ([], "no GPU"), (["--device", "cpu"], "give another file"):
        monkeypatch.setattr("sys.argv", ["latency", *words])
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(SystemExit):
            latency.main()
        assert said in capsys.readouterr().err
    assert latency.on_gpu("plain", 4) is None
