"""A cell's hash is of what decides its outcome, and a cell survives JSON."""

import json
from dataclasses import replace

import pytest

from certify.errors import UserError
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from diacritic.training.preset import PRESETS

CELL = Cell(
    "tiny",
    task("two-cues", gap=6),
    "plain",
    "carousel",
    "task",
    1e-3,
    10,
    ("some table", 0.5),
)


def test_the_reference_the_study_and_how_many_seeds_decide_nothing():
    assert replace(CELL, reference=None, study="other", seeds=4, first_seed=1).digest == CELL.digest


def test_a_preset_decides_by_its_numbers_not_by_its_name(monkeypatch: pytest.MonkeyPatch):
    before = CELL.digest
    monkeypatch.setitem(PRESETS, "carousel", replace(PRESETS["carousel"], rate=1.0))
    assert CELL.digest != before


@pytest.mark.parametrize(
    "change",
    [
        {"task": task("two-cues", gap=10)},
        {"learner": "plain+bfs"},
        {"preset": "release"},
        {"gate": "full"},
        {"beta": 0.0},
        {"steps": 11},
        {"demonstrations": 448},
        {"codes": 8},
        {"rate": 1e-3},
        {"auxiliary": 0.1},
        {"forecaster": 100},
        {"misled": 0.25},
        {"after": CELL},
        {"after": replace(CELL, learner="scaffold")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_everything_else_does(change):
    assert replace(CELL, **change).digest != CELL.digest


@pytest.mark.parametrize("change", [{"demonstrations": 448}, {"task": task("gap", gap2=3)}])
def test_demonstrations_of_their_own_are_drawn_from_a_model_and_counted(change):
    with pytest.raises(UserError, match="own_demonstrations: seeds draw"):
        replace(CELL, **change, own_demonstrations=True)


def test_where_it_starts_decides_and_takes_its_seeds():
    digests = {replace(CELL, after=replace(CELL, beta=beta)).digest for beta in (0.0, 1.0)}
    assert len(digests) == 2
    assert replace(CELL, after=CELL, seeds=3, first_seed=2).former == replace(CELL, seeds=3, first_seed=2)
    assert CELL.former is None


def test_an_addition_that_is_not_used_leaves_hashes_as_they_were():
    assert CELL.digest_of(1) == "ecc1ba8f764baed1"


def test_it_survives_json():
    for cell in (CELL, replace(CELL, reference=None), replace(CELL, after=CELL)):
        assert Cell.from_dict(json.loads(json.dumps(cell.to_dict()))) == cell


def test_names_tell_what_differs_from_the_usual():
    assert CELL.name == "two-cues gap=6 β=0.001"
    changed = replace(CELL, demonstrations=24, codes=8, rate=3e-4, auxiliary=0.1, forecaster=100, misled=0.25)
    assert changed.name == "two-cues gap=6 β=0.001 N=24 K=8 lr=0.0003 λ=0.1 forecaster=100 misled=0.25"
    assert replace(CELL, after=CELL).name == "two-cues gap=6 β=0.001 after=two-cues,gap=6,plain"
    assert list(replace(CELL, first_seed=8, seeds=2).run_seeds) == [8, 9]


def test_the_camera_of_the_release_decides_where_there_are_frames(monkeypatch: pytest.MonkeyPatch):
    blind = replace(CELL, preset="release")
    seeing = replace(blind, task=task("two-cues", gap=6, pixels=True))
    before = blind.digest, seeing.digest
    other = tuple(change for change in PRESETS["release"].changes if change[0] != "camera")
    assert other != PRESETS["release"].changes
    monkeypatch.setitem(PRESETS, "release", replace(PRESETS["release"], changes=other))
    assert blind.digest == before[0]  # rows without a camera stay what they were
    assert seeing.digest != before[1]
