"""The page past the paper shows what the ledgers hold."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from study_rows import run_of

from certify.errors import UserError
from diacritic.files.ledger import Row, read_ledger
from diacritic.studies.results import Results
from diacritic.training.forgetting import REACHED
from reproduction.beyond_paper.cells import CELLS, FORGETTING
from reproduction.beyond_paper.confused import STUDY as CONFUSED
from reproduction.beyond_paper.figures import forgotten_lines
from reproduction.beyond_paper.page import (
    FIRST,
    FORGOTTEN,
    PICTURE,
    REACH,
    REVISED,
    ROBUST,
    TABLES,
    TRAINED,
    by_task,
    filled,
    forgetting,
    forgotten,
    write,
)
from reproduction.beyond_paper.revision_cells import ROBUST_CELLS
from reproduction.beyond_paper.robust_search import NAME as SEARCHED

ROOT = Path(__file__).parents[3]
MARKED = (*TABLES, REACH, FIRST, FORGOTTEN, REVISED, ROBUST, CONFUSED, SEARCHED)
MARKS = "".join(f"<!-- {name} -->\n<!-- end of {name} -->\nafter {name}\n" for name in MARKED)


def test_the_tables_are_those_of_the_ledgers() -> None:
    page = (ROOT / "docs" / "beyond_paper.md").read_text(encoding="utf-8")
    assert filled(page, ROOT / "results") == page


def test_policies_that_drift_succeed_as_often_as_the_page_says() -> None:
    ledgers, rows = Results.read(ROOT / "results"), dict[tuple[str, int], list[Row]]()
    for cell in ROBUST_CELLS:
        rows.setdefault((cell.task.title, cell.codes), []).extend(ledgers.runs(cell))
    near, far = (rows["weighing gap=6", 16], rows["weighing gap=20", 16])
    page = " ".join((ROOT / "docs" / "beyond_paper.md").read_text(encoding="utf-8").split())
    least = [min(row["success"] for row in some) for some in (near, far)]
    assert min(least) >= 0.95
    assert "the least is {:.3f} at gap 6 and {:.3f} at gap 20".format(*least) in page
    before = [row for row in ledgers.files["revision"] if (row["task"], row["seed"] // 100) == ("weighing gap=20", 3)]
    missed = [row for row in before if row["success"] < 0.95]
    assert [round(128 * row["success"]) for row in missed] == [121, 121]  # 122 would do
    assert "two of sixteen seeds of weighing at gap 20 below 0.95, each by one of 128 episodes" in page
    still = [row for (task, _), some in rows.items() if task.startswith(("two-cues", "full-reveal")) for row in some]
    assert len(still) == 88
    assert {row["success"] for row in still} == {1.0}
    short, enough = (
        [row["success"] for codes in sizes for row in rows["readout-3 modes=32", codes]]
        for sizes in ((8, 10, 12), (16, 24))
    )
    assert f"in {min(enough):.2f} to {max(enough):.2f} of its episodes with 16 and 24 codes" in page
    assert f"in {min(short):.2f} to {max(short):.2f} with 8 to 12" in page


def test_on_version_2_coins_keep_runs_from_forgetting() -> None:
    rows = [
        row["forgetting"]
        for row in Results.read(ROOT / "results").files["beyond-paper"]
        if (row["learner"], row.get("task_version")) == (FORGETTING, 2) and row["task"].startswith("two-cues")
    ]
    assert len(rows) == 40  # gaps 6, 10 and 20, and four classes with 16 and with 64 codes
    assert not any(row["changed"] for row in rows)
    assert {f"{row['inconsistent']:.2f}" for row in rows} == {"0.49", "0.50"}
    assert {row["right"] for row in rows} == {1.0}  # by heart


def test_sufficient_seeds_alone_have_a_surplus() -> None:
    rows = read_ledger(ROOT / "results" / "forgetting.jsonl")
    cell = next(iter(by_task(rows).values()))
    failed = [row | {"sufficient": False} for row in cell]
    assert forgetting(failed).endswith("| 0/8 | — | — |")


def test_runs_that_have_forgotten_stand_beside_plain_ones() -> None:
    after = next(cell for cell in CELLS if cell.learner == FORGETTING)
    plain = next(cell for cell in CELLS if replace(cell, learner=FORGETTING) == after)

    def last(rows: list[Row]) -> list[str]:
        return forgotten(Results({"some": rows}), [plain, after]).splitlines()[-1].strip("| ").split(" | ")

    assert last([])[:4] == [after.name, "development", "not run", "not run"]
    bits = [{"gap1": 0.0, "gap2": 2.25, "place": 1.0}, {"gap1": 0.03, "gap2": 0.0, "place": 0.0}]
    rows = [
        run_of(cell, seed, conditional_surplus=most, success=good, sufficient=seed > 0)
        for cell, most, good in ((plain, bits[0], 0.5), (after, bits[1], 1.0))
        for seed in range(8)
    ]
    assert last(rows)[2:] == ["7/8", "7/8", "2.250", "0.030", "0.50", "1.00"]
    assert last([row | {"conditional_surplus": {"gap1": None}} for row in rows])[4:6] == ["–", "–"]


def test_runs_of_another_version_are_marked_and_stand_beside_nothing_in_the_picture() -> None:
    after = next(cell for cell in CELLS if cell.learner == FORGETTING)
    plain = replace(after, learner="plain")
    bits = {"conditional_surplus": {"gap1": 0.0}}
    old = [run_of(plain, k, configuration=plain.digest_of(1), task_version=1, **bits) for k in range(8)]
    new = [run_of(cell, k, **bits) for cell in (plain, after) for k in range(8)]
    for rows, series, count in ((old + new[8:], {"after"}, "8/8 *v1*"), (new, {"before", "after"}, "8/8")):
        results = Results({"some": rows})
        assert forgotten_lines(results, [after])[after.name]["share of sufficient seeds"].keys() == series
        assert forgotten(results, [after]).splitlines()[-1].split(" | ")[2] == count


def test_forgetting_adds_nothing_to_the_picture() -> None:
    after = next(cell for cell in CELLS if cell.learner == FORGETTING)
    assert after not in TRAINED
    assert set(CELLS) - set(TRAINED) == {cell for cell in CELLS if cell.learner == FORGETTING}


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    assert list(by_task([{"task": "x 100"}, {"task": "x 9"}])) == ["x 9", "x 100"]


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(UserError, match="the page has no marks"):
        filled("nothing here", ROOT / "results")


def test_empty_marks_are_filled_and_what_stands_around_them_stays() -> None:
    page = filled(f"before\n{MARKS}", ROOT / "results")
    assert page.startswith("before\n")
    assert all(f"\n<!-- end of {name} -->\nafter {name}\n" in page for name in MARKED)
    assert filled(page, ROOT / "results") == page


def test_the_picture_is_drawn_once_a_run_says_when_it_first_passed(tmp_path: Path) -> None:
    page = tmp_path / "beyond_paper.md"
    page.write_text(MARKS, encoding="utf-8")
    for name in TABLES:
        (tmp_path / f"{name}.jsonl").write_text((ROOT / "results" / f"{name}.jsonl").read_text())
    write(tmp_path, tmp_path)
    assert "*Not run yet.*" in page.read_text(encoding="utf-8")
    assert not (tmp_path / PICTURE).exists()
    more = {"seconds": 1.0, "conditional_surplus": {}, "first_sufficient_step": 500}
    (tmp_path / "some.jsonl").write_text(json.dumps(run_of(CELLS[0], 0, **more)) + "\n")
    write(tmp_path, tmp_path)
    assert f"]({PICTURE.as_posix()})" in page.read_text(encoding="utf-8")
    assert CELLS[0].name in (tmp_path / PICTURE).read_text(encoding="utf-8")


def test_over_a_thousand_steps_those_who_fail_have_forgotten_nothing() -> None:
    """As the page says: they tell too few classes apart, and what they tell they keep."""
    rows = [row for row in read_ledger(ROOT / "results" / "beyond-paper.jsonl") if "bits=3 delay=1000" in row["cell"]]
    failed = [row for row in rows if row["learner"] == "plain" and not row["sufficient"]]
    assert failed
    for row in failed:
        (kept,) = set(row["rate"].values())
        assert kept < row["requirement"]["delay"] - 0.1
        assert not row["diverged"]


def test_with_as_many_codes_as_classes_those_who_fail_lack_a_code() -> None:
    """As the page says of readout-3 with eight codes: two classes share one, which costs a quarter of a bit."""
    rows = [row for row in read_ledger(ROOT / "results" / "beyond-paper.jsonl") if row["cell"].endswith("N=448 K=8")]
    failed = [row for row in rows if (row["learner"], row["preset"], row["sufficient"]) == ("plain", "carousel", False)]
    assert failed
    for row in failed:
        assert max(row["requirement"][gap] - row["rate"][gap] for gap in ("gap1", "gap2")) > 0.2
        assert not row["diverged"]


def forgetful(cell: str) -> list[Row]:
    """The runs of a cell that were to forget."""
    rows = read_ledger(ROOT / "results" / "beyond-paper.jsonl")
    return [row for row in rows if row["learner"] == FORGETTING and row["cell"].startswith(cell)]


def test_with_four_classes_sixteen_codes_are_too_few_and_64_enough() -> None:
    """As the page says of plain imitation, on version 2; forgetting changes none of these runs."""
    rows = read_ledger(ROOT / "results" / "beyond-paper.jsonl")
    passed = {
        (learner, codes): [
            row["sufficient"]
            for row in rows
            if row["cell"].startswith("two-cues classes=4") and row.get("task_version") == 2
            if (row["learner"], row["preset"], row["K"]) == (learner, "carousel", codes)
        ]
        for learner in ("plain", FORGETTING)
        for codes in (16, 64)
    }
    for learner in ("plain", FORGETTING):
        assert passed[learner, 16] == [False] * 8
        assert sorted(passed[learner, 64]) == [False] + [True] * 7


def test_runs_of_weighing_would_imitate_worse() -> None:
    notes = [row["forgetting"] for row in forgetful("weighing")]
    assert len(notes) == 16
    assert not any(note["changed"] for note in notes)
    assert all(note["inconsistent"] < 0.01 for note in notes)
    assert sum(note["reached"] > REACHED for note in notes) == 15
    assert all(after - before > 0.006 for before, after in (note["loss"] for note in notes))
    usual = [note["loss"] for note in notes if note["loss"][0] < 0.0002]
    assert len(usual) == 14
    assert all(after > 0.014 for _, after in usual)
    played = [row["success"] for row in forgetful("weighing gap=20")]
    assert (round(min(played), 2), round(max(played), 2)) == (0.16, 0.99)


def test_no_step_has_a_surplus_left_far_away() -> None:
    rows = [row for row in read_ledger(ROOT / "results" / "forgetting.jsonl") if row["kind"] == "far"]
    assert len({row["cell"] for row in rows}) == 11
    good = [row for row in rows if row["sufficient"]]
    assert good
    assert all(row["before"]["sufficient"] for row in good)
    assert max(row["largest_surplus"] for row in good) < 1e-9
