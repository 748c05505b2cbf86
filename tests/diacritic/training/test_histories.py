"""Distinct histories against every step of every episode: losses, gradients, and what a trace says of each step."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import symbols
from hypothesis import given, settings
from hypothesis import strategies as st

from certify.zoo import build
from diacritic.memory.shape import Architecture
from diacritic.training import histories
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model

NAMES = (
    *("gru-code", "fsq", "lfq", "gru-8", "gru-chrono", "min-gru", "lru", "s5", "selective"),
    *("bistable", "registers", "transformer", "full-history", "frames-1", "frames-4", "frames-16"),
)
SMALL = Architecture(codes=16, code_size=4, width=8, state_size=8)


def _pass(cohort: Cohort) -> list[torch.Tensor]:
    """Losses, gradients, and what heads and losses read of every step."""
    trace = cohort.trace(cohort.episode_weight())
    losses = torch.stack([term.loss(trace, cohort.data, cohort.schedule) for term in cohort.plan.terms])
    values = list(cohort.parameters.values())
    gradients = torch.autograd.grad(losses.sum(), values, allow_unused=True)
    filled = [torch.zeros_like(x) if g is None else g for x, g in zip(values, gradients, strict=True)]
    acted = trace.steps(trace.read("act") if trace.actions is None else trace.actions)
    return [losses, acted, trace.step_features, trace.step_embedding, trace.step_code.double(), *filled]


@settings(max_examples=60)
@given(
    T=st.integers(1, 6),
    N=st.integers(1, 6),
    S=st.integers(1, 3),
    observations=st.integers(1, 3),
    actions=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    name=st.sampled_from(NAMES),
    how=st.sampled_from(["carousel", "release-external"]),
)
def test_it_is_every_step_of_every_episode(
    T: int, N: int, S: int, observations: int, actions: int, seed: int, name: str, how: str
) -> None:
    data = symbols(T, N, seed, observations=observations, actions=actions)
    runs = tuple(Run(seed + k) for k in range(S))
    plan = Plan(learner(name), preset(how), runs, 10, SMALL, precision=torch.float64)
    fast, slow = Cohort(plan, data), Cohort(replace(plan, engine="reference"), data)
    assert (fast.engine, slow.engine) == ("histories", "reference")
    for mine, wanted in zip(_pass(fast), _pass(slow), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-9, atol=1e-11)


def test_episodes_share_what_they_have_in_common() -> None:
    repeats = histories.prepare(from_model(build("memory-chain", bits=2, delay=3)))
    assert repeats.token.shape == (4, 8)
    assert repeats.counts == (4, 4, 4, 8)
    assert [parent is None for parent in repeats.parents] == [True, True, True, False]


def test_a_short_window_sees_few_histories_of_a_long_wait() -> None:
    data = from_model(build("memory-chain", bits=2, delay=30))
    every, few = histories.prepare(data), histories.prepare(data, 3)
    assert len(every.last) == 30 * 4 + 8
    assert few.windows is not None
    assert len(few.last) == len({tuple(row) for row in few.windows.tolist()}) < 40
    shown = torch.nn.functional.pad(few.shown, (0, 0, 2, 0), value=len(few.inputs.observation))
    for t, tokens in enumerate(few.token):
        assert torch.equal(few.windows[tokens], shown[t : t + 3].T)


@pytest.mark.parametrize("name", ["event-agnostic", "gaussian"])
def test_other_learners_take_every_step(name: str) -> None:
    plan = Plan(learner(name), preset("carousel"), (Run(1),), 10, SMALL)
    assert Cohort(plan, symbols(4, 3)).engine != "histories"
