"""The cohort on the page: curves, intervals, strips and usage are those of the runs."""

import pytest

from diacritic.report import cohort
from diacritic.report.charts import BAD, GOOD, INK
from diacritic.report.inputs import Inputs


def test_without_anything_to_show_there_is_no_section():
    assert cohort.view(Inputs(), {}) is None


def test_every_seed_stands_over_the_requirement_and_failed_ones_are_red(inputs: Inputs):
    shown = cohort.view(inputs, {})
    assert shown is not None
    required, good, failed = shown["charts"][0]["data"]
    assert (required["line"]["color"], required["y"][3]) == (INK, 2.0)
    assert (good["line"]["color"], good["name"], good["text"][0]) == (
        GOOD,
        "sufficient (3)",
        "plain, seed 0, plain, seed 1, plain, seed 3",
    )
    assert (failed["line"]["color"], failed["line"]["dash"], failed["name"]) == (BAD, "dash", "failed (1)")
    assert "3 of them are sufficient" in shown["charts"][0]["label"]


def test_the_sufficiency_table_has_wilson_intervals(inputs: Inputs):
    shown = cohort.view(inputs, {})
    assert shown is not None
    (row,) = shown["table"]
    assert (row["passed"], row["judged"], row["peak"], row["need"]) == (3, 4, 2.0, 2.0)
    assert (row["low"], row["high"]) == pytest.approx((0.300642, 0.954413), abs=1e-6)
    assert row["surplus"] == pytest.approx(4 / 11)


def test_film_strips_are_shown_of_so_many_runs_at_most(inputs: Inputs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cohort, "MOST_RUNS", 3)
    shown = cohort.view(inputs, {})
    assert shown is not None
    assert (len(shown["strips"]), shown["hidden"]) == (3, 1)
    bars = shown["usage"]["data"]
    assert sum(trace["y"][0] for trace in bars) == pytest.approx(1, abs=1e-3)


def test_unreadable_codes_leave_a_strip_out(inputs: Inputs):
    (inputs.runs[0].path / "codes.npz").write_bytes(b"no archive")
    shown = cohort.view(inputs, {})
    assert shown is not None
    assert len(shown["strips"]) == 3
    assert "codes.npz" in inputs.left_out[-1].place
