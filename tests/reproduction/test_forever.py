"""The studies of every horizon: cases, limits, rows and pages."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from counting_tables import counting_table

from certify.errors import UserError
from certify.sources import pomdp
from diacritic.rollout.forever import stationary_machine
from diacritic.tasks.named import named_model, named_process
from reproduction.commands.forever import Forever
from reproduction.forever import EXPERTS, Limited, answer_row, cases
from reproduction.forever_page import page, renewed
from reproduction.forever_training import FAMILIES, forget_for_ever, section

ROOT = Path(__file__).parents[2]
TIGER = Path(pomdp.__file__).parent / "data" / "tiger.pomdp"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("tiger.pomdp", "copy.pomdp"):
        shutil.copy(TIGER, tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a world")
    (tmp_path / "chain.templ").write_text("dtmc\n")
    return tmp_path


def test_every_file_is_asked_once_with_all_experts(folder: Path):
    assert [expert for _, expert in cases(folder)] == list(EXPERTS)


def test_rows_and_the_page(folder: Path, tmp_path: Path):
    out, text = tmp_path / "rows.jsonl", tmp_path / "page.md"
    assert Forever(folder, out, text, seconds=100, jobs=2).run() == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["expert"] for row in rows} == set(EXPERTS)
    by_expert = {row["expert"]: row for row in rows}
    assert by_expert["policy graph"]["certified"]
    assert by_expert["policy graph"]["upper"] == by_expert["policy graph"]["lower"]
    assert all(row["seconds"] >= 0 and row["file"].endswith(".pomdp") for row in rows)
    assert "| Cassandra, policy graph | 1 | 1 |" in text.read_text()
    before = out.read_text()
    assert Forever(folder, out, None).run() == 0
    assert out.read_text() == before, "what has a row is not run again"


def test_a_refused_file_has_a_reason(tmp_path: Path):
    path = tmp_path / "broken.pomdp"
    path.write_text("discount: 0.9\n")
    assert "reason" in answer_row(path, EXPERTS[0])
    assert "broken" in page([{"file": "broken.pomdp", "expert": EXPERTS[0], "reason": "why", "seconds": 0.0}])


def test_time_and_memory_are_limited():
    assert Limited(lambda: {"upper": 1.0}, 10).row()["upper"] == 1.0

    def forever() -> dict[str, float]:
        while True:
            pass

    assert Limited(forever, 1).row() == {"reason": "more than 1 s"}
    assert "GB" in Limited(lambda: {"upper": float(len(bytearray(2**40)))}, 10).row()["reason"]


def test_marks_that_a_page_lacks_are_named():
    assert renewed("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n", "x", ["new"]) == (
        "a\n<!-- x -->\nnew\n<!-- end of x -->\nb\n"
    )
    with pytest.raises(UserError, match="lacks the marks"):
        renewed("a", "x", [])


def test_the_committed_pages_show_the_committed_rows():
    rows = [json.loads(line) for line in (ROOT / "results/forever.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (ROOT / "docs/for_ever_files.md").read_text(encoding="utf-8") == page(rows)
    trained = (ROOT / "results/forever-training.jsonl").read_text(encoding="utf-8").splitlines()
    text = (ROOT / "docs/for_ever.md").read_text(encoding="utf-8")
    assert renewed(text, "forever-training", section([json.loads(line) for line in trained])) == text


def test_families_are_the_beginnings_of_their_processes():
    assert len(FAMILIES) == 6
    for family in FAMILIES:
        assert family.model.horizon <= 20
        shown = {family.model.graph.observations[k] for k in range(len(family.model.graph.observations))}
        assert set(family.process.observations) <= shown


def test_codes_are_merged_for_ever_where_nothing_that_follows_parts_them():
    words = "forever:counter", ("horizon=5", "modulus=2")
    process, model = named_process(*words), named_model(*words)
    machine = stationary_machine(counting_table(model, 8), model.graph)
    merged = forget_for_ever(machine, process, model.graph)
    assert len(np.unique(merged)) == 2
    for (observation, code), law in machine.laws.items():
        if observation in ("0", "1"):
            assert law == machine.laws[observation, int(merged[code, model.observation_index[observation]])]
