"""What the catalogue computes itself: flags from rows, requirements from the acceptance ledger, latencies, slopes."""

from dataclasses import replace

import pytest
from study_rows import run_of

from diacritic.studies.results import Results
from diacritic.training.learner import LEARNERS
from reproduction.catalogue import (
    cost,
    dual,
    forecaster,
    gate_and_estimator,
    hidden_mass,
    leak_audit,
    pixels,
    requirements,
    settings,
    weighing,
)
from reproduction.reference import block
from reproduction.verdicts import Count, Range


def figure(figures, name: str):
    return next(one for one in figures if one.name.startswith(name))


def test_settings_are_read_from_the_code_that_uses_them():
    for asked in settings.STUDY.figures:
        assert asked.measured is not None
        assert asked.verdict(asked.measured()).kind == "agrees", asked.name


@pytest.mark.parametrize(
    ("error", "rate", "held", "flags"),
    [(0.0, 0.5, 1.0, ("A",)), (0.2, 0.5, 0.1, ()), (0.0, 1.5, 0.5, ("B′",)), (0.0, 1.5, None, ())],
)
def test_flags_are_raised_from_a_row(error, rate, held, flags):
    actual = {"decision_error": {"slot": error}, "rate": {"gap2": rate}, "scores": {"gap2": {"S_Gamma": held}}}
    assert leak_audit.evidence({**actual, "sufficient": True}).flags == flags
    if not error:
        assert "B" in leak_audit.evidence({**actual, "sufficient": False}).flags


def acceptance(dataset: str, gap1: float):
    bits = {"gap1": [gap1, gap1], "gap2": [1.0], "place": [1.0, 0.0]}
    return {"dataset": dataset, "flaw": None, "certificate": {"requirement": bits}}


def test_requirements_wait_for_all_recordings_and_must_agree():
    asked = figure(requirements.STUDY.figures, "two cues: first gap")
    names = ("two-cues-gap6", "two-cues-gap10", "two-cues-gap20")
    whole = Results({"acceptance": [acceptance(name, 2.0) for name in names]})
    assert asked.verdict(asked.ours(whole, "requirements")).kind == "agrees"
    part = Results({"acceptance": [acceptance(name, 2.0) for name in names[:2]]})
    assert asked.ours(part, "requirements") is None
    odd = Results({"acceptance": [acceptance(name, k) for k, name in enumerate(names)]})
    assert asked.ours(odd, "requirements") is None


def test_the_least_score_of_a_run_decides_at_every_threshold():
    cell = hidden_mass.CELLS[0]
    whole = {"S_Gamma": 1.0, "S_G": 1.0}
    scores = [{"gap": {"S_Gamma": least, "S_G": None}, "end": whole} for least in (1.0, 0.85, 0.2)]
    results = Results({"x": [run_of(cell, seed, scores=own) for seed, own in enumerate(scores)]})
    asked = {figure.name: figure for figure in gate_and_estimator.STUDY.figures}
    own = [asked[f"runs whose least score is above {least}"].ours(results, "") for least in (0.8, 0.9, 0.95)]
    assert own == [Count(2, 3), Count(1, 3), Count(1, 3)]
    assert asked["passing runs whose every score is above 0.999"].ours(results, "") == Count(1, 1)


def test_the_slope_is_that_of_the_widest_codebooks():
    rows = []
    for cell in hidden_mass.widest():
        bits = 0.5 + 0.75 * (dict(cell.task.parameters)["modes"].bit_length() - 1)
        rows += [run_of(cell, seed, rate={"grasp": bits}) for seed in cell.run_seeds]
    actual = hidden_mass.slope(Results({"x": rows}))
    assert isinstance(actual, Range)
    assert actual.low == pytest.approx(0.75)
    assert hidden_mass.slope(Results({"x": rows[9:]})) is None  # seven of sixteen seeds


