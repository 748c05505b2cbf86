"""Long runs of random chains: exact identities, and the averages of many steps."""

import random
from fractions import Fraction

import numpy as np
import pytest
from stationary_twin import cesaro, random_row

from certify.stationary.chain import Chain, TooMuchWork, lump, period, recurrent_classes
from certify.stationary.longrun import conditional_bits, discounted, long_run, masses, proves_mean


def random_chain(seed: int) -> Chain:
    rng = random.Random(seed)
    size = rng.randint(1, 12)
    start = random_row(rng, size, 3)
    rows = [random_row(rng, size, 2) for _ in range(size)]
    return Chain([start.get(k, Fraction(0)) for k in range(size)], rows, [rng.randrange(3) for _ in range(size)])


def test_means_are_proved_and_are_the_averages():
    periods, several = set(), 0
    for seed in range(200):
        chain = random_chain(seed)
        run = long_run(chain)
        assert proves_mean(chain, run.mean, run.potential)
        assert np.allclose([float(p) for p in run.mean], cesaro(chain.start, chain.rows), atol=1e-7)
        assert sum(part.weight for part in run.recurrent) == 1
        periods.add(run.period)
        several += len(run.recurrent) > 1
        wrong = [run.mean[-1], *run.mean[:-1]]
        assert wrong == run.mean or not proves_mean(chain, wrong, run.potential)
    assert {1, 2} <= periods
    assert several > 10


def test_lumping_keeps_every_law_of_labels():
    smaller = 0
    for seed in range(100):
        chain = random_chain(seed)
        small = lump(chain)
        smaller += small.size < chain.size
        law, other = chain.start, small.start
        for _ in range(6):
            assert masses(law, chain.label) == masses(other, small.label)
            law, other = chain.step(law), small.step(other)
        assert masses(long_run(chain).mean, chain.label) == masses(long_run(small).mean, small.label)
    assert smaller > 20


def test_discounted_laws_are_the_weighted_sums():
    gamma = Fraction(3, 4)
    for seed in range(40):
        chain = random_chain(seed)
        law, total = chain.start, np.zeros(chain.size)
        for t in range(200):
            total += float((1 - gamma) * gamma**t) * np.array([float(p) for p in law])
            law = [Fraction(p).limit_denominator(10**15) for p in chain.step(law)]
        assert np.allclose([float(p) for p in discounted(chain, gamma)], total, atol=1e-9)


def test_periods_of_cycles_and_the_clock():
    cycle = Chain([Fraction(1), *[Fraction(0)] * 5], [{(k + 1) % 6: Fraction(1)} for k in range(6)], [0] * 6)
    assert recurrent_classes(cycle.rows) == [[0, 1, 2, 3, 4, 5]]
    assert period(cycle.rows, [0, 1, 2, 3, 4, 5]) == 6
    assert long_run(cycle.clocked(6)).mean.count(Fraction(1, 6)) == 6
    assert period([{0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(1)}], [0, 1]) == 1


def test_too_much_work_is_refused():
    ring = Chain([Fraction(1), *[Fraction(0)] * 5], [{(k + 1) % 6: Fraction(1)} for k in range(6)], [0] * 6)
    with pytest.raises(TooMuchWork, match="products"):
        long_run(ring, most=3)


def test_entropy_is_exact():
    mass = {0: Fraction(1, 8), 1: Fraction(3, 8), 2: Fraction(1, 2)}
    assert conditional_bits(mass, [0, 0, 1]).bits == pytest.approx(0.5 * 0.8112781244591328)
    assert conditional_bits(mass, [0, 1, 2]).bits == 0
