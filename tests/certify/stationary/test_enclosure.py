"""Long runs in floating point: the interval holds the exact bits, and nothing is claimed where it would be wide."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis.strategies import integers
from stationary_twin import random_process, random_sparse_process

from certify.stationary import answer as answers
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.chain import Chain
from certify.stationary.enclosure import WIDEST, enclosed_law, enclosed_masses
from certify.stationary.longrun import long_run
from certify.stationary.machine import StationaryMachine, right_for_ever
from certify.stationary.rates import enclosed_rates, rates_chain
from certify.stationary.zoo import build

QUICK = Effort(horizon=0, posteriors=200, window=0, steps=1, seconds=0.0)


@pytest.mark.parametrize("name", ["counter", "delayed-cue", "memory-chain", "hallway", "tiger", "cheese-maze"])
def test_the_interval_holds_the_exact_bits(name: str):
    answer = certify_forever(build(name), QUICK)
    rates = enclosed_rates(answer.relation, rates_chain(answer.process, answer.relation))
    assert rates is not None
    assert answer.rates is not None
    assert rates.mean.lower <= answer.rates.mean.lower <= rates.mean.upper
    assert rates.mean.proved
    assert not rates.mean.exact


def test_random_models_agree():
    enclosed = 0
    for seed in range(60):
        answer = certify_forever(random_process(seed), QUICK)
        rates = enclosed_rates(answer.relation, rates_chain(answer.process, answer.relation))
        if rates is not None and answer.rates is not None:
            enclosed += 1
            assert rates.mean.lower <= answer.rates.mean.lower <= rates.mean.upper
    assert enclosed > 20


def test_brackets_without_classes_agree():
    """Where ~ is not transitive the floor moves as little as every partition does."""
    enclosed = 0
    for seed in range(150):
        answer = certify_forever(random_sparse_process(seed), QUICK)
        if answer.relation.transitive or answer.rates is None:
            continue
        rates = enclosed_rates(answer.relation, rates_chain(answer.process, answer.relation))
        if rates is not None:
            enclosed += 1
            exact = answer.rates.mean
            assert rates.mean.lower <= exact.lower
            assert rates.mean.lower.bits == pytest.approx(exact.lower.bits, abs=WIDEST)
            assert rates.mean.upper.bits == pytest.approx(exact.upper.bits, abs=WIDEST)
            assert right_for_ever(
                StationaryMachine.from_labels(answer.relation.observer, rates.cells), answer.process
            ).right
    assert enclosed > 5


def random_chain(rng: random.Random, size: int, classes: int) -> Chain:
    """States that lead anywhere, and some sets that are never left."""
    closed = [list(range(size + 3 * k, size + 3 * k + 3)) for k in range(classes)]
    everything = [*range(size), *(i for part in closed for i in part)]

    def row(targets: list[int]) -> dict[int, Fraction]:
        weights = {j: rng.randint(1, 5) for j in rng.sample(targets, min(len(targets), 3))}
        return {j: Fraction(w, sum(weights.values())) for j, w in weights.items()}

    rows = [row(everything) for _ in range(size)] + [row(part) for part in closed for _ in part]
    start = row(list(range(size)) if size else everything)
    return Chain([start.get(i, Fraction(0)) for i in everything], rows, everything)


@given(seed=integers(0, 10**9), size=integers(0, 12), classes=integers(1, 4))
def test_several_classes_are_entered_as_often_as_they_are(seed: int, size: int, classes: int):
    chain = random_chain(random.Random(seed), size, classes)
    enclosed = enclosed_law(chain)
    assert enclosed is not None
    law, distance = enclosed
    apart = sum(abs(Fraction(p) - q) for p, q in zip(law.tolist(), long_run(chain).mean, strict=True)) / 2
    assert apart <= Fraction(distance) <= Fraction(1, 10**9)


def test_slow_chains_are_left_alone():
    one = Fraction(1)
    rare = Fraction(1, 10**12)  # the time until the root is so long that rounding decides
    slow = Chain([one, Fraction(0)], [{0: 1 - rare, 1: rare}, {0: rare, 1: 1 - rare}], [0, 1])
    assert enclosed_masses(slow, [0, 0]) is None
    late = Chain([one, Fraction(0), Fraction(0)], [{0: 1 - 2 * rare, 1: rare, 2: rare}, {1: one}, {2: one}], [0, 1, 2])
    assert enclosed_masses(late, [0, 0, 0]) is None
    assert WIDEST <= 1e-7


def test_an_answer_falls_back_to_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(answers, "MOST_WORK", 0)
    answer = certify_forever(build("delayed-cue", mean=10), QUICK)
    assert answer.certified
    assert answer.to_dict()["bits"] == pytest.approx(10 / 11, abs=1e-7)
    assert answer.to_dict()["profile"] == []