def test_held_out_seeds_are_the_last_eight():
    (cell,) = [one for one in pixels.CELLS if one.learner == "event-agnostic"]
    rows = [run_of(cell, seed, sufficient=seed in (0, 1, 9)) for seed in cell.run_seeds]
    assert pixels.held_out("event-agnostic")(Results({"x": rows})) == Count(1, 8)
    assert pixels.held_out("event-agnostic")(Results({"x": rows[:-1]})) is None


def test_a_step_takes_time_and_the_student_is_small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cost, "_TIMED", 4)
    monkeypatch.setattr(cost, "_WARM", 2)
    for learner in ("plain", "gru-128", "full-history"):
        actual = cost.milliseconds(learner, 4)
        assert isinstance(actual, Range)
        assert 0 < actual.low < 1000
    student = figure(cost.STUDY.figures, "compact student: millions")
    assert student.measured is not None
    actual = student.measured()
    assert isinstance(actual, Range)
    assert 0.05 < actual.low < 0.5


def test_shared_cells_are_one_run():
    first, second = leak_audit.CELLS[0], replace(leak_audit.CELLS[0], study="another")
    assert first.digest == second.digest


def test_second_carriers_have_as_many_codes_as_in_the_paper():
    for cell, entry in zip(dual.STUDY.cells, block("table.dual")["rows"], strict=True):
        assert dict(LEARNERS[cell.learner].changes).get("identification") == entry.get("K_id")
        assert dict(LEARNERS[cell.learner].changes).get("detached", False) == ("stop" in entry["configuration"])


def test_short_and_misled_forecasters_are_counted_on_fresh_episodes():
    cells = [cell for cell in forecaster.STUDY.cells if cell.forecaster or cell.misled]
    assert [(cell.forecaster, cell.misled) for cell in cells] == [
        *((steps, 0.0) for steps in (300, 100, 30)),
        *((None, share) for share in (0.05, 0.1, 0.2)),
    ]
    rows = []
    for k, cell in enumerate(cells):
        fresh = [seed <= k for seed in cell.run_seeds]
        rows += [run_of(cell, seed, fresh_sufficient=fresh[seed], slot=0.5 + seed / 100) for seed in cell.run_seeds]
    rows[0]["diverged"] = True
    actual = [asked.ours(Results({"x": rows}), "forecaster") for asked in forecaster.STUDY.figures]
    assert actual[:6] == [Count(0, 8), *(Count(k + 1, 8) for k in range(1, 6))]
    assert all(isinstance(slot, Range) and slot.low == pytest.approx(0.535) for slot in actual[6:])
    assert forecaster.STUDY.figures[0].ours(Results({"x": rows[1:]}), "forecaster") is None


def test_hybrid_rollouts_are_of_the_sufficient_runs():
    informed = [cell for cell in weighing.CELLS if cell.learner == "task-informed-start" and cell.demonstrations == 448]
    (cell,) = [cell for cell in informed if dict(cell.task.parameters)["gap"] == 20]
    rows = [
        run_of(cell, seed, sufficient=seed > 1, hybrid={"side": 0.1 if seed < 2 else 0.9, "success": 0.3})
        for seed in cell.run_seeds
    ]
    side = figure(weighing.STUDY.figures, "hybrid rollout of the sufficient runs, gap 20: side")
    own = side.ours(Results({"x": rows}), "weighing")
    assert isinstance(own, Range)
    assert own.low == own.high == pytest.approx(0.9)
    assert side.ours(Results({"x": rows[1:]}), "weighing") is None


def test_errors_in_the_weighing_block_stretch_over_both_gaps():
    cells = [one for one in weighing.CELLS if one.learner == "sysid"]
    rows = [
        run_of(cell, seed, imitation_error={"scan": 0.1 * (k + 1), "all": 9.0})
        for k, cell in enumerate(cells)
        for seed in cell.run_seeds
    ]
    asked = figure(weighing.STUDY.figures, "squared action error in the weighing block, system-id")
    one = asked.ours(Results({"x": rows}), "weighing")
    assert isinstance(one, Range)
    assert (one.low, one.high) == pytest.approx((0.1, 0.2))
    assert asked.ours(Results({"x": rows[:8]}), "weighing") is None
