"""Linear recurrences by kernels are those by doubling; states by both are those of the definition."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from whole_episodes import ROWS, SEEDS, SOME, compare, kernels_started

from diacritic.memory.shape import Architecture
from diacritic.memory.vector import scan


@pytest.mark.parametrize("memory", ["lru", "s5", "min-gru", "selective"])
@SOME
@given(steps=st.integers(1, 10), rows=ROWS, seed=SEEDS)
def test_values_and_gradients_are_those_by_doubling(memory: str, steps: int, rows: int, seed: int) -> None:
    compare(Architecture(width=16, memory=memory, state_size=16), steps, rows, seed)


@pytest.mark.parametrize("kind", [torch.float32, torch.complex64])
@pytest.mark.parametrize("same", [(), (1,), (2,), (1, 2)])
def test_states_are_those_of_one_step_after_another(kind: torch.dtype, same: tuple[int, ...]) -> None:
    made, shape = torch.Generator().manual_seed(7), (2, 9, 5, 16)
    kept, new = (torch.randn(shape, dtype=kind, generator=made) for _ in range(2))
    for axis in same:
        kept = kept.narrow(axis, 0, 1)
    kept, state, expected = kept.expand(shape), torch.zeros(2, 5, 16, dtype=kind), []
    for t in range(9):
        state = kept[:, t] * state + new[:, t]
        expected.append(state)
    by_doubling = scan(kept, new)
    with kernels_started() as started:
        by_kernels = scan(kept, new)
    assert len(started) == 1
    for states in (by_doubling, by_kernels):
        torch.testing.assert_close(states, torch.stack(expected, 1), rtol=1e-4, atol=1e-4)
