"""Symbolic tasks by table look-up, against the loop: codes, losses and gradients."""

from dataclasses import replace
from functools import partial

import torch
from carrier_twin import LEARNERS, NARROW, TABLE, TINY, assert_engine_agrees, lively, symbols
from hypothesis import given, settings
from hypothesis import strategies as st

from diacritic.memory import sole_carrier
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.training import reference, tables
from diacritic.training.data import Data
from diacritic.training.released import released
from diacritic.training.trace import Trace


def _engine(
    parameters: Parameters,
    architecture: Architecture,
    data: Data,
    weight: torch.Tensor,
    full: bool = False,
    distinct: bool = True,
) -> Trace:
    """Without distinct readings it is what CUDA computes."""
    trace = tables.trace(parameters, architecture, data, tables.prepare(data), weight, full)
    return trace if distinct else replace(trace, rows=replace(trace.rows, law=None, futures=None))


@settings(max_examples=90)
@given(
    T=st.integers(2, 6),
    N=st.integers(1, 6),
    S=st.integers(1, 3),
    K=st.integers(1, 7),
    observations=st.integers(1, 4),
    actions=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    bound=st.sampled_from(["none", "tanh", "sphere"]),
    persistent=st.booleans(),
    name=st.sampled_from(LEARNERS),
    gradient=st.sampled_from(["carousel", "full"]),
    distinct=st.booleans(),
    kind=st.sampled_from([TINY, NARROW, TABLE]),
)
def test_it_is_the_loop_with_either_gradient(
    T: int,
    N: int,
    S: int,
    K: int,
    observations: int,
    actions: int,
    seed: int,
    bound: str,
    persistent: bool,
    name: str,
    gradient: str,
    distinct: bool,
    kind: Architecture,
) -> None:
    architecture = replace(kind, codes=K, bound=bound, persistent=persistent)
    data = symbols(T, N, seed, observations, actions)
    form = (lambda same: same) if kind is TINY else released
    engine = partial(_engine, full=gradient == "full", distinct=distinct)
    assert_engine_agrees(engine, gradient, name, architecture, data, range(seed, seed + S), form)


def test_rows_are_shared_and_every_step_finds_its_own() -> None:
    data = symbols(6, 30, observations=2, actions=2)
    parameters = lively(sole_carrier.weights(data.shape, TINY), [1, 2])
    weight = data.weight.expand(2, -1)
    trace = _engine(parameters, TINY, data, weight)
    assert trace.code.shape[1] < 180 / 2
    wanted = reference.trace(parameters, TINY, data, weight)
    assert torch.equal(trace.step_code, wanted.step_code)
    torch.testing.assert_close(trace.step_embedding, wanted.step_embedding, rtol=0, atol=1e-12)
    torch.testing.assert_close(trace.step_features, wanted.step_features, rtol=0, atol=1e-12)
    torch.testing.assert_close(trace.steps(trace.proposal), wanted.steps(wanted.proposal), rtol=0, atol=1e-12)
    torch.testing.assert_close(trace.weight.sum(1), torch.ones(2, dtype=torch.float64))


def test_a_code_before_the_first_step_is_no_code() -> None:
    """Of one observation and one action there are one opening row and one row a code, and no more."""
    data = symbols(2, 3, observations=1, actions=1)
    prepared = tables.prepare(data)
    assert (prepared.opening, len(prepared.observation)) == (1, 2)
    assert prepared.contexts(6).tolist() == [[6, 0, 1, 2, 3, 4, 5], [0] * 7, [0, 1, 1, 1, 1, 1, 1]]


def test_steps_that_are_taught_other_laws_have_other_rows() -> None:
    data = symbols(3, 8, observations=1, actions=2)
    law = data.target.flatten(0, 1)
    key = tables.prepare(data).pair[1:].flatten()
    late = law[8:]
    before = data.previous_index[1:].flatten()
    for one in range(len(key)):
        for other in range(len(key)):
            same = torch.equal(late[one], late[other]) and before[one] == before[other]
            assert bool(key[one] == key[other]) == bool(same)
