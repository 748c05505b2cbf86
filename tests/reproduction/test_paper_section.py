"""Our cells beside the paper's: verdicts, scoreboard and rates are those of the ledgers."""

from pathlib import Path

from report_inputs import HOSTILE, ledger_row, make_ledger

from diacritic.report.inputs import collect
from reproduction import paper_section
from reproduction.catalogue import STUDIES
from reproduction.compare import compare
from reproduction.paper import paper_count


def test_without_anything_to_show_there_is_no_section():
    assert paper_section.view({}) is None


def test_cells_that_no_study_declares_are_shown_without_a_reference(tmp_path: Path):
    shown = paper_section.view(collect([str(make_ledger(tmp_path / "toys.jsonl"))]).ledgers)
    assert shown is not None
    cells = {row["cell"]: (row["ours"][:2], row["reference"], row["verdict"]) for row in shown["cells"]}
    assert cells == {
        "gap gap2=15": ([8, 8], None, "not in the paper"),
        "gap gap2=6": ([8, 8], None, "not in the paper"),
        HOSTILE: ([1, 4], None, "not in the paper"),
    }
    board = {line["study"]: (line["cells"], line["counts"]["not in the paper"]) for line in shown["scoreboard"]}
    assert board == {"blocks": (2, 2), "maze": (1, 1), "all": (3, 3)}


def test_a_declared_study_is_judged_as_its_page_is_and_shows_what_was_not_run():
    declared = STUDIES["community"]
    cell = next(cell for cell in declared.cells if paper_count(cell) and cell.learner == "plain")
    given = {"study": "community", "preset": cell.preset, "steps": cell.steps, "gate": cell.gate}
    given["configuration"] = cell.digest
    rows = [ledger_row(cell.name, seed, True, **given) for seed in cell.run_seeds]
    measured = {"community": [{"figure": "of nobody", "value": {"low": 1.0, "high": 1.0}}]}
    shown = paper_section.view({"community": rows}, measured)
    assert shown is not None
    expected = compare(declared, rows)
    assert shown["scoreboard"][-1]["counts"] == dict(expected.counts)
    (mine,) = [line for line in shown["cells"] if line["ours_text"] == "8/8"]
    assert (mine["cell"], mine["verdict"]) == (cell.name, expected.cells[declared.cells.index(cell)].verdict.kind)
    assert shown["scoreboard"][-1]["counts"]["not run"] > 10


def test_rates_are_drawn_against_what_their_window_requires(tmp_path: Path):
    shown = paper_section.view(collect([str(make_ledger(tmp_path / "toys.jsonl"))]).ledgers)
    assert shown is not None
    assert sorted(point[:4] for point in shown["rates"]["points"]) == [[1.0, 1.5, False, 3], [1.0, 1.5, True, 17]]
