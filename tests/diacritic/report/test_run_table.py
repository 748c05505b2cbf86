"""The table of runs: what is known of each, and the columns that some have."""

from pathlib import Path

from report_inputs import make_run

from diacritic.report.inputs import Inputs, collect
from diacritic.report.run_table import view


def test_without_runs_there_is_no_table():
    assert view([]) is None


def test_a_line_has_rates_success_and_answers(inputs: Inputs):
    shown = view(inputs.runs)
    assert shown is not None
    assert shown["classes"] == ["side", "slot"]
    line = shown["lines"][0]
    assert (line["sufficient"], line["peak"], line["need"], line["success"]) == ("yes", 2.0, 2.0, 0.5)
    assert (line["how"], line["action_error_cm"], line["verdict"]["sole"]) == ("8 episodes", 1.25, "yes")
    assert line["interval"][0] < 0.5 < line["interval"][1]
    assert len({line["id"] for line in shown["lines"]}) == 4


def test_symbolic_success_is_exact(tmp_path: Path):
    make_run(tmp_path, 0, sufficient=False)
    shown = view(collect([str(tmp_path)]).runs)
    assert shown is not None
    line = shown["lines"][0]
    assert (line["success"], line["how"], line["interval"]) == (0.25, "exact, every history", None)
    assert line["surplus"] is None


def test_columns_that_say_nothing_are_left_out(tmp_path: Path, inputs: Inputs):
    own = tmp_path / "own"
    own.mkdir()
    make_run(own, 0)
    few, many = view(collect([str(own)]).runs), view(inputs.runs)
    assert few is not None
    assert many is not None
    assert not few["has"]["interval"]
    assert not few["has"]["action_error_cm"]
    assert all(many["has"].values())
