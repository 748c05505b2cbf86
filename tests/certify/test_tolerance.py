"""Brackets for soft experts: right on known cases, and never wrong against every machine there is."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from certify import Model, UserError, certify
from certify.__main__ import main
from certify.core.assignments import verify
from certify.tolerance import Divergence, within


def nuisance(spread: Fraction = Fraction(15, 1000), values: int = 8) -> Model:
    """A bit decides the law at the fork; a nuisance, shown with it, moves the law by at most `spread`."""

    def step(latent: tuple[int, int], actions: tuple[str, ...]) -> tuple[str, Any]:
        bit, extra = latent
        if len(actions) < 2:
            return (f"cue {bit} {extra}", "hall")[len(actions)], "wait"
        p = Fraction(1, 10) + Fraction(8, 10) * bit + spread * Fraction(extra, values - 1)
        return "fork", {"left": p, "right": 1 - p}

    latents = [((b, n), Fraction(1, 2 * values)) for b in (0, 1) for n in range(values)]
    return Model.from_latents(3, latents, step)


def brackets(model: Model, tolerance: Any, divergence: Divergence = "tv") -> list[tuple[float, float]]:
    return [(step.lower, step.upper) for step in within(model, tolerance, divergence).steps]


def test_a_nuisance_below_the_tolerance_needs_no_memory() -> None:
    assert brackets(nuisance(), 0) == [(0, 0), (4, 4), (4, 4)]
    assert brackets(nuisance(), "0.02") == [(0, 0), (1, 1), (1, 1)]
    assert brackets(nuisance(), "0.5") == [(0, 0)] * 3
    answer = within(nuisance(), "0.02")
    assert max(step.error for step in answer.steps) == pytest.approx(0.0075)
    assert len({state.law["left"] for states in answer.machine.states for state in states if "left" in state.law}) == 2


def test_relative_entropy() -> None:
    assert brackets(nuisance(), 0, "kl") == [(0, 0), (4, 4), (4, 4)]
    answer = within(nuisance(), "0.02", "kl")
    assert [(step.lower, step.upper) for step in answer.steps] == [(0, 0), (1, 1), (1, 1)]
    assert 0 < answer.steps[2].error <= 0.02


def test_a_law_exactly_at_the_tolerance_is_within_it() -> None:
    two = nuisance(Fraction(1, 50), 2)
    assert brackets(two, Fraction(1, 100))[1] == (1, 1)
    assert brackets(two, Fraction(1, 100) - Fraction(1, 10**15))[1] == (2, 2)


def test_thousands_of_laws_on_a_line() -> None:
    """Any interval of width 2ε holds a tenth of them, so no state is likelier: log₂ 10 bits, almost exactly."""
    count = 2_000

    def step(latent: int, actions: tuple[str, ...]) -> tuple[str, Any]:
        p = Fraction(latent, count)
        return ("fork", {"left": p, "right": 1 - p}) if actions else (f"cue {latent}", "wait")

    actual = within(Model.from_latents(2, {k: Fraction(1, count) for k in range(1, count + 1)}, step), "0.05").steps[1]
    assert math.log2(10) - 0.01 < actual.lower <= actual.upper < math.log2(10) + 0.01
    assert actual.error <= 0.05 + 1e-12


# ---- against every machine


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for k, cell in enumerate(rest):
            yield [*rest[:k], [items[0], *cell], *rest[k + 1 :]]


Near = Callable[[list[float]], bool]  # whether one law is near enough to all that choose the first action so often


def near(epsilon: Fraction, divergence: Divergence) -> Near:
    """With two actions: a range of 2ε at most; for relative entropy, intervals of the laws near each that meet."""
    if divergence == "tv":
        return lambda chances: max(chances) - min(chances) <= 2 * epsilon + 1e-12

    def meet(chances: list[float]) -> bool:
        if max(chances) - min(chances) == 0:
            return True
        ends = [interval(p, float(epsilon)) for p in chances]
        return max(low for low, _ in ends) <= min(high for _, high in ends) + 1e-9

    return meet


@cache
def interval(p: float, epsilon: float) -> tuple[float, float]:
    """The chances q with KL((p, 1 − p) ‖ (q, 1 − q)) ≤ ε, by halving on either side of p."""

    def apart(q: float) -> float:
        pairs = ((p, q), (1 - p, 1 - q))
        return sum(a * math.log2(a / b) if b else math.inf for a, b in pairs if a)

    ends: list[float] = []
    for far in (0.0, 1.0):
        inside, outside = p, far
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if apart(middle) <= epsilon else (inside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def literal(model: Model, close: Near) -> list[float]:
    """The least H(C_t | O_t) of each step over all closed assignments whose cells have one law near to all theirs."""
    graph = model.graph
    best = [math.inf] * graph.horizon
    levels = [[label for label in labellings(model, t) if sound(model, t, label, close)] for t in range(graph.horizon)]
    for cells in product(*levels):
        if all(closed(model, t, cells) for t in range(graph.horizon - 1)):
            best = [min(least, bits(model, t, label)) for t, (least, label) in enumerate(zip(best, cells, strict=True))]
    return best


def labellings(model: Model, t: int) -> Iterator[tuple[int, ...]]:
    size = model.graph.levels[t].size
    for partition in partitions(list(range(size))):
        yield tuple(next(k for k, cell in enumerate(partition) if node in cell) for node in range(size))


def sound(model: Model, t: int, label: tuple[int, ...], close: Near) -> bool:
    """Whether every cell has one observation and laws near to one."""
    level = model.graph.levels[t]
    chance = [float(dict(model.graph.laws[law]).get(0, Fraction(0))) for law in level.law]
    for cell in set(label):
        nodes = [node for node, own in enumerate(label) if own == cell]
        if len({int(level.observation[node]) for node in nodes}) > 1 or not close([chance[node] for node in nodes]):
            return False
    return True


def closed(model: Model, t: int, cells: tuple[tuple[int, ...], ...]) -> bool:
    level, moves = model.graph.levels[t], dict[tuple[int, int], int]()
    words = zip(level.source.tolist(), model.graph.continuation(t).tolist(), level.child.tolist(), strict=True)
    return all(moves.setdefault((cells[t][s], word), cells[t + 1][c]) == cells[t + 1][c] for s, word, c in words)


def bits(model: Model, t: int, label: tuple[int, ...]) -> float:
    level, joint, seen = model.graph.levels[t], Counter[tuple[int, int]](), Counter[int]()
    for o, c, m in zip(level.observation.tolist(), label, level.mass.tolist(), strict=True):
        joint[o, c] += m
        seen[o] += m
    return sum(m / level.total * math.log2(seen[o] / m) for (o, _), m in joint.items())


def random_model(rng: np.random.Generator) -> Model:
    """Up to four hidden values, two steps, laws of two actions on a grid."""
    count = int(rng.integers(2, 5))
    weights = rng.integers(1, 4, count)
    shown, laws = rng.integers(0, 2, (count, 2)), rng.integers(0, 21, (count, 2))
    names = rng.integers(0, count, count)

    def step(latent: int, actions: tuple[str, ...]) -> tuple[str, Any]:
        if not actions:
            return f"cue {names[latent]}", "left"
        p = Fraction(int(laws[names[latent], shown[latent, 1]]), 20)
        return f"end {shown[latent, 1]}", {"left": p, "right": 1 - p}

    return Model.from_latents(2, {k: Fraction(int(w), int(weights.sum())) for k, w in enumerate(weights)}, step)


@pytest.mark.parametrize("divergence", ["tv", "kl"])
@pytest.mark.parametrize("seed", range(5))
def test_brackets_hold_the_least_of_all_machines(seed: int, divergence: Divergence) -> None:
    """A thousand random models in all, a hundred at a time."""
    rng = np.random.default_rng(seed)
    exact = 0
    for _ in range(100):
        model = random_model(rng)
        epsilon = Fraction(int(rng.integers(0, 8)), 40)
        answer, least = within(model, epsilon, divergence), literal(model, near(epsilon, divergence))
        for step, best in zip(answer.steps, least, strict=True):
            assert step.lower - 1e-9 <= best <= step.upper + 1e-9
            assert step.error <= epsilon + 1e-12
            exact += step.upper - step.lower < 1e-9
            if not epsilon:
                assert step.lower == pytest.approx(step.upper)
                assert step.upper == pytest.approx(certify(model).steps[step.t - 1].upper)
        assert verify(answer.upper.joint.graph, answer.upper.joint.cells) is None
    assert exact > (185 if divergence == "tv" else 150)  # of 200


@pytest.mark.parametrize(("tolerance", "reason"), [("-0.1", "not negative"), (0.1, "a float"), ("much", "a rational")])
def test_what_is_not_a_tolerance_is_refused(tolerance: Any, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        within(nuisance(), tolerance)


def test_the_command_line(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.json"
    path.write_text(nuisance().to_json())
    assert main([str(path), "--tolerance", "0.02", "--machine", str(tmp_path / "machine.dot")]) == 0
    assert "within 1/50 (tv) of the expert" in capsys.readouterr().out
    assert main([str(path), "--tolerance", "0.02", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [step["upper"] for step in told["steps"]] == [0, 1, 1]
    assert main([str(path), "--tolerance", "0.02", "--plot", str(tmp_path / "x.svg")]) == 2
    assert "--tolerance: goes with --json and --machine alone" in capsys.readouterr().err
