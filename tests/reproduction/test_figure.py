"""Figures are derived from ledgers, or measured once, kept and found again."""

from pathlib import Path

import pytest

from diacritic.studies.results import Results
from reproduction.__main__ import main
from reproduction.figure import Figure, measure
from reproduction.verdicts import Count, Profile, Range, Value, value

VALUES: list[Value] = [Count(3, 8), Range(0.5, 2.0), Profile((1.0, 0.25)), value(True)]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_measured_value_is_found_again(value: Value, tmp_path: Path):
    asked = Figure("what", "ksweep", value, measured=lambda: value)
    assert asked.verdict(asked.ours(Results.read(tmp_path), "s")).kind == "not run"
    assert measure("s", [asked], tmp_path) == tmp_path / "figures" / "s.jsonl"
    again = asked.ours(Results.read(tmp_path), "s")
    assert again == value
    assert type(again) is type(value)
    assert asked.verdict(again).kind == "agrees"
    assert asked.ours(Results.read(tmp_path), "another study") is None


def test_what_cannot_be_measured_leaves_no_file(tmp_path: Path):
    figures = [Figure("a", "ksweep", value(1), measured=lambda: None), Figure("b", "ksweep", value(1))]
    assert measure("s", figures, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_measured_here_stays_as_it_was(tmp_path: Path):
    measured: dict[str, Value | None] = {"a": value(1), "b": value(2), "gone": value(3)}

    def figures(*names: str) -> list[Figure]:
        return [Figure(name, "ksweep", value(1), measured=lambda name=name: measured[name]) for name in names]

    measure("s", figures("a", "b", "gone"), tmp_path)
    measured |= {"a": None, "b": value(5)}
    measure("s", figures("a", "b"), tmp_path)
    stored = Results.read(tmp_path)
    assert [figure.ours(stored, "s") for figure in figures("a", "b", "gone")] == [value(1), value(5), None]


def test_a_derived_value_reads_the_ledgers():
    asked = Figure("rows", "ksweep", value(2), derived=lambda results: value(len(results.files["x"])))
    assert asked.verdict(asked.ours(Results({"x": [{}, {}]}), "s")).kind == "agrees"
    assert asked.verdict(asked.ours(Results({"x": []}), "s")).kind == "differs"


def test_the_command_measures_and_refuses_unknown_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["figures-measure", "leak-audit", "--results", str(tmp_path)]) == 0
    assert "leak-audit.jsonl" in capsys.readouterr().out
    assert main(["figures-measure", "nothing", "--results", str(tmp_path)]) == 2
    assert "no study is called 'nothing'" in capsys.readouterr().err
