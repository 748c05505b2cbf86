"""Teacher-forced traces: machines where a code is all that is remembered, episodes otherwise."""

from functools import cache

import numpy as np
import pytest
from carrier_twin import TINY
from expert_carrier import short_task
from measure_twin import store_run

from certify.zoo import build
from diacritic.demos.record import record
from diacritic.measure.evaluate import EpisodeTrace, evaluate_symbolic
from diacritic.measure.scores import Requirement
from diacritic.measure.trace import sufficient, symbolic_traces, teacher_forced
from diacritic.memory.shape import Architecture
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.run_loading import groups
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model

MODEL = build("memory-chain", bits=1, delay=3)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("plain", CodeMachine), ("gru-8", EpisodeTrace), ("bypass", EpisodeTrace), ("gaussian", EpisodeTrace)],
)
def test_every_learner_leaves_a_trace_that_can_be_evaluated(name: str, kind: type) -> None:
    plan = Plan(learner(name), preset("carousel"), (Run(0), Run(1)), 4, TINY)
    cohort = Cohort(plan, from_model(MODEL))
    cohort.advance(2)
    actual = symbolic_traces(cohort, MODEL)
    assert [type(trace) for trace in actual] == [kind, kind]
    rows = [evaluate_symbolic(trace, Requirement.of(MODEL)).row() for trace in actual]
    assert all(0 <= row["success"] <= 1 for row in rows)
    assert ("kl_bits" in rows[0]) == (name == "gaussian")
    for run, row in enumerate(rows):
        assert row["variation_profile"] == pytest.approx(_variations(cohort, run), abs=6e-4)


def _variations(cohort: Cohort, run: int) -> list[float]:
    """Half the sum of differences between the policy's law and the expert's, episode by episode."""
    trace, data = cohort.trace(sampled=False), cohort.data
    logits = trace.actions if trace.actions is not None else trace.read("act")
    laws = trace.steps(logits).softmax(-1)[run].tolist()
    return [
        sum(
            float(data.weight[n]) * sum(abs(mine - theirs) for mine, theirs in zip(law, told, strict=True)) / 2
            for n, (law, told) in enumerate(zip(laws[t], data.target[t].tolist(), strict=True))
        )
        for t in range(data.horizon)
    ]


def test_a_fresh_recording_is_read_with_the_symbols_of_the_first(tmp_path) -> None:
    demos = record(short_task(), 24, seed=4)[0]
    (group,) = groups([store_run(tmp_path / "run", demos, 16)])
    own = teacher_forced(group.policies(), demos, group.task)
    again = teacher_forced(group.policies(), demos, group.task, demos.symbol_names)
    assert own.codes.shape == (1, demos.steps, demos.episodes)
    assert np.array_equal(own.codes, again.codes)
    errors = own.decision_errors(group.task)
    assert {name: error.tolist() for name, error in errors.items()} == {name: [0.0] for name in group.task.decisions}


CHAIN = build("memory-chain", bits=1, delay=2)
EIGHT = Architecture(codes=8, code_size=6, width=16)


@cache
def _learned(name: str, steps: int) -> Cohort:
    # A small carrier learns a small task fastest with large steps.
    plan = Plan(learner(name), preset("carousel"), tuple(Run(seed, rate=3e-3) for seed in (1, 3, 4)), steps, EIGHT)
    cohort = Cohort(plan, from_model(CHAIN))
    cohort.advance(steps)
    return cohort


def test_what_has_learned_passes_and_what_has_not_does_not() -> None:
    model = CHAIN
    requirement = Requirement.of(model)
    for gate in ("full", "external"):
        assert sufficient(_learned("plain", 200), model, requirement, gate) == [True, True, True]
        assert sufficient(_learned("plain", 0), model, requirement, gate) == [False, False, False]
        assert sufficient(_learned("non-persistent", 200), model, requirement, gate) == [False, False, False]


def test_a_run_without_numbers_is_a_machine_that_fails() -> None:
    runs = (Run(1), Run(2, code_scale=float("nan")))
    plan = Plan(learner("plain"), preset("carousel"), runs, 10, EIGHT)
    cohort = Cohort(plan, from_model(CHAIN))
    cohort.advance(2)
    assert sufficient(cohort, CHAIN, Requirement.of(CHAIN), "full")[1] is False
