"""Revision: confused states by hand and by brute force, and the codes that demonstrations ask for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Model
from certify.core.requirement import Requirement
from certify.zoo import build
from diacritic.measure.evaluate import evaluate_symbolic
from diacritic.measure.plugin import conditional_entropy
from diacritic.measure.trace import symbolic_traces
from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.forgetting import ExpertTrace, cohort_traces, merge_codes
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.revision import conflicts, demanded, expert_actions, histories, revise, revised, without_chance
from diacritic.training.symbolic import from_model


def cue_then_choice(codes: list[list[int]]) -> ExpertTrace:
    """Two episodes: a cue at step 0, a wait, and a choice by the cue at step 2."""
    symbols, behaviour = np.array([[1, 2], [0, 0], [3, 3]]), np.array([[0, 0], [0, 0], [1, 2]])
    return ExpertTrace(np.array(codes), symbols, np.zeros_like(symbols), behaviour, np.array([0.75, 0.25]))


def test_a_conflict_says_when_episodes_parted_and_where_that_was_lost() -> None:
    (never,) = conflicts(cue_then_choice([[5, 5], [5, 5], [5, 5]]))
    assert (never.step, never.symbol, never.code, never.share) == (2, 3, 5, 0.25)
    assert (never.episodes, never.parted, never.merged) == ((0, 1), 0, None)
    assert "25.0% of the episodes" in str(never)
    assert "was never encoded" in str(never)
    (lost,) = conflicts(cue_then_choice([[4, 6], [5, 5], [5, 5]]))
    assert lost.merged == 1
    assert "was lost at step 1" in str(lost)
    assert conflicts(cue_then_choice([[5, 5], [5, 5], [5, 6]])) == []


traces = st.integers(1, 4).flatmap(
    lambda T: st.integers(1, 6).flatmap(
        lambda N: st.tuples(
            *(st.lists(st.lists(st.integers(0, 2), min_size=N, max_size=N), min_size=T, max_size=T) for _ in range(4))
        )
    )
)


@settings(max_examples=30)
@given(traces)
def test_confused_states_are_those_of_a_pairwise_search(arrays: tuple[list[list[int]], ...]) -> None:
    codes, symbols, previous, behaviour = (np.array(array) for array in arrays)
    # An expert acts alike after equal histories: otherwise nothing parts two episodes.
    past = histories(previous * (symbols.max() + 1) + symbols)
    behaviour = np.stack([behaviour[t][[row.tolist().index(k) for k in row]] for t, row in enumerate(past)])
    trace = ExpertTrace(codes, symbols, previous, behaviour, np.full(codes.shape[1], 1 / codes.shape[1]))
    T, N = codes.shape
    slow = {
        (t, int(symbols[t, a]), int(codes[t, a]))
        for t in range(T)
        for a in range(N)
        for b in range(N)
        if (symbols[t, a], codes[t, a]) == (symbols[t, b], codes[t, b]) and behaviour[t, a] != behaviour[t, b]
    }
    assert {(one.step, one.symbol, one.code) for one in conflicts(trace)} == slow
    for one in conflicts(trace):
        a, b = one.episodes
        words = trace.words
        assert (words[: one.parted, a] == words[: one.parted, b]).all()
        assert words[one.parted, a] != words[one.parted, b]


@settings(max_examples=30)
@given(traces)
def test_histories_number_prefixes(arrays: tuple[list[list[int]], ...]) -> None:
    words = np.array(arrays[0])
    for t, row in enumerate(histories(words)):
        prefixes = [tuple(words[: t + 1, n]) for n in range(words.shape[1])]
        assert all((row[a] == row[b]) == (p == q) for a, p in enumerate(prefixes) for b, q in enumerate(prefixes))


def test_chance_asks_for_no_memory() -> None:
    trace = replace(cue_then_choice([[5, 5]] * 3), symbols=np.array([[1, 1], [0, 0], [3, 3]]))
    free = without_chance(trace).free
    assert free is not None
    assert free.tolist() == [[False, False], [False, False], [True, True]]
    demand = demanded(without_chance(trace))
    assert demand is not None
    assert demand.coding.codes == 1


def cohort(
    model: Model,
    demonstrations: int | None = None,
    steps: int = 0,
    codes: int = 16,
    seeds: int = 2,
    name: str = "plain+revision",
) -> Cohort:
    plan = Plan(
        learner(name),
        preset("carousel"),
        tuple(Run(seed) for seed in range(seeds)),
        max(1, steps),
        Architecture(codes=codes),
    )
    cohort = Cohort(plan, from_model(model, demonstrations))
    cohort.advance(steps)
    return cohort


@pytest.mark.parametrize(
    ("name", "parameters", "demonstrations"),
    [("running-parity", {"horizon": 5}, 4096), ("memory-chain", {"bits": 2, "delay": 6}, None), ("gap", {}, None)],
)
def test_an_untrained_run_gets_the_codes_that_its_demonstrations_ask_for(
    name: str, parameters: dict[str, int], demonstrations: int | None
) -> None:
    """The parity of fair coins among them, of which no gradient says anything."""
    model = build(name, **parameters)
    before = cohort(model, demonstrations)
    need = Requirement.of(model)
    after = revise(before)
    assert all(after.changed)
    for machine in symbolic_traces(after.cohort, model):
        judged = evaluate_symbolic(machine, need)
        assert judged.sufficient
        assert max(rate - (bits or 0) for rate, bits in zip(judged.rate, need.bits, strict=True)) < 1e-6


def test_nothing_drifts_on_a_finite_task_where_robust_revision_is_revision() -> None:
    model = build("memory-chain", bits=1, delay=3)
    names = ("plain+revision", "plain+robust-revision")
    one, other = (revise(cohort(model, steps=20, name=name)).cohort.parameters for name in names)
    assert all(one[name].equal(other[name]) for name in one)


def test_a_run_that_confuses_nothing_forgets_as_before() -> None:
    run = cohort(build("memory-chain", bits=1, delay=3), steps=300, seeds=1)
    (own,) = cohort_traces(run)
    expert = expert_actions(run.data, own)
    assert conflicts(expert) == []
    new, merged = revised(own, expert, 16), merge_codes(own, 16)
    assert new is not None
    assert merged is not None
    assert (new.codes == merged.codes).all()


def test_runs_of_one_recording_can_share_what_its_demonstrations_ask_for() -> None:
    run = cohort(build("memory-chain", bits=2, delay=2))
    own = cohort_traces(run)
    own[1] = replace(own[1], codes=(own[1].codes + 3) % 16)
    experts = [expert_actions(run.data, one) for one in own]
    assert all(conflicts(one) for one in experts)
    shared = demanded(experts[0])
    for both in zip(own, experts, strict=True):
        alone, together = revised(*both, 16), revised(*both, 16, demand=lambda: shared)
        assert alone is not None
        assert together is not None
        assert (alone.codes == together.codes).all()


def test_with_too_few_codes_a_run_stays_as_it_is() -> None:
    before = cohort(build("memory-chain", bits=2, delay=2), codes=3)
    after = revise(before)
    assert after.merged == [None, None]
    assert after.changed == [False, False]


def test_what_is_asked_for_is_what_is_certified() -> None:
    model = build("signpost-corridor", M=4, hall1=2, hall2=2)
    run = cohort(model, seeds=1)
    expert = expert_actions(run.data, cohort_traces(run)[0])
    demand = demanded(expert)
    assert demand is not None
    rates = [conditional_entropy(c, o, expert.weight) for c, o in zip(demand.codes, expert.symbols, strict=True)]
    assert rates == pytest.approx([bits or 0 for bits in Requirement.of(model).bits], abs=1e-9)
