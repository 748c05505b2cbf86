"""Continuous memories: step by step against whole episodes, many runs against one, and what each can hold."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory.kinds import MEMORIES
from diacritic.memory.protocol import Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import VectorMemory, scan
from diacritic.training.randomness import initial

KINDS = [
    "bistable",
    "frames-1",
    "frames-4",
    "gru-chrono",
    "lru",
    "min-gru",
    "s5",
    "selective",
    "registers",
    "transformer",
]
SHAPE = Shape(observation=5, action=2, horizon=7)
SIZE = Architecture(width=16, code_size=6, state_size=16)
each_kind = pytest.mark.parametrize("name", KINDS)


def _episodes() -> Inputs:
    generator = torch.Generator().manual_seed(5)
    observations, previous = (torch.randn(7, 3, n, generator=generator, dtype=torch.float64) for n in (5, 2))
    return Inputs(observations, previous)


def _parameters(name: str, seeds: list[int]) -> dict[str, Tensor]:
    return initial(MEMORIES[name].weights(SHAPE, SIZE), seeds, torch.float64)


@each_kind
def test_steps_and_whole_episodes_agree(name: str) -> None:
    memory, parameters = MEMORIES[name], _parameters(name, [1, 2])
    episodes = _episodes()
    whole = torch.cat([record.embedding for record in memory.unroll(parameters, SIZE, episodes)], 1)
    state = memory.start(parameters, SIZE, 3)
    for t in range(7):
        state, record = memory.step(parameters, SIZE, state, episodes.at(t))
        torch.testing.assert_close(record.embedding, whole[:, 3 * t : 3 * t + 3], rtol=0, atol=1e-10)


@each_kind
def test_runs_do_not_mix_and_gradients_reach_everything(name: str) -> None:
    memory = MEMORIES[name]
    parameters = {k: v.requires_grad_() for k, v in _parameters(name, [1, 2, 3]).items()}
    records = memory.unroll(parameters, SIZE, _episodes())
    ours = [record.actions if record.actions is not None else record.embedding for record in records]
    alone = memory.unroll(_parameters(name, [2]), SIZE, _episodes())
    theirs = [record.actions if record.actions is not None else record.embedding for record in alone]
    torch.testing.assert_close(torch.cat(ours, 1)[1:2], torch.cat(theirs, 1), rtol=0, atol=1e-12)
    torch.cat(ours, 1)[1].square().sum().backward()
    for key, value in parameters.items():
        assert value.grad is not None
        assert value.grad[[0, 2]].abs().sum() == 0, key
        assert value.grad[1].abs().sum() > 0, key


@given(st.integers(1, 20), st.integers(0, 10**6))
@settings(deadline=None, max_examples=25)
def test_the_scan_is_the_loop(steps: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    kept, new = (torch.randn(2, steps, 3, generator=generator, dtype=torch.complex128) for _ in range(2))
    state, wanted = torch.zeros_like(new[:, 0]), []
    for t in range(steps):
        state = kept[:, t] * state + new[:, t]
        wanted.append(state)
    torch.testing.assert_close(scan(kept, new), torch.stack(wanted, 1))


@pytest.mark.parametrize("frames", [1, 4, 16])
def test_a_stack_forgets_what_is_older(frames: int) -> None:
    memory = MEMORIES[f"frames-{frames}"]
    parameters = initial(memory.weights(SHAPE, SIZE), [0], torch.float64)
    generator = torch.Generator().manual_seed(0)
    seen = torch.randn(2, 20, 1, 5, generator=generator, dtype=torch.float64)
    for differing, same in ((19 - frames, True), (20 - frames, False)):
        other = seen[0].clone()
        other[differing] = seen[1, differing]
        ends = []
        for observations in (seen[0], other):
            episode = Inputs(observations, torch.zeros(20, 1, 2, dtype=torch.float64))
            ends.append(memory.unroll(parameters, SIZE, episode)[-1].embedding[:, -1:])
        assert torch.equal(*ends) == same


def test_long_lifetimes_are_kept() -> None:
    """After the same first step and 200 empty ones an LRU still differs; a minGRU at its start does not."""
    left = {}
    for name in ("lru", "min-gru"):
        memory = MEMORIES[name]
        assert isinstance(memory, VectorMemory)
        parameters = initial(memory.weights(SHAPE, SIZE), [0], torch.float64)
        states = []
        for sign in (1.0, -1.0):
            state = memory.start(parameters, SIZE, 1)
            for t in range(200):
                x = torch.full((1, 1, 16), sign if t == 0 else 0.0, dtype=torch.float64)
                state = memory.advance(parameters, state, x)
            states.append(state)
        left[name] = (states[0] - states[1]).abs().max().item()
    assert left["lru"] > 1e-3 > left["min-gru"]


def test_slots_are_written_in_turn() -> None:
    memory = MEMORIES["registers"]
    parameters = _parameters("registers", [0])
    state, written = memory.start(parameters, SIZE, 1), []
    for t in range(10):
        before = state
        state, _ = memory.step(parameters, SIZE, state, Inputs(*(x[t % 7, :1] for x in _pair())))
        changed = (state - before)[0, 0, :-8].view(8, -1).abs().sum(-1)
        written.append(changed.nonzero().flatten().tolist())
    assert written == [[k % 8] for k in range(10)]


def _pair() -> tuple[Tensor, Tensor]:
    episodes = _episodes()
    return episodes.observation, episodes.previous
