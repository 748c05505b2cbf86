"""One evaluation for every kind of run: the same keys, and the numbers of the parts that it is made of."""

import numpy as np
import pytest

from certify.zoo import build
from diacritic.measure.evaluate import (
    EpisodeTrace,
    Evaluation,
    evaluate_codes,
    evaluate_symbolic,
    evaluation_of,
    mean_over,
    plateaus,
)
from diacritic.measure.gates import THRESHOLD, full, judge_scores
from diacritic.measure.recorded import Classes, score_cohort
from diacritic.measure.scores import Requirement, latent_labels, scores
from diacritic.measure.windows import Windows
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.rollout.occupancy import teacher_forced

MODEL = build("memory-chain", bits=1, delay=3)
NEED = Requirement.of(MODEL)
CUE = np.array([0, 0, 1, 1])
CLASSES = Classes.of(np.stack([CUE, 2 + 0 * CUE, 3 + 0 * CUE]), np.stack([0 * CUE, 0 * CUE, 1 + CUE]))
WINDOWS = Windows({"gap": (1,)}, {"goal": 2})


def certified_machine() -> CodeMachine:
    from certify import certify

    machine = certify(MODEL).machine
    assert machine is not None
    return from_certified(machine, MODEL)


def forgetful() -> CodeMachine:
    """One code, and always the first action."""
    seen, acts = len(MODEL.graph.observations), len(MODEL.graph.actions)
    return CodeMachine(np.zeros((2, seen, acts + 1), np.int64), np.eye(acts)[np.zeros((1, seen), int)])


def episodes() -> EpisodeTrace:
    """Four episodes of as many steps, one of them wrong at the end."""
    right = np.ones((MODEL.horizon, 4), bool)
    right[-1, 3] = False
    codes = np.zeros((MODEL.horizon, 4), np.int64)
    return EpisodeTrace(codes, right, codes, np.full(4, 0.25), (0.5,) * MODEL.horizon)


def recorded(codes: np.ndarray, errors: dict[str, float] | None = None) -> Evaluation:
    windows, scored = WINDOWS.reported(CLASSES.required), score_cohort(codes[None], CLASSES)
    judged = evaluation_of(scored, 0, full(WINDOWS), windows, errors)
    if errors is None:
        (alone,) = evaluate_codes(codes[None], CLASSES, full(WINDOWS), windows)
        assert alone.row() == judged.row()
    return judged


@pytest.mark.parametrize("machine", [certified_machine(), forgetful()], ids=["certified", "forgetful"])
def test_a_machine_is_judged_by_its_exact_scores_and_closed_loop(machine: CodeMachine) -> None:
    evaluation = evaluate_symbolic(machine, NEED)
    steps, success = scores(teacher_forced(machine.greedy(), MODEL), NEED), closed_loop(machine.greedy(), MODEL).success
    assert evaluation.success == success
    assert evaluation.rate.tolist() == [step.rate for step in steps]
    for threshold in (0.5, THRESHOLD, 0.95):
        assert evaluation.judge(threshold) == judge_scores("external", steps, success, threshold)
    assert evaluation.judgement == evaluation.judge(THRESHOLD)
    assert evaluation.sufficient == (machine.codes > 1)


def test_an_unproved_requirement_fails_the_gate_by_name() -> None:
    unproved = Requirement(MODEL, NEED.relations, (None,) * MODEL.horizon)
    steps = scores(teacher_forced(certified_machine(), MODEL), unproved)
    assert all(step.requirement is not None for step in steps)  # classes prove it: nothing depends on the statement
    evaluation = evaluate_symbolic(certified_machine(), NEED)
    nobody = Evaluation(
        evaluation.judgement,
        evaluation.windows,
        evaluation.rate,
        np.where(np.arange(len(evaluation.rate)) == 2, np.nan, evaluation.requirement),
        evaluation.decision,
        evaluation.sufficiency,
        evaluation.instantaneous,
        evaluation.conditional_surplus,
        gate=evaluation.gate,
        success=1.0,
        error=evaluation.error,
    )
    assert nobody.judge(THRESHOLD).failures[0] == "step 3: the requirement is not proved"


def test_what_is_not_a_machine_is_judged_by_its_episodes() -> None:
    evaluation = evaluate_symbolic(episodes(), NEED)
    assert (evaluation.success, evaluation.sufficient) == (0.75, False)
    assert evaluation.judgement.failures == ("success 0.750",)
    assert evaluation.judge(0.5) is evaluation.judgement
    row = evaluation.row()
    assert row["kl_bits"] == {"steps 3–4": 0.5}
    assert row["scores"] == {"steps 3–4": {"S_Gamma": None, "S_G": None}}


def test_codes_on_recorded_episodes() -> None:
    good, bad = recorded(np.stack([CUE] * 3)), recorded(np.zeros((3, 4), int))
    assert good.sufficient
    assert good.row()["rate"] == good.row()["requirement"] == {"gap": 1.0}
    assert not bad.sufficient
    assert bad.row()["surplus"] == {"gap": -1.0}
    assert bad.judgement.failures[0].startswith("gap: score 0")


def test_a_readout_is_judged_by_its_decisions() -> None:
    actual = recorded(np.zeros((3, 4), int), {"goal": 0.0})
    assert actual.sufficient
    assert not actual.judge(THRESHOLD).passed  # what the code alone would get
    assert recorded(np.stack([CUE] * 3), {"goal": 0.25}).judgement.failures == ("goal: 0.250 of the classes wrong",)


def test_every_kind_of_run_leaves_the_same_keys() -> None:
    common = set(recorded(np.stack([CUE] * 3)).row()) - {"corrected_rate"}
    assert {"sufficient", "failures", "success", "scores", "rate", "requirement", "surplus", "profile"} <= common
    for trace in (certified_machine(), episodes()):
        assert common <= set(evaluate_symbolic(trace, NEED).row())


def test_what_a_code_tells_of_hidden_values() -> None:
    labels = {"cue": latent_labels(MODEL)}
    row = evaluate_symbolic(certified_machine(), NEED, labels=labels).row()
    assert row["information"] == {"steps 3–4": {"cue": 1.0}}
    assert evaluate_symbolic(forgetful(), NEED, labels=labels).row()["information"] == {"steps 3–4": {"cue": 0.0}}


def test_rows_of_machines_tell_scores_surplus_and_information_of_every_step() -> None:
    row = evaluate_symbolic(certified_machine(), NEED, labels={"cue": latent_labels(MODEL)}).row()
    assert row["sufficiency_profile"][2:4] == [1.0, 1.0]
    assert row["surplus_profile"][2:4] == [0.0, 0.0]
    assert row["information_profile"]["cue"][2:4] == [1.0, 1.0]
    lost = evaluate_symbolic(forgetful(), NEED, labels={"cue": latent_labels(MODEL)}).row()
    assert lost["sufficiency_profile"][2:4] == [0.0, 0.0]
    assert lost["information_profile"]["cue"][2:4] == [0.0, 0.0]


def test_plateaus_are_stretches_of_equal_requirement() -> None:
    assert plateaus([0.0, 1.0, 1.0, 2.0, None, 2.0]) == {"steps 2–3": (1, 2), "step 4": (3,), "step 6": (5,)}


def test_a_mean_over_steps_that_are_not_all_defined_is_none() -> None:
    assert mean_over(np.array([1.0, 2.0]), (0, 1)) == 1.5
    assert mean_over(np.array([1.0, np.nan]), (0, 1)) is None
    assert mean_over(np.array([1.0]), ()) is None
