"""Memory without a clock: known cases, and every stationary machine of small models."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify import Answer, Model, certify
from certify.core.codes import verify_codes
from certify.zoo import build, instances


def waiting(steps: int) -> Model:
    """Wait so many steps, then go; nothing is ever seen."""
    return Model.from_latents(steps + 1, {0: Fraction(1)}, lambda _, a: ("dark", "go" if len(a) == steps else "wait"))


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_wait_is_free_with_a_clock_and_must_be_counted_without(steps: int) -> None:
    answer = certify(waiting(steps))
    assert [step.rate for step in answer.steps] == [0] * (steps + 1)
    actual = answer.clock_free
    assert actual.exact
    assert actual.upper == pytest.approx(math.log2(steps + 1))
    assert answer.codes == {"time_indexed": 1, "stationary": steps + 1}


def test_what_is_seen_counts_for_nothing() -> None:
    clock = Model.from_latents(6, {0: Fraction(1)}, lambda _, a: (f"{len(a)}", "go" if len(a) == 5 else "wait"))
    assert certify(clock).clock_free.upper == 0


@pytest.mark.parametrize("name", [item.name for item in instances()])
def test_the_zoo_is_decided(name: str) -> None:
    answer = certify(build(name), seconds=1 if name == "modulo-counter" else 60)
    actual = answer.clock_free
    assert actual.exact or name == "modulo-counter"
    assert actual.lower <= actual.upper
    assert actual.lower >= sum(step.lower for step in answer.steps) / answer.model.horizon - 1e-9
    assert answer.codes["stationary"] is not None
    assert one_machine(answer)


def one_machine(answer: Answer) -> bool:
    """The labels, made different for different observations, are one stationary machine."""
    pairs: dict[tuple[int, int], int] = {}
    labels = [
        [pairs.setdefault((o, c), len(pairs)) for o, c in zip(level.observation.tolist(), row.tolist(), strict=True)]
        for level, row in zip(answer.model.graph.levels, answer.clock_free.labels, strict=True)
    ]
    return verify_codes(answer.model.graph, labels, stationary=True) is None


def literal(model: Model) -> float:
    """The least rate over all labellings of all histories with as many labels as an observation has histories."""
    graph = model.graph
    nodes = [(t, k) for t, level in enumerate(graph.levels) for k in range(level.size)]
    seen = [int(graph.levels[t].observation[k]) for t, k in nodes]
    ranks = [seen[:n].count(o) for n, o in enumerate(seen)]  # a label no larger than the histories before it
    best = math.inf
    for choice in product(*(range(r + 1) for r in ranks)):
        labels = [[0] * level.size for level in graph.levels]
        for (t, k), o, c in zip(nodes, seen, choice, strict=True):
            labels[t][k] = o * len(nodes) + c
        if verify_codes(graph, labels, stationary=True) is None:
            best = min(best, rate(model, labels))
    return best


def rate(model: Model, labels: list[list[int]]) -> float:
    joint: dict[tuple[int, int], float] = {}
    seen: dict[int, float] = {}
    for level, row in zip(model.graph.levels, labels, strict=True):
        for o, c, m in zip(level.observation.tolist(), row, level.mass.tolist(), strict=True):
            p = m / level.total / model.horizon
            joint[o, c], seen[o] = joint.get((o, c), 0) + p, seen.get(o, 0) + p
    return sum(p * math.log2(seen[o] / p) for (o, _), p in joint.items())


@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("ab")), min_size=2, max_size=6), st.integers(1, 2))
def test_no_machine_is_below_and_one_is_at_the_upper_end(table: Any, hidden: int) -> None:
    def step(latent: int, actions: tuple[str, ...]) -> tuple[str, str]:
        return table[(3 * latent + len(actions)) % len(table)]

    model = Model.from_latents(3, {k: Fraction(1, hidden) for k in range(hidden)}, step)
    answer = certify(model)
    bounds, least = answer.clock_free, literal(model)
    assert bounds.lower - 1e-9 <= least <= bounds.upper + 1e-9
    assert not bounds.exact or bounds.upper == pytest.approx(least)
    assert one_machine(answer)
