"""The attribution study on a short task: a leaning arm changes one verdict, a leak another, and rows are complete."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from expert_carrier import short_task
from measure_twin import store_run

from diacritic.demos.leaks import Cell
from diacritic.demos.record import record
from diacritic.files.ledger import read_ledger, write_ledger
from diacritic.measure import interventions_recorded
from diacritic.measure.recorded_run import Effort, examine_recorded
from diacritic.rollout.run_loading import groups
from diacritic.training import fit_transition
from diacritic.training.compress_recorded import forgotten
from reproduction import attribution
from reproduction.attribution import FITTED, LEAN, LEARNED, STUDY, LeaningGroup, Recording, row, section, train
from reproduction.beyond_paper.delays_page import between

ROOT = Path(__file__).parents[2]
LEAKING = "leak of 8 mm"
HIDDEN = Cell("gap2", "slot", "linear", "hidden", 60, 64, 0.5, (0.85, 0.98), 1e-9, 1e-8)


@pytest.fixture(scope="module")
def clean() -> Recording:
    demos, binner = record(short_task(), LEARNED + 24, seed=4)
    return Recording(short_task(), demos, binner, ())


def test_a_leaning_arm_is_found_and_a_straight_one_is_not(
    clean: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interventions_recorded, "PAIRS", 24)  # the carrier by hand is wide and slow
    (straight,) = groups([store_run(tmp_path / "run", clean.demos, LEARNED)])
    actual = {}
    for group in (straight, LeaningGroup(straight.runs, straight.binner)):
        (verdict,) = examine_recorded(group, clean.demos, Effort(16, 0, 0, 1), clean.probe)
        actual[type(group)] = verdict
    assert [verdict.sole.answer for verdict in actual.values()] == ["yes", "no"]
    assert all(verdict.sufficient.answer == "yes" for verdict in actual.values())
    assert actual[LeaningGroup].sole.because.startswith("body memory, slot in gap2: slot in gap2: class means ")
    (run,) = straight.runs
    run = replace(run, manifest=replace(run.manifest, seconds=0.0))
    rows = [row(cell, run, clean, verdict) for cell, verdict in zip(("straight", "lean"), actual.values(), strict=True)]
    write_ledger(tmp_path / "attribution.jsonl", rows)
    lean, upright = read_ledger(tmp_path / "attribution.jsonl")
    assert lean["apart_cm"]["slot in gap2"] == pytest.approx(100 * LEAN, abs=0.5)
    assert upright["apart_cm"]["slot in gap2"] < 0.5
    assert (lean["controls"]["body memory, slot in gap2"], lean["code_alone"], lean["gate"]) == (False, "no", "full")
    assert lean["requirement"] == pytest.approx({"gap1": 2.0, "gap2": 1.0}, abs=0.2)


def test_a_trained_bypass_is_refused_as_a_rate_and_a_leak_is_named(clean: Recording) -> None:
    leaky = Recording(clean.task, clean.demos, clean.binner, (HIDDEN,))
    group = train(leaky, "bypass", seeds=1, updates=2)
    (verdict,) = examine_recorded(group, leaky.demos, Effort(16, 0, 0, 1), leaky.probe)
    actual = row("bypass", group.runs[0], leaky, verdict)
    assert (actual["gate"], actual["surplus_answer"]) == ("behavioural", "not assessed")
    assert actual["surplus_because"] == "the code is not all that persists; a rate of it is refused"
    assert (actual["code_alone"], actual["controls"]["construction"]) == ("no", False)
    assert actual["controls"]["raw observations"] is False
    assert actual["leaks"] == {"slot in gap2, linear": 60 / 64}
    assert (actual["N"], actual["steps"], actual["seed"]) == (LEARNED, 2, 0)


def test_fitted_codes_take_no_update(clean: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = partial(forgotten, effort=fit_transition.Effort(steps=2, batch=64))
    monkeypatch.setattr(attribution, "forgotten", quick)
    (run,) = train(clean, FITTED, seeds=1, updates=2).runs
    assert (run.manifest.learner, run.manifest.steps) == (FITTED, 0)


def test_the_committed_runs_show_what_the_page_says() -> None:
    rows = read_ledger(ROOT / "results" / "attribution.jsonl")
    page = (ROOT / "docs" / "measure.md").read_text()
    assert between(page, STUDY, section(rows)) == page
    cells = {cell: [one for one in rows if one["cell"] == cell] for cell in {one["cell"] for one in rows}}
    assert cells.keys() == {"code alone", "bypass", LEAKING, "lean of 2 cm"}
    for one in rows:
        assert bool(one["leaks"]) == (one["cell"] == LEAKING)
        assert one["controls"]["raw observations"] is (one["cell"] != LEAKING)
        assert one["controls"]["construction"] is (one["cell"] != "bypass")
    short = []
    for one in cells["bypass"]:
        assert one["sufficient"]
        assert one["surplus_because"] == "the code is not all that persists; a rate of it is refused"
        assert one["controls"]["code swap, closed loop"] is one["controls"]["history shuffle, closed loop"] is False
        short.append(one["rate"]["gap1"] < one["requirement"]["gap1"] - 0.1)
    assert sum(short) == 2  # of three
    assert all(one["sufficient"] and one["success"] == 1 for cell in ("code alone", LEAKING) for one in cells[cell])
    assert [one["code_alone"] for one in cells["code alone"]] == ["yes", "no", "yes"]
    for straight, leaning in zip(cells["code alone"], cells["lean of 2 cm"], strict=True):
        assert straight["controls"]["body memory, slot in gap2"] is True
        assert leaning["controls"]["body memory, slot in gap2"] is False
