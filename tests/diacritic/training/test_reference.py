"""The reference engine against episodes walked one by one."""

from dataclasses import replace

import torch
from carrier_twin import (
    NARROW,
    TABLE,
    TINY,
    closest,
    code_rows,
    first_row,
    lively,
    one_of,
    proposal_of,
    schedule_at,
    symbols,
    vectors,
)

from diacritic.memory.kinds import memory_of
from diacritic.memory.shape import Architecture
from diacritic.training import reference
from diacritic.training.data import Data


def _check(data: Data, architecture: Architecture) -> None:
    parameters = lively(memory_of(architecture).weights(data.shape, architecture), [3, 8])
    weight = data.weight.expand(2, -1)
    trace = reference.trace(parameters, architecture, data, weight)
    T, N = data.horizon, data.episodes
    assert trace.weight.shape == (2, T * N)
    torch.testing.assert_close(trace.weight.sum(1), torch.ones(2, dtype=torch.float64))
    for run in range(2):
        p = one_of(parameters, run)
        for n in range(N):
            e = first_row(p, architecture)
            for t in range(T):
                seen = data.observation[data.observation_index[t, n]]
                did = data.previous[data.previous_index[t, n]]
                symbol = None
                if architecture.side == "symbol" and data.symbol is not None:
                    symbol = torch.eye(data.shape.symbols, dtype=torch.float64)[data.symbol[t, n]]
                proposal = proposal_of(p, architecture, e, seen, did, symbol)
                code = closest(proposal, code_rows(p, architecture))
                e = code_rows(p, architecture)[code]
                row = t * N + n
                assert int(trace.code[run, row]) == int(trace.step_code[run, t, n]) == code
                torch.testing.assert_close(trace.proposal[run, row], proposal, rtol=0, atol=1e-12)
                torch.testing.assert_close(trace.step_embedding[run, t, n], e, rtol=0, atol=1e-15)
                assert trace.weight[run, row] == data.weight[n] / T


def test_every_step_of_every_episode_follows_the_cell() -> None:
    _check(vectors(5, 3), TINY)
    _check(symbols(5, 3), replace(TINY, bound="tanh"))
    _check(symbols(5, 3), replace(TINY, side="symbol"))
    _check(vectors(5, 3), NARROW)
    _check(symbols(5, 3), replace(NARROW, side="symbol", persistent=False))
    _check(symbols(5, 3), TABLE)


def test_noise_is_that_of_each_step() -> None:
    data, architecture = vectors(4, 3), replace(TINY, memory="gaussian")
    parameters = lively(memory_of(architecture).weights(data.shape, architecture), [3, 8])
    weight = data.weight.expand(2, -1)
    noise = schedule_at(2).uniform(0, 4, 3, 3).double()
    still = reference.trace(parameters, architecture, data, weight)
    late = reference.trace(
        parameters, architecture, data, weight, noise=noise * torch.tensor([0, 0, 1, 0]).view(1, 4, 1, 1)
    )
    assert torch.equal(still.step_embedding[:, :2], late.step_embedding[:, :2])
    assert (still.step_embedding[:, 2:] != late.step_embedding[:, 2:]).any(-1).all()
    assert still.bits is not None
    assert still.bits.shape == (2, 12)


def test_a_second_carrier_has_a_trace_of_its_own() -> None:
    data, architecture = vectors(4, 3), replace(TINY, identification=9)
    parameters = lively(memory_of(architecture).weights(data.shape, architecture), [3, 8])
    trace = reference.trace(parameters, architecture, data, data.weight.expand(2, -1))
    second = trace.identification
    assert second is not None
    assert torch.equal(second.codebook, parameters["identification.codebook"])
    assert not torch.equal(second.code, trace.code)
    assert torch.equal(second.weight, trace.weight)
