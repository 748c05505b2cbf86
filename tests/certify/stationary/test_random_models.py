"""Random small worlds: the answer for every horizon against the literal twin and against finite horizons."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, integers
from stationary_twin import (
    bits_of,
    cesaro,
    follow,
    histories,
    law_of,
    pair_conflicts,
    random_process,
    random_sparse_process,
)

from certify import certify
from certify.stationary.answer import Effort, StationaryAnswer, certify_forever
from certify.stationary.chain import pairs_chain
from certify.stationary.machine import right_for_ever

QUICK = Effort(horizon=0, posteriors=200, window=1, steps=4, seconds=0.0)
MODELS = 100  # in each test; the whole run has 20 such tests


def check_laws(answer: StationaryAnswer, horizon: int) -> None:
    """The observer plays P(A | H) on every history, and the machine is proved right."""
    observer = answer.observer
    for history, alpha in histories(answer.process, horizon):
        law = {observer.actions[a]: p for a, p in observer.laws[observer.law[follow(observer, history)]]}
        assert law == law_of(answer.process, alpha), history
    assert right_for_ever(answer.machine, answer.process).right
    if answer.smallest_machine is not None:
        assert right_for_ever(answer.smallest_machine, answer.process).right


def check_relation(answer: StationaryAnswer) -> None:
    """Conflicts, transitivity and classes, pair by pair on the unreduced observer."""
    observer, relation = answer.observer, answer.relation
    bad = pair_conflicts(observer)
    obs, nodes = observer.observation.tolist(), range(observer.size)
    state = relation.state.tolist()
    assert all(((a, b) in bad) == relation.conflicts[state[a], state[b]] for a in nodes for b in nodes)
    near = {(a, b) for a in nodes for b in nodes if obs[a] == obs[b] and (a, b) not in bad}
    transitive = all((a, c) in near for a, b in near for c in nodes if (b, c) in near)
    assert relation.transitive == transitive
    if transitive:
        classes = relation.classes[relation.state].tolist()
        assert all(((a, b) in near) == (classes[a] == classes[b]) for a in nodes for b in nodes if obs[a] == obs[b])


def check_long_run(answer: StationaryAnswer) -> None:
    """Bits in the long run, in floating point, by averaging a trillion steps."""
    process, machine = answer.process, answer.machine
    rates = answer.rates
    assert rates is not None
    numbers = {name: k for k, name in enumerate(process.observations)}
    actions = {name: k for k, name in enumerate(process.actions)}
    moves = {(c, process.label(actions[a], numbers[o])): d for (c, a, o), d in machine.moves.items()}
    pairs = pairs_chain(process, {numbers[o]: c for o, c in machine.first.items()}, moves)
    mass: dict[tuple[int, int], float] = {}
    for (x, code), m in zip(pairs.pairs, cesaro(pairs.chain.start, pairs.chain.rows), strict=True):
        key = (process.observation[x], code)
        mass[key] = mass.get(key, 0.0) + float(m)
    assert rates.mean.upper.bits == pytest.approx(bits_of(mass), abs=1e-6)
    assert rates.mean.lower <= rates.mean.upper
    assert sum(part.weight for part in rates.recurrent) == 1


def check(answer: StationaryAnswer) -> None:
    assert answer.regime == 1
    check_laws(answer, 4)
    check_relation(answer)
    check_long_run(answer)


@pytest.mark.parametrize("block", range(6))
def test_controllers_agree_with_the_twin(block: int):
    for seed in range(block * MODELS, (block + 1) * MODELS):
        check(certify_forever(random_process(seed), QUICK))


@pytest.mark.parametrize("block", range(4))
def test_controllers_without_classes_agree_with_the_twin(block: int):
    transitive = {True: 0, False: 0, None: 0}
    for seed in range(block * MODELS, (block + 1) * MODELS):
        answer = certify_forever(random_sparse_process(seed), QUICK)
        transitive[answer.relation.transitive] += 1
        check(answer)
    assert transitive[True] > 50
    assert transitive[False] > 5


@pytest.mark.parametrize("block", range(10))
def test_privileged_experts_agree_with_the_twin(block: int):
    regimes = {1: 0, 2: 0, 3: 0}
    for seed in range(block * MODELS, (block + 1) * MODELS):
        answer = certify_forever(random_process(seed, privileged=True), QUICK)
        regimes[answer.regime] += 1
        if answer.exact:
            check_laws(answer, 4)
            check_relation(answer)
            check_long_run(answer)
    assert regimes[1]
    assert regimes[2]


@given(seed=integers(10_000, 10**9), privileged=booleans())
def test_any_world_agrees_with_the_twin(seed: int, privileged: bool):
    """A thousand fresh worlds with ``--hypothesis-profile=explore``."""
    answer = certify_forever(random_process(seed, privileged), QUICK)
    if answer.exact:
        check_laws(answer, 3)
        check_relation(answer)
        check_long_run(answer)


@pytest.mark.parametrize("privileged", [False, True])
def test_finite_horizons_become_final(privileged: bool):
    """R_t^T is what every horizon requires once T − t reaches the look-ahead, and never more."""
    compared = 0
    for seed in range(5000, 5040):
        process = random_process(seed, privileged)
        answer = certify_forever(process, Effort(posteriors=100, window=0, horizon=0, seconds=0.0))
        if not answer.exact or answer.rates is None or answer.observer.size > 40:
            continue
        finite = certify(process.model(12), seconds=0.01)
        lookahead = answer.relation.lookahead
        assert lookahead is not None
        for step, ever in zip(finite.steps, answer.rates.profile, strict=True):
            assert ever.exact
            bits = ever.upper.bits
            assert step.lower <= bits + 1e-9
            if 12 - step.t >= lookahead:
                compared += 1
                assert step.upper == pytest.approx(bits, abs=1e-9)
    assert compared > 150


def test_the_profile_tends_to_the_limit_with_a_clock():
    for seed in range(6000, 6030):
        process = random_process(seed)
        if process.ends:
            continue
        answer = certify_forever(process, Effort(steps=60, seconds=0.0))
        rates = answer.rates
        assert rates is not None
        if rates.clock is None or 60 % rates.period:
            continue
        last = [step.upper.bits for step in rates.profile[60 - rates.period :]]
        if math.isclose(np.mean(last), rates.clock.upper.bits, abs_tol=1e-3):
            continue
        earlier = [step.upper.bits for step in rates.profile[20 : 20 + rates.period]]
        assert abs(np.mean(last) - rates.clock.upper.bits) < abs(np.mean(earlier) - rates.clock.upper.bits)
