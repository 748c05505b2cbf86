"""The tables and the picture are made from rows alone."""

import json
from pathlib import Path

from reproduction.need_study.page import tables, write_page
from reproduction.need_study.trials import VERSION

STAIR = {"part": "staircase", "family": "xor", "episodes": 64, "held_out": False, "frames_right": True, "seed": 0}
STAIR |= {"version": VERSION}
STAIR |= {"classes_right": 1.0, "stress": "none", "noise": 0.05, "strength": 1.0, "answer": "memory needed"}
ROWS = [
    STAIR | {"bits_right": True},
    STAIR | {"bits_right": False, "classes_right": 0.5, "seed": 1},
    STAIR | {"part": "control", "family": "coin", "answer": "cannot tell"},
    STAIR | {"part": "control", "family": "coin", "answer": "memory needed", "stress": "wrong-labels"},
    STAIR | {"part": "power", "bits_right": True},
    STAIR | {"part": "arm", "family": "weighing gap=6", "bits_right": False, "held_out": True},
    STAIR | {"part": "arm", "family": "weighing gap=6", "bits_right": True, "held_out": False},
]


def test_rows_are_counted():
    lines = tables(ROWS)
    assert "| 1 worlds, developed on | 64 | 1/2 | 2/2 | 1/2 |" in lines
    assert "| coin | 0 | 0 | 0 | 1 |" in lines
    assert "| weighing | 0/1 | 1/1 | 1/1 |" in lines
    assert "| all, wrong labels | 1 | 0 | 0 | 0 |" in lines


def test_the_page_is_renewed_between_its_marks(tmp_path: Path):
    (tmp_path / "need.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    page = tmp_path / "need.md"
    page.write_text("before\n<!-- need-study -->\nold\n<!-- end of need-study -->\nafter\n", encoding="utf-8")
    write_page(tmp_path, page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert "old" not in text
    assert (tmp_path / "images/need-power.svg").read_text(encoding="utf-8").startswith("<?xml")
