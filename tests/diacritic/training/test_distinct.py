"""Distinct readings against the reading of every step."""

from dataclasses import replace

import torch
from carrier_twin import TABLE, TINY, lively, scene, symbols, vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory import sole_carrier
from diacritic.memory.layers import reader
from diacritic.memory.quantise import look_up
from diacritic.memory.shape import Architecture
from diacritic.training import reference, tables
from diacritic.training.data import Data
from diacritic.training.distinct import distinct
from diacritic.training.objectives.base import Term
from diacritic.training.objectives.future import FutureBehaviour
from diacritic.training.objectives.inverse import Inverse
from diacritic.training.trace import Trace

HEAD = reader("told", TINY.width, TINY.code_size, TINY.width, 2, hidden=2)


def _trace(data: Data, runs: int, seed: int) -> Trace:
    """A trace with one more head, and gradients into all weights."""
    parameters = lively({**sole_carrier.weights(data.shape, TINY), **HEAD}, range(seed, seed + runs))
    parameters = {name: value.requires_grad_() for name, value in parameters.items()}
    return tables.trace(parameters, TINY, data, tables.prepare(data), data.weight.expand(runs, -1))


@settings(max_examples=40)
@given(
    T=st.integers(2, 5),
    N=st.integers(1, 6),
    S=st.integers(1, 3),
    keys=st.integers(1, 3),
    seed=st.integers(0, 10**6),
)
def test_values_and_gradients_are_those_of_all_readings(T: int, N: int, S: int, keys: int, seed: int) -> None:
    trace = _trace(symbols(T, N, seed, 2, 2), S, seed)
    made = torch.Generator().manual_seed(seed)
    M = T * N
    key = torch.randint(keys, (S, M), generator=made)
    weight = torch.rand(S, M, generator=made, dtype=torch.float64) * (torch.rand(S, M, generator=made) > 0.3)
    extra, wanted = torch.randn(2, keys, TINY.width, generator=made, dtype=torch.float64).unbind(0)

    def loss(prediction: Tensor, given: Tensor, weight: Tensor) -> Tensor:
        return ((prediction - wanted[given, :2]).square().sum(-1) * weight).sum(1)

    unique = distinct(trace, key, weight)
    assert unique is not None
    mine = loss(unique.read("told", extra[unique.pick(key)]), unique.pick(key), unique.weight)
    told = torch.zeros(S, T, N, keys, TINY.width, dtype=torch.float64) + extra
    every = torch.stack([trace.read_steps("told", told[..., k, :]).flatten(1, 2) for k in range(keys)], 2)
    rows = every.gather(2, key[..., None, None].expand(-1, -1, 1, 2)).squeeze(2)
    theirs = loss(rows, key, weight)
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-10)
    names = [name for name, value in trace.parameters.items() if name.startswith(("told", "residual", "observe"))]
    inputs = [trace.parameters[name] for name in names]
    for name, one, other in zip(
        names,
        torch.autograd.grad(mine.sum(), inputs, retain_graph=True, materialize_grads=True),
        torch.autograd.grad(theirs.sum(), inputs, materialize_grads=True),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9, msg=name)


def test_readings_that_are_alike_are_read_once() -> None:
    trace = _trace(symbols(6, 30, observations=2, actions=2), 2, 1)
    weight = torch.full((2, 180), 1 / 180, dtype=torch.float64)
    rows = distinct(trace, torch.zeros(1, 180, dtype=torch.long), weight)
    assert rows is not None
    token = trace.rows.token
    assert token is not None
    assert [int((row > 0).sum()) for row in rows.weight] == [len(row.unique()) for row in token.flatten(1)]
    assert rows.example.shape[1] < 180 / 2
    torch.testing.assert_close(rows.weight.sum(1), torch.ones(2, dtype=torch.float64))
    met = token.flatten(1).gather(1, rows.example)
    torch.testing.assert_close(rows.embedding, look_up(trace.codebook, trace.code.gather(1, met)))


def test_where_every_step_is_its_own_row_nothing_is_saved() -> None:
    data = vectors(3, 2)
    parameters = lively(sole_carrier.weights(data.shape, TINY), [1])
    trace = reference.trace(parameters, TINY, data, data.weight.expand(1, -1))
    nothing = torch.zeros(1, 6, dtype=torch.long), torch.ones(1, 6, dtype=torch.float64)
    assert distinct(trace, *nothing) is None
    symbolic = _trace(symbols(3, 2), 1, 1)
    assert distinct(symbolic, *nothing) is not None
    fixed = replace(symbolic.rows, law=None)  # as on CUDA, where sizes may not change
    assert distinct(replace(symbolic, rows=fixed), *nothing) is None


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    carrier=st.sampled_from([TINY, TABLE]),
    term=st.sampled_from([FutureBehaviour("recorded"), Inverse(), Inverse(3, "cut")]),
)
def test_what_differs_later_is_taught_apart(seed: int, carrier: Architecture, term: Term) -> None:
    """Many episodes share few rows, and go on unlike; heads of the release are told the offset, too."""
    data = symbols(5, 12, seed, 2, 2)
    parameters = lively({**sole_carrier.weights(data.shape, carrier), **term.weights(data.shape, carrier)}, [seed, 1])
    parameters = {name: value.requires_grad_() for name, value in parameters.items()}
    trace = tables.trace(parameters, carrier, data, tables.prepare(data), data.weight.expand(2, -1))
    every = replace(trace, rows=replace(trace.rows, law=None))
    schedule = scene([term], data).schedule
    mine, theirs = (term.loss(one, data, schedule) for one in (trace, every))
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)
    inputs = [value for name, value in parameters.items() if name.startswith(("future", "inverse", "residual"))]
    grads = [torch.autograd.grad(x.sum(), inputs, retain_graph=True, materialize_grads=True) for x in (mine, theirs)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
