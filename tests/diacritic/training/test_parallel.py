"""The engine that is parallel in time, against the loop: codes, losses and gradients."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from carrier_twin import LEARNERS, TINY, assert_engine_agrees, lively, symbols, vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory import sole_carrier
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.training import parallel, reference
from diacritic.training.data import Data
from diacritic.training.learner import Learner
from diacritic.training.released import released as released_form
from diacritic.training.trace import Trace


def _engine(
    parameters: Parameters, architecture: Architecture, data: Data, weight: Tensor, low: torch.dtype | None = None
) -> Trace:
    shown = parallel.tokens(data)
    code = parallel.codes(parameters, architecture, data, shown)
    return parallel.trace(parameters, architecture, data, weight, shown, code, low)


@settings(max_examples=25)
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
def test_it_is_the_loop_with_the_carousel_gradient(
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
    assert_engine_agrees(_engine, "carousel", name, architecture, make(T, N, seed), range(seed, seed + S))


@pytest.mark.parametrize("name", ["hierarchical-10", "intent+task-informed"])
def test_it_is_the_loop_for_read_side_controls(name: str) -> None:
    assert_engine_agrees(_engine, "carousel", name, TINY, vectors(5, 3), [1, 2])


@settings(max_examples=15)
@given(
    make=st.sampled_from([vectors, symbols]),
    T=st.integers(2, 6),
    seed=st.integers(0, 10**6),
    bound=st.sampled_from(["none", "tanh"]),
    persistent=st.booleans(),
    side=st.sampled_from(["raw", "symbol"]),
    name=st.sampled_from(["dual", "dual-detached"]),
    released=st.booleans(),
)
def test_a_second_carrier_is_that_of_the_loop(
    make: Callable[[int, int, int], Data],
    T: int,
    seed: int,
    bound: str,
    persistent: bool,
    side: str,
    name: str,
    released: bool,
) -> None:
    architecture = replace(TINY, bound=bound, persistent=persistent, side=side)

    def form(learner: Learner) -> Learner:
        return replace(released_form(learner) if released else learner, changes=changes(learner))

    def changes(learner: Learner) -> tuple[tuple[str, object], ...]:
        return (*learner.changes, ("identification", 5))

    assert_engine_agrees(_engine, "carousel", name, architecture, make(T, 3, seed), [seed, seed + 1], form)


@pytest.mark.parametrize("bound", ["none", "tanh"])
def test_single_precision_codes_are_those_of_the_reference(bound: str) -> None:
    """They differ at most where the two nearest distances differ by less than 1e-5, and after that."""
    architecture = replace(TINY, bound=bound)
    data = vectors(12, 40).to("cpu", torch.float32)
    parameters = lively(sole_carrier.weights(data.shape, architecture), [1, 2], torch.float32)
    weight = data.weight.expand(2, -1)
    actual = _engine(parameters, architecture, data, weight)
    wanted = reference.trace(parameters, architecture, data, weight)
    distance = torch.cdist(wanted.proposal, wanted.codebook).sort(-1).values
    near = wanted.steps(distance[..., 1] - distance[..., 0]) < 1e-5
    excused = near.cumsum(1) > 0
    assert torch.equal(actual.step_code[~excused], wanted.step_code[~excused])
    assert excused.double().mean() < 0.05


def test_a_low_precision_leaves_the_scan_exact() -> None:
    """Codes are scanned in the parameters' own precision, whatever the rest is computed in."""
    data = vectors(8, 20).to("cpu", torch.float32)
    parameters = {
        name: value.requires_grad_()
        for name, value in lively(sole_carrier.weights(data.shape, TINY), [1, 2], torch.float32).items()
    }
    weight = data.weight.expand(2, -1)
    exact = _engine(parameters, TINY, data, weight)
    low = _engine(parameters, TINY, data, weight, torch.bfloat16)
    assert torch.equal(low.code, exact.code)
    assert low.features.dtype == torch.bfloat16
    assert not torch.equal(low.proposal, exact.proposal)
    assert (low.proposal - exact.proposal).abs().mean() < 0.05 * exact.proposal.abs().mean()
    assert torch.equal(low.embedding, exact.embedding)
