"""What is written, read back, checked and forged."""

import json
from pathlib import Path
from typing import Any

import pytest
from need_data import answered, recorded

from certify.errors import UserError
from diacritic.files.need import read_need, read_witnesses
from diacritic.need.card import card
from diacritic.need.check import check_witnesses
from diacritic.need.document import save
from diacritic.need.text import ranges, staircase, stretches

WORLD = "cues-2-of-2"


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Path]:
    need, witnesses = save(answered(WORLD), tmp_path)
    return need, witnesses


def test_documents_are_read_back(saved: tuple[Path, Path]):
    document = read_need(saved[0])
    assert document["answer"] == "memory needed"
    assert [decision["steps"] for decision in document["decisions"]] == [(14,), (18,)]
    assert [decision["shown"] for decision in document["decisions"]] == [(2, 3), (4, 5)]


def test_witnesses_are_verified(saved: tuple[Path, Path]):
    document = read_witnesses(saved[1])
    assert len(document["pairs"]) == 6
    assert check_witnesses(document, recorded(WORLD)) == []


def forged(document: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(document))
    copy["pairs"][0][name] = value
    return copy


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("distance", 0.0, "distance is"), ("nearer", 2.0, "nearer is"), ("action", 99.0, "action is")],
)
def test_a_forged_pair_is_noticed(saved: tuple[Path, Path], name: str, value: float, said: str):
    problems = check_witnesses(forged(read_witnesses(saved[1]), name, value), recorded(WORLD))
    assert len(problems) == 1
    assert f"{name} is" in problems[0]


def test_a_pair_of_one_class_is_noticed(saved: tuple[Path, Path]):
    document = read_witnesses(saved[1])
    document["decisions"][0]["classes"] = (0,) * 64
    assert any(
        "nearer is" in problem or "act alike" in problem for problem in check_witnesses(document, recorded(WORLD))
    )


def test_another_recording_is_refused(saved: tuple[Path, Path]):
    with pytest.raises(UserError, match="not the recording of these witnesses"):
        check_witnesses(read_witnesses(saved[1]), recorded(WORLD, 64, 1))


def test_rows_that_were_not_recorded_are_refused(saved: tuple[Path, Path]):
    document = read_witnesses(saved[1])
    document["decisions"][0]["rows"] = (999,) * 64
    with pytest.raises(UserError, match="rows that are not recorded"):
        check_witnesses(document, recorded(WORLD))


def test_a_broken_document_is_refused(saved: tuple[Path, Path]):
    document = json.loads(saved[0].read_text(encoding="utf-8"))
    saved[0].write_text(json.dumps({**document, "answer": "perhaps"}), encoding="utf-8")
    with pytest.raises(UserError, match="answer is 'perhaps'"):
        read_need(saved[0])


def test_the_card_names_steps_and_settings():
    text = card(answered(WORLD))
    assert "| D1 | 14 | 2 | 2–3 |" in text
    assert "`n_obs_steps=14`" in text


def test_ranges_and_stairs():
    assert ranges([2, 3, 4, 8]) == "3–5, 9"
    assert stretches([0, 2, 2, 1, 0]) == "2 bits at steps 2–3, then 1 bit at step 4"
    assert staircase([0, 2, 1]) == "·█▅"
