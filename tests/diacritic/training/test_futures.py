"""Equal futures computed once, against every step's own continuation."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import NARROW, TABLE, gradients, lively, schedule_at, symbols
from hypothesis import given, settings
from hypothesis import strategies as st

from diacritic.memory.kinds import memory_of
from diacritic.memory.shape import Architecture
from diacritic.training import tables
from diacritic.training.data import Data
from diacritic.training.futures import starts
from diacritic.training.objectives.continuations import EveryContinuation


def _alike(T: int, N: int, seed: int, share: int) -> Data:
    """Episodes of which many end alike: from a random step on, each is as one of the first `share`."""
    data, made = symbols(T, N, seed, 2, 2), torch.Generator().manual_seed(seed)
    joins, which = torch.randint(1, T + 1, (N,), generator=made), torch.randint(share, (N,), generator=made)
    same = torch.arange(T).unsqueeze(1) >= joins
    index = {name: getattr(data, name) for name in ("observation_index", "previous_index")}
    changed = {name: torch.where(same, value[:, which], value) for name, value in index.items()}
    return replace(data, target=torch.where(same.unsqueeze(-1), data.target[:, which], data.target), **changed)


@settings(max_examples=60)
@given(
    T=st.integers(2, 7),
    N=st.integers(1, 9),
    S=st.integers(1, 3),
    K=st.integers(1, 4),
    share=st.integers(1, 3),
    told=st.sampled_from([{}, {"blind": True}, {"blind": True, "world": True}]),
    reach=st.sampled_from([1, 3, 100]),
    seed=st.integers(0, 10**6),
    bound=st.sampled_from(["none", "tanh", "sphere"]),
    kind=st.sampled_from([NARROW, TABLE]),
)
def test_the_loss_is_that_of_all_steps(
    T: int, N: int, S: int, K: int, share: int, told: dict, reach: int, seed: int, bound: str, kind: Architecture
) -> None:
    term, data = EveryContinuation(reach=reach, **told), _alike(T, N, seed, min(share, N))
    carrier = replace(kind, codes=K, bound=bound)
    layers = memory_of(carrier).weights(data.shape, carrier) | term.weights(data.shape, carrier)
    parameters = {name: value.requires_grad_() for name, value in lively(layers, range(seed, seed + S)).items()}
    made = torch.Generator().manual_seed(seed)
    drawn = torch.randint(0, 4, (S, N), generator=made).double()  # some episodes are not drawn
    drawn[:, 0] += 1
    weight = drawn / drawn.sum(1, keepdim=True)
    trace = tables.trace(parameters, carrier, data, tables.prepare(data), weight, full=True)
    plain = replace(trace, rows=replace(trace.rows, futures=None))
    once, each = (term.loss(one, data, schedule_at(S)) for one in (trace, plain))
    torch.testing.assert_close(once, each, rtol=0, atol=1e-12)
    pull = torch.arange(1, S + 1, dtype=torch.float64)
    wanted = gradients(each * pull, parameters)
    for name, value in gradients(once * pull, parameters).items():
        torch.testing.assert_close(value, wanted[name], rtol=0, atol=1e-10, msg=lambda text, n=name: f"{n}: {text}")


@pytest.mark.parametrize("world", [False, True])
def test_blind_continuations_are_taught_what_comes_after_their_own_step(world: bool) -> None:
    """All episodes begin alike and are taught alike; they differ in what they show, which only some targets name."""
    data, term = symbols(4, 20, 3, 3, 2), EveryContinuation(blind=True, world=world)
    first, target = data.observation_index[:1, :1].expand(1, 20), data.target[:, :1].expand(-1, 20, -1).contiguous()
    did = data.previous_index[:, :1].expand(-1, 20).contiguous()
    data = replace(data, observation_index=torch.cat([first, data.observation_index[1:]]), previous_index=did)
    data = replace(data, target=target)
    futures = tables.prepare(data).futures
    assert [len(row.unique()) for row in futures.law_cases] == [1, 1, 1, 1]
    assert len(futures.ahead[0][0].unique()) > 10
    layers = memory_of(TABLE).weights(data.shape, TABLE) | term.weights(data.shape, TABLE)
    weight = data.weight.expand(2, -1)
    trace = tables.trace(lively(layers, [1, 2]), TABLE, data, tables.prepare(data), weight, full=True)
    plain = replace(trace, rows=replace(trace.rows, futures=None))
    once, each = (term.loss(one, data, schedule_at(2)) for one in (trace, plain))
    torch.testing.assert_close(once, each, rtol=0, atol=1e-12)


def test_steps_with_equal_futures_are_one_start() -> None:
    """Two episodes that differ in their first step alone: three starts of two words or one, not four."""
    data = symbols(3, 1, 5, 3, 2)
    first = (data.observation_index[:1] + 1) % 3
    twice = {name: getattr(data, name).repeat(1, 2) for name in ("observation_index", "previous_index")}
    twice["observation_index"][0, 1] = first
    data = replace(data, target=data.target.repeat(1, 2, 1), **twice)
    futures = tables.prepare(replace(data, weight=torch.full((2,), 0.5))).futures
    code, weight = torch.zeros(1, 3, 2, dtype=torch.long), torch.full((1, 3, 2), 0.25, dtype=torch.float64)
    codebook, path = torch.zeros(1, 2, 4, dtype=torch.float64), torch.zeros(1, 3, 2, 4, dtype=torch.float64)
    one = starts(futures, code, codebook, path, weight, 100)
    assert one.observation.shape == (1, 3)
    assert one.chains.links == (3, 2)
    assert sorted(one.weight[0].tolist()) == [0.25, 0.25, 0.25, 0.25, 0.5]
    other = starts(futures, torch.tensor([[[0, 0], [0, 1], [0, 0]]]), codebook, path, weight, 100)
    assert other.observation.shape == (1, 4)  # with other codes they have to be told apart
