"""Sampled rollouts against the exact loop: binomial tails, not tolerances."""

from dataclasses import replace
from math import exp, fsum, lgamma, log

import numpy as np
import pytest
from rollout_twin import Reader, names_of, random_machine

from certify import Model, certify
from certify.zoo.registry import find
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.rollout.sampled import sample

EPISODES = 1_500


def tail(count: int, trials: int, p: float) -> float:
    """The smaller of P(X ≤ count) and P(X ≥ count) of a binomial X, summed term by term."""
    if p > 1 - 1e-12:
        return float(count == trials)

    def at(k: int) -> float:
        ways = lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1)
        return exp(ways + k * log(p) + (trials - k) * log(1 - p))

    return min(fsum(map(at, range(count + 1))), fsum(map(at, range(count, trials + 1))))


def hesitant(model: Model, symbols: tuple[str, ...]) -> CodeMachine:
    """The certified machine, which takes another action one time in five where its decisions fall."""
    machine = from_certified(certify(model).machine, model)
    act, seen = machine.act.copy(), names_of(model.graph.observations)
    for k in (seen.index(name) for name in symbols):
        act[:, k] = 0.8 * act[:, k] + 0.2 * np.roll(act[:, k], 1, axis=1)
    return CodeMachine(machine.move, act)


CASES = [
    ("reveal", ("decide",)),
    ("gap", ("decide1", "decide2")),
    ("stochastic-expert", ("dark", "choose")),
    ("cue-corridor", ("corridor", "junction")),
    ("signpost-corridor", ("hall1 +0", "hall1 +1", "junction1")),
    ("running-parity", ("event 1", "event 1 asked")),
]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("name", "symbols"), CASES)
def test_frequencies_are_those_of_the_exact_loop(name: str, symbols: tuple[str, ...], recorded: bool) -> None:
    model = find(name).make()
    model = replace(model, dynamics=None) if recorded else model
    machine = hesitant(model, symbols)
    loop, played = closed_loop(machine, model), sample(machine, model, EPISODES, seed=7)
    assert 0 < loop.success < 1
    assert tail(int(played.success.sum()), EPISODES, loop.success) > 1e-3
    for t in (model.horizon // 2, model.horizon - 1):
        assert tail(int((played.code[t] >= 0).sum()), EPISODES, loop.running[t]) > 1e-3
    spread = played.correct.std() / EPISODES**0.5
    assert abs(played.correct.mean() - loop.correct) <= 4 * spread


def test_codes_and_actions_follow_the_tables() -> None:
    model = find("signpost-corridor").make(M=4, W=1)
    machine = random_machine(model, 4, 3, determined=0.2)
    played, reader = sample(machine, model, 50, seed=1), Reader(machine, model)
    seen, done = names_of(model.graph.observations), names_of(model.graph.actions)
    assert (played.code[-1] < 0).any()
    for n in range(50):
        words: tuple[str, ...] = ()
        for t in np.flatnonzero(played.code[:, n] >= 0):
            words = (*words, seen[played.observation[t, n]])
            assert played.code[t, n] == reader.code(words)
            assert reader.law(words)[done[played.action[t, n]]] > 0
            words = (*words, done[played.action[t, n]])


def test_the_seed_decides_everything() -> None:
    model = find("gap").make()
    machine = random_machine(model, 3, 0, determined=0)
    one, two, other = (sample(machine, model, 20, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.action, two.action)
    assert np.array_equal(one.observation, two.observation)
    assert not np.array_equal(one.action, other.action)


def test_no_episodes_are_refused() -> None:
    model = find("gap").make()
    with pytest.raises(ValueError, match="episodes: expected at least 1, not 0"):
        sample(random_machine(model, 3, 0), model, 0, 0)
