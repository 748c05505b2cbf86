"""Rows of ledgers as series: the right rows, means over sufficient seeds, shares with Wilson intervals."""

from pathlib import Path

import pytest
from report_inputs import ledger_row

from certify.errors import UserError
from diacritic.files.ledger import write_ledger
from reproduction.figure_series import Rows, about, means, parameters, rate, shares, widest


def row(modes: int, seed: int, sufficient: bool, bits: float, **more: object) -> dict:
    rate = {"rate": {"grasp": bits}, "information": {"grasp": {"I(C;mass|slot)": bits / 2}}}
    return ledger_row(f"hidden-mass modes={modes}", seed, sufficient, **{**rate, **more})


ROWS = [
    row(4, 0, True, 1.0),
    row(4, 1, True, 2.0),
    row(4, 2, False, 9.0),
    row(16, 0, True, 3.0),
    row(16, 1, False, 5.0, K=64, preset="release"),
]


def test_means_are_over_sufficient_seeds_unless_all_are_asked_for():
    four, sixteen = means(ROWS, "modes", rate("grasp"))
    assert (four.x, four.y, four.below, four.runs) == (4, 1.5, pytest.approx(0.5**0.5), 2)
    assert (sixteen.y, sixteen.above, sixteen.runs) == (3.0, 0.0, 1)
    assert [point.y for point in means(ROWS, "modes", rate("grasp"), every=True)] == [4.0, 4.0]
    assert means(ROWS, "modes", rate("place")) == []
    assert [point.y for point in means(ROWS, "modes", about("grasp", "mass"))] == [0.75, 1.5]


def test_shares_have_wilson_intervals():
    four, _ = shares(ROWS, "modes")
    assert four.y == pytest.approx(2 / 3)
    assert (four.y - four.below, four.y + four.above) == pytest.approx((0.207655, 0.938510), abs=1e-5)


def test_rows_are_found_by_task_learner_and_fields():
    rows = Rows("x", [*ROWS, {"dataset": "no run"}])
    assert len(rows.where("hidden-mass", "plain")) == 4  # of two presets the carousel's
    assert len(rows.where("hidden-mass", ("plain", "sysid"), modes=4, beta=0.01)) == 3
    assert rows.where("hidden-mass", "plain", modes=8) == rows.where("hidden") == []
    assert rows.wanted("hidden-mass", "plain", modes=8) == []
    with pytest.raises(
        UserError, match="figure x: no ledger holds runs on hidden-mass with plain, modes=8; `python -m"
    ):
        rows.not_run()
    assert len(rows.wanted("hidden-mass", "plain")) == 4
    assert rows.not_run() == "hidden-mass with plain, modes=8"


def test_a_run_that_two_studies_list_is_one_run(tmp_path: Path):
    run = {"cell": "a", "learner": "plain", "preset": "carousel", "steps": 1, "gate": "task", "configuration": "c"}
    for study in ("one", "two"):
        write_ledger(tmp_path / f"{study}.jsonl", [{**ROWS[0], **run, "seed": seed, "study": study} for seed in (0, 1)])
    assert [row["seed"] for row in Rows.read("x", tmp_path).rows] == [0, 1]


def test_the_largest_codebook_of_each_place():
    assert [(r["task"], r["K"]) for r in widest(ROWS, "modes")][3:] == [("hidden-mass modes=16", 64)]


def test_parameters_are_the_numbers_of_a_title():
    assert parameters({"task": "stochastic-expert p=7/10 K=8 x=0.5"}) == {"K": 8.0, "x": 0.5}


def test_a_folder_without_ledgers_is_said(tmp_path: Path):
    with pytest.raises(UserError, match="holds no ledger"):
        Rows.read("x", tmp_path)
    write_ledger(tmp_path / "a.jsonl", ROWS)
    assert len(Rows.read("x", tmp_path).rows) == 5
