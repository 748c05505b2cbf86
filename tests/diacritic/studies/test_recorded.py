"""What is measured of a cohort: the gates by name, sufficiency by behaviour, and codes that move with the policy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from exchanged import PLAIN, exported

from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.measure.recorded import Classes, score_cohort
from diacritic.measure.resolution import GRIDS
from diacritic.measure.trace import RecordedTrace, teacher_forced
from diacritic.rollout.closed_loop import Rollouts
from diacritic.studies.cell import GateName
from diacritic.studies.recorded import (
    Measured,
    ScoredTrace,
    gate_of,
    measure,
    own_scores,
    player_of,
    reported,
    scored,
    sole_carrier,
)
from diacritic.studies.recordings import recording
from diacritic.studies.tasks import task
from diacritic.tasks.registry import make as make_task
from diacritic.training.worker import Result, read_result, train_folder

TASK = make_task("two-cues", gap=1, first_gap=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("measured")


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    (train_job,), _ = exported([PLAIN], folder / "x", folder / "demos")
    train_folder(folder / "x", folder / "back")
    actual = read_result(train_job, folder / "back")
    assert actual is not None
    return actual


@pytest.fixture(scope="module")
def measured(folder: Path, result: Result) -> Measured:
    demos, fresh = (recording(PLAIN, folder / "demos", fresh=fresh) for fresh in (False, True))
    return measure(result, demos, fresh, 0)


def with_codes(trace: ScoredTrace, whole: Demos, codes: np.ndarray) -> ScoredTrace:
    """The same episodes, had the runs shown these codes."""
    classes = Classes.of(whole.symbols, whole.choices).take(slice(whole.episodes - trace.demos.episodes, None))
    return replace(trace, codes=codes, scores=score_cohort(codes, classes))


def test_perfect_codes_pass_and_empty_ones_fail(measured: Measured, folder: Path):
    def best(trace: ScoredTrace) -> np.ndarray:
        code = trace.demos.latents["side"] + 2 * trace.demos.latents["slot"]
        codes = np.broadcast_to(code, (2, *trace.demos.symbols.shape)).copy()
        codes[1] = 0
        return codes

    judged = replace(
        measured,
        held_out=with_codes(measured.held_out, recording(PLAIN, folder / "demos"), best(measured.held_out)),
        recorded=with_codes(measured.recorded, measured.recorded.demos, best(measured.recorded)),
        fresh=with_codes(measured.fresh, measured.fresh.demos, best(measured.fresh)),
    )
    gates: tuple[GateName, ...] = ("task", "full", "relaxed")
    for gate in gates:
        good, bad = judged.row(0, gate), judged.row(1, gate)
        for row, passed in ((good, True), (bad, False)):
            assert [row[f"{where}sufficient"] for where in ("", "recorded_", "fresh_")] == [passed] * 3
            assert row["recorded_rate"].keys() == row["fresh_rate"].keys() == row["rate"].keys()
    row = judged.row(0, "task")
    assert row["scores"]["gap2"] == {"S_Gamma": 1.0, "S_G": 1.0}
    assert row["rate"]["gap2"] > row["requirement"]["gap2"]
    assert row["surplus"]["gap2"] == pytest.approx(row["rate"]["gap2"] - row["requirement"]["gap2"], abs=1e-6)
    assert row["conditional_surplus"]["gap2"] == pytest.approx(row["surplus"]["gap2"], abs=1e-6)


def test_the_first_sufficient_step_is_that_of_the_first_passing_codes(measured: Measured):
    nothing, steps = measured.held_out.scores, measured.result.steps
    perfect = replace(nothing, sufficiency=np.ones_like(nothing.rate), instantaneous=np.ones_like(nothing.rate))
    on_the_way = dict.fromkeys(steps, nothing) | {steps[1]: perfect}
    assert replace(measured, on_the_way=on_the_way).row(0, "task")["first_sufficient_step"] == steps[1]
    assert replace(measured, on_the_way=dict.fromkeys(steps, nothing)).row(0, "task")["first_sufficient_step"] is None


def test_a_memory_that_only_reads_out_a_code_is_judged_by_behaviour(measured: Measured):
    trace = replace(measured.held_out, errors={"side": np.array([0.0, 0.0]), "slot": np.array([0.04, 0.06])})
    assert trace.passes(gate_of(TASK, "task"), by_behaviour=True).tolist() == [True, False]
    notes = {**measured.result.notes, "architecture": {**measured.result.notes["architecture"], "memory": "gru"}}
    assert sole_carrier(measured.result)
    assert not sole_carrier(replace(measured.result, notes=notes))


def test_imitation_errors_are_told_by_phase(measured: Measured):
    rng = np.random.default_rng(0)
    each = rng.random(measured.held_out.imitation.shape)
    told = replace(measured, held_out=replace(measured.held_out, imitation=each)).row(1, "task")["imitation_error"]
    assert told.keys() == {"all", *TASK.phases}
    for phase in told.keys() - {"all"}:
        assert told[phase] == pytest.approx(each[1, list(TASK.phase_steps(phase))].mean(), abs=1e-6)
    assert told["all"] == pytest.approx(each[1].mean(), abs=1e-6)


def test_imitation_errors_are_in_standard_deviations_of_the_action(measured: Measured):
    demos, scale = measured.held_out.demos, player_of(measured.result).scale
    apart = np.zeros((2, *demos.actions.shape), np.float32)
    apart[1, 3] = 2 * scale.action_deviation.numpy()  # at step 3, every component
    trace = RecordedTrace(demos, measured.held_out.codes, demos.actions + apart)
    actual = scored(trace, Classes.of(demos.symbols, demos.choices), measured.task, scale).imitation
    expected = np.zeros((2, demos.steps))
    expected[1, 3] = 4
    assert actual == pytest.approx(expected, abs=1e-4)


def test_decisions_on_episodes_that_were_learned_from_stand_beside_those_on_others(
    measured: Measured, folder: Path, result: Result
):
    demos, N = recording(PLAIN, folder / "demos"), result.train_job.demonstrations
    alone = teacher_forced(player_of(result), demos.take(slice(None, N)), measured.task, demos.symbol_names)
    expected = alone.decision_errors(measured.task)
    rows = [measured.row(k, "task") for k in range(2)]
    assert [row["decision_error_learned"]["slot"] for row in rows] == expected["slot"][:2].tolist()
    assert rows[0]["decision_error"].keys() == rows[0]["decision_error_learned"].keys()


def test_where_nothing_is_displayed_the_expert_weighs_for_the_policy(folder: Path):
    cell = replace(PLAIN, task=task("weighing", gap=1, hold=1, episodes=16), demonstrations=8, seeds=1)
    (train_job,), _ = exported([cell], folder / "w", folder / "demos")
    train_folder(folder / "w", folder / "w-back")
    result = read_result(train_job, folder / "w-back")
    assert result is not None
    demos = recording(cell, folder / "demos")
    measured = measure(result, demos, demos, 2, threads=1)
    assert measured.loop is not None
    assert measured.hybrid is not None
    assert (measured.loop.takeover, measured.hybrid.takeover) == (0, measured.task.phase_steps("gap1")[0])
    assert measured.hybrid.error[:, : measured.hybrid.takeover].max() == 0  # the expert drove
    row = measured.row(0, "task")
    assert row["hybrid"].keys() == {"success", "side", "slot", "action_error_cm"}
    assert row["hybrid"]["side"] == measured.hybrid.outcome["side"][0].mean()
    assert "scan" in row["imitation_error"]


def test_gates_by_name():
    assert gate_of(TASK, "relaxed").averaged
    assert gate_of(make_task("hidden-mass"), "task").name == "slot at use"
    with pytest.raises(UserError, match="judges symbolic tasks"):
        gate_of(TASK, "external")


def test_windows_hold_the_decision_that_ends_them():
    required = [1.0] * TASK.horizon
    windows = reported(TASK, required)
    assert windows["gap1"][-1] == TASK.decisions["side"]
    assert windows["grasp"] == tuple(TASK.phase_steps("grasp"))


def played(demos: Demos, codes: np.ndarray) -> Rollouts:
    """Policies that bring about the very episodes of a recording."""
    runs, _, episodes = codes.shape
    right = np.ones((runs, episodes), bool)
    symbols = np.broadcast_to(demos.symbols, codes.shape)
    outcome, error = {"success": right, "side": right, "slot": right}, np.zeros(codes.shape)
    seen, done = (np.repeat(values[None], runs, 0) for values in (demos.observations, demos.actions))
    hidden = dict(demos.latents)
    return Rollouts(outcome, ("side", "slot"), error, codes, symbols, seen, done, hidden, hidden, 0, 0.0, 0.0)


def test_own_occupancy_is_judged_by_the_same_gate(measured: Measured, folder: Path):
    demos = recording(PLAIN, folder / "demos")
    whole = Classes.of(demos.symbols, demos.choices)
    code = demos.latents["side"] + 2 * demos.latents["slot"]
    codes = np.broadcast_to(code, (2, *demos.symbols.shape)).copy()
    codes[1] = 0
    loop = played(demos, codes)
    judged = replace(measured, own=own_scores(loop, demos, whole))
    assert [judged.row(k, "task")["own_sufficient"] for k in (0, 1)] == [True, False]
    assert measured.row(0, "task")["own_sufficient"] is None
    unknown = replace(loop, latents={name: values + 7 for name, values in demos.latents.items()})
    assert own_scores(unknown, demos, whole) == []
    assert own_scores(replace(loop, symbols=None), demos, whole) == []


def test_rates_are_told_with_their_correction_and_on_finer_grids(measured: Measured):
    row = measured.row(0, "task")
    for window, bits in row["rate"].items():
        assert row["corrected_rate"][window] >= bits
    finest, bits = min(GRIDS), dict(zip(GRIDS, row["resolution"], strict=True))
    assert all(bits[finest] <= more + 1e-9 for more in bits.values())  # every other cell is made of finest ones
