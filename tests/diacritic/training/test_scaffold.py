"""A standing scaffold by distinct histories, against the loop."""

from dataclasses import replace

import torch
from carrier_twin import NARROW, TABLE, TINY, gradients, lively, schedule_at, symbols
from hypothesis import given, settings
from hypothesis import strategies as st

from diacritic.memory.kinds import memory_of
from diacritic.memory.shape import Architecture
from diacritic.training import reference, tables
from diacritic.training.learner import learner
from diacritic.training.released import released


@settings(max_examples=60)
@given(
    T=st.integers(1, 6),
    N=st.integers(1, 7),
    S=st.integers(1, 3),
    K=st.integers(1, 6),
    observations=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    bound=st.sampled_from(["none", "tanh", "sphere"]),
    persistent=st.booleans(),
    gradient=st.sampled_from(["carousel", "full"]),
    strength=st.sampled_from([0.0, 0.3, 1.0]),
    name=st.sampled_from(["scaffold", "scaffold+bfs"]),
    kind=st.sampled_from([TINY, NARROW, TABLE]),
)
def test_it_is_the_loop_at_any_strength(
    T: int,
    N: int,
    S: int,
    K: int,
    observations: int,
    seed: int,
    bound: str,
    persistent: bool,
    gradient: str,
    strength: float,
    name: str,
    kind: Architecture,
) -> None:
    """Twice, with other weights in between: the codes of the pass before are a guess and nothing more."""
    chosen, data = released(learner(name)), symbols(T, N, seed, observations, 2)
    carrier = chosen.architecture(replace(kind, codes=K, bound=bound, persistent=persistent))
    layers = memory_of(carrier).weights(data.shape, carrier)
    for term in chosen.terms:
        layers |= term.weights(data.shape, carrier)
    weight, prepared = data.weight.expand(S, -1), tables.prepare(data)
    for first in (seed, seed + S):
        seeds = range(first, first + S)
        parameters = {name: value.requires_grad_() for name, value in lively(layers, seeds).items()}
        fast = tables.trace(parameters, carrier, data, prepared, weight, gradient == "full", strength)
        slow = reference.trace(parameters, carrier, data, weight, gradient, strength)
        assert torch.equal(fast.step_code, slow.step_code)
        torch.testing.assert_close(fast.steps(fast.proposal), slow.steps(slow.proposal), rtol=0, atol=1e-12)
        losses, wanted = (
            torch.stack([term.loss(trace, data, schedule_at(S)) for term in chosen.terms]) for trace in (fast, slow)
        )
        torch.testing.assert_close(losses, wanted, rtol=1e-12, atol=1e-12)
        pull = torch.arange(1, S + 1, dtype=torch.float64)
        flow = gradients(wanted * pull, parameters)
        for part, value in gradients(losses * pull, parameters).items():
            torch.testing.assert_close(
                value, flow[part], rtol=1e-9, atol=1e-10, msg=lambda text, n=part: f"{n}: {text}"
            )


def test_histories_are_those_that_occur() -> None:
    data = symbols(4, 3, observations=1, actions=1)
    every = tables.prepare(replace(data, target=torch.ones_like(data.target))).histories
    assert every.chains.nodes == (1, 1, 1, 1)  # nothing differs, so the episodes have one history each step
    assert every.parent.tolist() == [-1, 0, 1, 2]
    assert every.token.tolist() == [[t] * 3 for t in range(4)]
