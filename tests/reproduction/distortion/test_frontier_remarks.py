"""Two remarks about rates and futures, checked literally on small finite models: what to charge, what to predict."""

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable
from fractions import Fraction
from itertools import product
from math import lcm, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.distortion.blahut import Law
from reproduction.distortion.frontier import best_decoder

EITHER: Law = {"l": Fraction(1, 2), "r": Fraction(1, 2)}


def certain(action: str) -> Law:
    return {action: Fraction(1)}


# ---- rate accounting -----------------------------------------------------------------------------------------------


def conditional_entropy(pairs: list[tuple[Hashable, Hashable]]) -> float:
    """H(X|Y) of equally likely pairs (x, y)."""
    joint: dict[tuple[Hashable, Hashable], int] = defaultdict(int)
    given: dict[Hashable, int] = defaultdict(int)
    for x, y in pairs:
        joint[x, y] += 1
        given[y] += 1
    return sum(count / len(pairs) * log2(given[y] / count) for (_, y), count in joint.items())


@given(st.integers(2, 4), st.integers(2, 4), st.integers(2, 4), st.integers(1, 4))
def test_only_the_rate_given_the_observation_charges_what_must_persist(
    cues: int, nuisances: int, signs: int, delay: int
) -> None:
    """A cue and a nuisance are shown once, a sign always; the cue is used at the end.

    Three codes act alike: one stores the cue, one also the nuisance, one also the sign. Σ H(C_t|C_{t−1},O_t) cannot
    tell the nuisance from nothing, Σ H(C_t|C_{t−1}) charges for the visible sign, H(C_t|O_t) makes neither mistake.
    """
    episodes = list(product(range(cues), range(nuisances), range(signs)))
    observations = [lambda e: e, *[lambda e: ("hall", e[2])] * delay, lambda e: ("fork", e[2])]
    codes = {"cue": lambda e: e[0], "nuisance": lambda e: (e[0], e[1]), "sign": lambda e: (e[0], e[2])}
    given_both, given_code, given_observation = {}, {}, {}
    for name, code in codes.items():
        previous = [lambda _: None, *[code] * (delay + 1)]  # C_0 is fixed; afterwards the code persists
        steps = list(zip(previous, observations, strict=True))
        given_both[name] = sum(conditional_entropy([(code(e), (c(e), o(e))) for e in episodes]) for c, o in steps)
        given_code[name] = sum(conditional_entropy([(code(e), c(e)) for e in episodes]) for c, _ in steps)
        given_observation[name] = [conditional_entropy([(code(e), o(e)) for e in episodes]) for _, o in steps]
    assert given_both == {"cue": 0, "nuisance": 0, "sign": 0}
    assert given_code["sign"] - given_code["cue"] == pytest.approx(log2(signs))
    assert given_observation["cue"] == pytest.approx([0, *[log2(cues)] * (delay + 1)])
    assert given_observation["sign"] == pytest.approx(given_observation["cue"])
    assert given_observation["nuisance"] == pytest.approx([0, *[log2(cues * nuisances)] * (delay + 1)])


# ---- behavioural future sufficiency --------------------------------------------------------------------------------

History = tuple[str, ...]  # o₁, a₁, o₂, a₂, …, o_t
Levels = list[dict[History, tuple[Fraction, Law]]]  # per step: each reachable history's probability and expert law


def random_tree(generator: random.Random, horizon: int) -> Levels:
    """A random finite model: expert laws that often coincide, next observations on random supports."""

    def expert_law() -> Law:
        return generator.choice([certain("l"), certain("l"), certain("l"), certain("r"), EITHER])

    starts = ["p", "q", "s"]
    levels: Levels = [{(o,): (Fraction(1, len(starts)), expert_law()) for o in starts}]
    for _ in range(horizon - 1):
        following = {}
        for history, (probability, expert) in levels[-1].items():
            for action, chance in expert.items():
                support = generator.choice([["x"], ["y"], ["x", "y"]])
                for o in support:
                    following[(*history, action, o)] = (probability * chance / len(support), expert_law())
        levels.append(following)
    return levels


