"""The full gradient with everything but the recurrence at once, against the loop."""

from collections.abc import Callable
from dataclasses import replace

import torch
from carrier_twin import LEARNERS, NARROW, TABLE, TINY, assert_engine_agrees, lively, symbols, vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from diacritic.memory import sole_carrier
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.training import parallel, unrolled
from diacritic.training.data import Data
from diacritic.training.released import released
from diacritic.training.trace import Trace


def _engine(parameters: Parameters, architecture: Architecture, data: Data, weight: torch.Tensor) -> Trace:
    return unrolled.trace(parameters, architecture, data, weight, parallel.tokens(data))


@settings(max_examples=20)
@given(
    make=st.sampled_from([vectors, symbols]),
    T=st.integers(2, 6),
    N=st.integers(1, 4),
    S=st.integers(1, 3),
    K=st.integers(1, 7),
    seed=st.integers(0, 10**6),
    bound=st.sampled_from(["none", "tanh"]),
    persistent=st.booleans(),
    side=st.sampled_from(["raw", "symbol"]),
    name=st.sampled_from(LEARNERS),
)
def test_it_is_the_loop_with_the_full_gradient(
    make: Callable[[int, int, int], Data],
    T: int,
    N: int,
    S: int,
    K: int,
    seed: int,
    bound: str,
    persistent: bool,
    side: str,
    name: str,
) -> None:
    architecture = replace(TINY, codes=K, bound=bound, persistent=persistent, side=side)
    assert_engine_agrees(_engine, "full", name, architecture, make(T, N, seed), range(seed, seed + S))


@settings(max_examples=30)
@given(
    make=st.sampled_from([vectors, symbols]),
    K=st.integers(1, 7),
    seed=st.integers(0, 10**6),
    bound=st.sampled_from(["none", "tanh", "sphere"]),
    persistent=st.booleans(),
    side=st.sampled_from(["raw", "symbol"]),
    gradient=st.sampled_from(["full", "carousel"]),
    path=st.sampled_from(["none", "scaffold", "bypass"]),
    name=st.sampled_from(LEARNERS),
)
def test_the_authors_carrier_is_the_loop_too(
    make: Callable[[int, int, int], Data],
    K: int,
    seed: int,
    bound: str,
    persistent: bool,
    side: str,
    gradient: str,
    path: str,
    name: str,
) -> None:
    kind = TABLE if make is symbols else NARROW
    architecture = replace(kind, codes=K, bound=bound, persistent=persistent, side=side, path=path)

    def engine(parameters: Parameters, carrier: Architecture, data: Data, weight: torch.Tensor) -> Trace:
        return unrolled.trace(parameters, carrier, data, weight, parallel.tokens(data), gradient=gradient)

    assert_engine_agrees(engine, gradient, name, architecture, make(4, 3, seed), [seed, seed + 1], released)


def test_a_low_precision_leaves_the_recurrence_exact() -> None:
    data = vectors(8, 20).to("cpu", torch.float32)
    parameters = lively(sole_carrier.weights(data.shape, TINY), [1, 2], torch.float32)
    weight, inputs = data.weight.expand(2, -1), parallel.tokens(data)
    exact = unrolled.trace(parameters, TINY, data, weight, inputs)
    low = unrolled.trace(parameters, TINY, data, weight, inputs, torch.bfloat16)
    assert torch.equal(low.code, exact.code)
    assert torch.equal(low.proposal, exact.proposal)
    assert low.features.dtype == torch.bfloat16
