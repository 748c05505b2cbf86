"""Gates on codes whose defects are known: each gate fails on exactly the defect it looks for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rollout_twin import random_machine

from certify import certify
from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.gates import (
    Gate,
    Symbolic,
    external,
    full,
    judge_scores,
    kept,
    relaxed,
    score_arrays,
    t_maze,
    task_gate,
)
from diacritic.measure.recorded import Classes, CohortScores, score_cohort
from diacritic.measure.scores import Requirement, StepScore, scores
from diacritic.measure.windows import Windows, derived_windows
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import from_certified
from diacritic.rollout.occupancy import teacher_forced
from diacritic.tasks.registry import make as make_task

# both classes at step 0, gap, side decided, gap, slot decided
SIDE, SLOT = np.array([0, 0, 1, 1] * 4), np.array([0, 1, 0, 1] * 4)
BOTH, NONE = 2 * SIDE + SLOT, 0 * SIDE
SYMBOLS = np.stack([BOTH, *(np.full(16, 10 + t) for t in range(1, 7))])
CHOICES = np.stack([NONE, NONE, NONE, 1 + SIDE, NONE, NONE, 3 + SLOT])
WINDOWS = Windows({"gap1": (1, 2), "gap2": (4, 5)}, {"side": 3, "slot": 6}, {"place": (6,)})
CODES = {
    "perfect": np.stack([BOTH, BOTH, BOTH, BOTH, SLOT, SLOT, SLOT]),
    "collapsed": np.zeros((7, 16), int),
    "late": np.stack([BOTH, NONE, NONE, BOTH, SLOT, SLOT, SLOT]),
    "no side": np.stack([SLOT] * 7),
    "forgets the slot": np.stack([BOTH, BOTH, BOTH, BOTH, NONE, NONE, NONE]),
    "sleeps once": np.stack([BOTH, BOTH, BOTH, BOTH, NONE, SLOT, SLOT]),
}


@pytest.fixture(scope="module")
def cohort_scores() -> CohortScores:
    return score_cohort(np.stack(list(CODES.values())), Classes.of(SYMBOLS, CHOICES))


def passing(gate: Gate, scores: CohortScores) -> set[str]:
    return {
        name for name, good in zip(CODES, gate.passes(scores.sufficiency, scores.instantaneous), strict=True) if good
    }


def test_each_gate_fails_on_what_it_looks_at(cohort_scores: CohortScores) -> None:
    assert passing(full(WINDOWS), cohort_scores) == {"perfect"}
    assert passing(relaxed(WINDOWS), cohort_scores) == {"perfect", "late", "no side"}
    assert passing(kept(WINDOWS, "gap2"), cohort_scores) == {"perfect", "late", "no side"}
    assert passing(Gate.of("weighing", {"gap1": (1, 2)}, {"side": 3}), cohort_scores) == {
        "perfect",
        "forgets the slot",
        "sleeps once",
    }


def test_a_judgement_names_what_failed(cohort_scores: CohortScores) -> None:
    late = list(CODES).index("late")
    verdict = full(WINDOWS).judge(cohort_scores.sufficiency[late], cohort_scores.instantaneous[late])
    assert not verdict.passed
    assert verdict.failures == ("gap1: score 0.000",)
    assert verdict.parts == pytest.approx({"gap1": 0, "gap2": 1, "side decision": 1, "slot decision": 1})
    assert verdict.least == 0


def test_the_external_gate_asks_for_success_and_the_t_maze_for_the_right_action(cohort_scores: CohortScores) -> None:
    perfect = cohort_scores.sufficiency[0], cohort_scores.instantaneous[0]
    assert external(WINDOWS).judge(*perfect, success=0.99).passed
    assert external(WINDOWS).judge(*perfect, success=0.98).failures == ("success 0.980",)
    wrong = [0.0] * 6 + [0.25]
    assert t_maze(WINDOWS).judge(*perfect, error=[0.0] * 7).passed
    assert t_maze(WINDOWS).judge(*perfect, error=wrong).failures == ("step 7: wrong action with probability 0.25",)
    collapsed = cohort_scores.sufficiency[1], cohort_scores.instantaneous[1]
    assert not external(WINDOWS).judge(*collapsed, success=1.0).passed
    assert len(t_maze(WINDOWS).judge(*collapsed, error=[0.0] * 7).failures) == 2
    for gate, missing in ((external(WINDOWS), "closed-loop success"), (t_maze(WINDOWS), "wrong action")):
        with pytest.raises(UserError, match=missing):
            gate.judge(*perfect)
        with pytest.raises(UserError, match="judge the runs one by one"):
            gate.passes(*perfect)


scored = st.lists(st.sampled_from([0.0, 0.5, 0.85, 0.9, 0.92, 0.96, 0.9995, 1.0, float("nan")]), min_size=4, max_size=4)


@given(st.lists(st.tuples(scored, scored), min_size=1, max_size=6), st.booleans())
def test_passes_are_those_of_the_definition(runs: list[tuple[list[float], list[float]]], averaged: bool) -> None:
    gate = Gate.of("some", {"early": (0, 1), "late": (2,)}, {"use": 3}, averaged=averaged)

    def least(run: tuple[list[float], list[float]]) -> float:
        parts = [[run[0][0], run[0][1]], [run[0][2]], [run[1][3]]]
        defined = [[v for v in part if v == v] for part in parts]
        return min((sum(p) / len(p) if averaged else min(p) for p in defined if p), default=1.0)

    expected = [least(run) for run in runs]
    memory, now = (np.array(rows) for rows in zip(*runs, strict=True))
    assert gate.least(memory, now) == pytest.approx(expected)
    assert gate.passes(memory, now).tolist() == [value > 0.9 for value in expected]


def test_scores_without_proof_count_as_none() -> None:
    model = build("gap")
    step_scores = scores(teacher_forced(random_machine(model, 2, 0), model))
    memory, now = score_arrays(step_scores)
    needed = [s.requirement is not None and s.requirement > 1e-9 for s in step_scores]
    assert (~np.isnan(memory)).tolist() == needed
    assert (~np.isnan(now)).tolist() == [s.decision > 1e-9 for s in step_scores]
    unproved = score_arrays([replace(step_scores[0], requirement=None, sufficiency=None)])[0]
    assert unproved.tolist() == [0]
    windows = derived_windows([s.requirement for s in step_scores], [s.decision for s in step_scores])
    assert not full(windows).passes(memory, now)


GOOD = StepScore(1, 1.0, 1.0, 0.0, 0.95, None, 0.0, 0.0, 0.0)
IDLE = replace(GOOD, t=2, requirement=0.0, sufficiency=None)
TURN = replace(GOOD, t=3, decision=1.0, instantaneous=0.95)
UNPROVED = replace(GOOD, requirement=None, sufficiency=None)


@pytest.mark.parametrize(
    ("gate", "steps", "success", "failure"),
    [
        ("full", [GOOD, IDLE, TURN], 1.0, None),
        ("full", [replace(GOOD, sufficiency=0.9), IDLE, TURN], 1.0, "steps 1–1: score 0.900"),
        ("full", [GOOD, IDLE, replace(TURN, instantaneous=0.9)], 1.0, "step 3 decision: score 0.900"),
        ("full", [GOOD, IDLE, replace(TURN, error=0.2)], 0.0, None),
        ("full", [UNPROVED, IDLE, TURN], 1.0, "step 1: the requirement is not proved"),
        ("t-maze", [GOOD, IDLE, TURN], 0.0, None),
        ("t-maze", [GOOD, IDLE, replace(TURN, error=0.01)], 1.0, "step 3: wrong action with probability 0.01"),
        ("t-maze", [replace(GOOD, error=0.5), IDLE, TURN], 1.0, None),
        ("t-maze", [GOOD, IDLE, replace(TURN, sufficiency=0.5)], 1.0, "steps 3–3: score 0.500"),
        ("external", [GOOD, IDLE, TURN], 0.99, None),
        ("external", [GOOD, IDLE, TURN], 0.98, "success 0.980"),
        ("external", [replace(GOOD, sufficiency=0.2), IDLE, TURN], 1.0, "steps 1–1: score 0.200"),
    ],
)
def test_each_symbolic_gate_fails_on_what_it_names(
    gate: Symbolic, steps: list[StepScore], success: float, failure: str | None
) -> None:
    judgement = judge_scores(gate, steps, success)
    assert judgement.gate == gate
    assert judgement.passed == (failure is None)
    assert judgement.failures[:1] == (() if failure is None else (failure,))


def literal_verdict(gate: Symbolic, steps: list[StepScore], success: float) -> bool:
    """Each gate step by step, as the paper words it."""
    needed = [s for s in steps if s.requirement is None or s.requirement > 1e-9]
    decided = [s for s in steps if s.decision > 1e-9]
    kept = all(s.sufficiency is not None and s.sufficiency > 0.9 for s in needed)
    if gate == "t-maze":
        return kept and all(s.error == 0 for s in decided)
    if gate == "full":
        return kept and all((s.instantaneous or 0.0) > 0.9 for s in decided)
    return kept and success >= 0.99


score = st.sampled_from([0.0, 0.5, 0.9, 0.91, 1.0])


@st.composite
def step_scores(draw: st.DrawFn) -> list[StepScore]:
    """Scores are there exactly where something is required and proved, or decided."""
    scores = []
    for t in range(draw(st.integers(1, 6))):
        need, law = draw(st.sampled_from([None, 0.0, 1e-12, 0.3])), draw(st.sampled_from([0.0, 1e-12, 1.0]))
        value = draw(score) if need is not None and need > 1e-9 else None
        now = draw(score) if law > 1e-9 else None
        error = draw(st.sampled_from([0.0, 0.0, 0.1]))
        scores.append(StepScore(t + 1, 1.0, need, law, value, now, 0.0, 0.0, error))
    return scores


@given(step_scores(), st.sampled_from(["t-maze", "external", "full"]), st.sampled_from([0.0, 0.98, 0.99, 1.0]))
def test_symbolic_gates_are_those_of_the_definition(steps: list[StepScore], gate: Symbolic, success: float) -> None:
    assert judge_scores(gate, steps, success).passed == literal_verdict(gate, steps, success)


def test_machines_are_judged_by_the_definition() -> None:
    model = build("cue-corridor", L=2)
    requirement = Requirement.of(model)
    machines = [from_certified(certify(model).machine, model), *(random_machine(model, 4, k) for k in range(20))]
    verdicts = []
    for machine in (one.greedy() for one in machines):
        steps, success = scores(teacher_forced(machine, model), requirement), closed_loop(machine, model).success
        gates: tuple[Symbolic, ...] = ("t-maze", "external", "full")
        verdicts.append([judge_scores(gate, steps, success).passed for gate in gates])
        assert verdicts[-1] == [literal_verdict(gate, list(steps), success) for gate in gates]
    assert verdicts[0] == [True] * 3
    assert [False] * 3 in verdicts


@pytest.mark.parametrize(
    ("name", "gate", "parts"),
    [
        ("two-cues", "full", {"gap1", "gap2", "side decision", "slot decision"}),
        ("readout-3", "full", {"gap1", "gap2", "side decision", "slot decision"}),
        ("hidden-mass", "slot at use", {"slot decision"}),
        ("weighing", "weighing", {"gap1", "side decision"}),
    ],
)
def test_every_task_has_its_gate(name: str, gate: str, parts: set[str]) -> None:
    task = make_task(name)
    scores_: NDArray[np.float64] = np.ones(task.horizon)
    judged = task_gate(task).judge(scores_, scores_)
    assert judged.gate == gate
    assert judged.parts.keys() == parts
    assert judged.passed


def test_gates_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError, match="relaxed gate: the task has no second window"):
        relaxed(replace(WINDOWS, memory={"gap1": (0, 1)}))
    with pytest.raises(UserError, match="full gate: the window 'gap' has no steps"):
        Gate.of("full", {"gap": ()}, {})
    with pytest.raises(UserError, match="the window 'gap' leaves the 3 steps"):
        Gate.of("full", {"gap": (3,)}, {}).least(np.ones(3), np.ones(3))
    with pytest.raises(UserError, match="each step needs both scores"):
        Gate.of("full", {"gap": (0,)}, {}).least(np.ones(3), np.ones(4))
    with pytest.raises(UserError, match="gate: unknown gate 'tmaze'; expected t-maze, external, full"):
        judge_scores("tmaze", [GOOD])  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match="'gap3' is unknown; there are gap1, gap2"):
        kept(WINDOWS, "gap3")