def related(levels: Levels, left: History, right: History, steps: int) -> bool:
    """~^(J) unrolled literally: same observation and law, and related after every common continuation."""
    t = len(left) // 2
    if left[-1] != right[-1] or levels[t][left][1] != levels[t][right][1]:
        return False
    if steps == 0 or t + 1 == len(levels):
        return True
    continuations = [{h[-2:] for h in levels[t + 1] if h[:-2] == history} for history in (left, right)]
    return all(related(levels, left + u, right + u, steps - 1) for u in continuations[0] & continuations[1])


def future_distortion(levels: Levels, code: dict[History, int], prefixes: Iterable[int]) -> Fraction:
    """Σ_j E[δ(P_E(A_{t+j}|H_t,ξ), q_j(·|C_t,O_t,ξ))] with the best decoder for every (C_t, O_t, ξ), exactly."""
    length = len(next(iter(code)))
    total = Fraction(0)
    for j in prefixes:
        cells: dict[Hashable, list[tuple[Fraction, Law]]] = defaultdict(list)
        for history, weighted in levels[length // 2 + j].items():
            now, continuation = history[:length], history[length:]
            cells[code[now], now[-1], continuation].append(weighted)
        for cell in cells.values():
            unit = lcm(*(probability.denominator for probability, _ in cell))
            letters = [(int(probability * unit), expert) for probability, expert in cell]
            total += sum(probability for probability, _ in cell) * best_decoder(letters)[1]
    return total


def cells_are_compatible(levels: Levels, code: dict[History, int], steps: int) -> bool:
    pairs = product(code, code)
    return all(related(levels, h, k, steps) for h, k in pairs if (code[h], h[-1]) == (code[k], k[-1]))


def test_future_distortion_vanishes_exactly_on_compatible_cells() -> None:
    seen = {True: 0, False: 0}
    missed_by_the_last_prefix = 0
    for seed in range(600):
        generator = random.Random(seed)
        levels = random_tree(generator, horizon=4)
        labels = generator.randint(1, 5)
        code = {history: generator.randrange(labels) for history in levels[1]}
        for steps in range(3):
            compatible = cells_are_compatible(levels, code, steps)
            assert (future_distortion(levels, code, range(steps + 1)) == 0) == compatible
            seen[compatible] += 1
            missed_by_the_last_prefix += not compatible and future_distortion(levels, code, [steps]) == 0
    assert min(seen.values()) > 200
    assert missed_by_the_last_prefix > 10


def test_predicting_only_the_last_prefix_can_miss_an_incompatible_cell() -> None:
    """Two histories part at the next action, which then tells them apart: later predictions see no conflict."""
    third = Fraction(1, 3)
    levels: Levels = [
        {("p",): (third, certain("wait")), ("q",): (2 * third, certain("wait"))},
        {("p", "wait", "hall"): (third, certain("wait")), ("q", "wait", "hall"): (2 * third, certain("wait"))},
        {
            ("p", "wait", "hall", "wait", "fork"): (third, certain("left")),
            ("q", "wait", "hall", "wait", "fork"): (2 * third, certain("right")),
        },
        {
            ("p", "wait", "hall", "wait", "fork", "left", "end"): (third, certain("stay")),
            ("q", "wait", "hall", "wait", "fork", "right", "end"): (2 * third, EITHER),
        },
    ]
    merged = dict.fromkeys(levels[1], 0)
    assert not cells_are_compatible(levels, merged, 2)
    assert [future_distortion(levels, merged, [j]) for j in range(3)] == [0, third, 0]
    separate = {history: index for index, history in enumerate(levels[1])}
    assert future_distortion(levels, separate, range(3)) == 0
