"""Building a model quickly gives the model that is built literally."""

from fractions import Fraction
from typing import Any

import building_twin
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify import Model, UserError
from certify.core import merged
from certify.core.merged import unfold
from certify.sources.adapter import Adapter, to_model

LAWS: list[Any] = ["a", "b", {"a": "1/3", "b": "2/3"}, {"b": Fraction(2, 3), "a": Fraction(1, 3), "c": 0}]
tables = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(LAWS)), min_size=1, max_size=7)
weights = st.lists(st.integers(0, 3), min_size=1, max_size=4).filter(any)


def shares(counts: list[int]) -> dict[int, Fraction]:
    return {k: Fraction(n, sum(counts)) for k, n in enumerate(counts)}


@given(tables, weights, st.integers(1, 4))
def test_latents_are_enumerated_as_written_down_one_by_one(table: Any, counts: list[int], horizon: int) -> None:
    def step(latent: int, actions: tuple[str, ...]) -> tuple[str, Any]:
        return table[(latent + sum(map(ord, actions)) + len(actions)) % len(table)]

    fast, slow = (
        Model.from_latents(horizon, shares(counts), step),
        building_twin.from_latents(horizon, shares(counts), step),
    )
    assert fast.digest == slow.digest
    assert fast.episodes is not None
    assert slow.episodes is not None
    for column in ("observation", "action", "law", "weight", "origin"):
        np.testing.assert_array_equal(getattr(fast.episodes, column), getattr(slow.episodes, column))
    assert (fast.graph.observations, fast.graph.actions) == (slow.graph.observations, slow.graph.actions)


@given(tables, weights, st.integers(1, 4), st.integers(2, 5))
def test_tasks_are_played_as_from_the_beginning(table: Any, counts: list[int], horizon: int, end: int) -> None:
    now = [0, 0]

    def reset(hidden: int) -> str:
        now[:] = [0, hidden]
        return table[hidden % len(table)][0]

    def step(action: str) -> tuple[str, bool]:
        now[:] = [now[0] + 1, now[1] + ord(action)]
        return table[now[1] % len(table)][0], now[0] == end

    def expert(hidden: int, history: tuple[str, ...]) -> Any:
        return table[(hidden + len(history) + ord(history[-1])) % len(table)][1]

    adapter = Adapter("walk", horizon, shares(counts), reset, step, expert)
    assert to_model(adapter).digest == building_twin.to_model(adapter).digest


rows = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)


@given(
    rows,
    st.lists(rows, min_size=3, max_size=3),
    st.lists(st.sampled_from(["x", "y", {"x": "1/2", "y": "1/2"}]), min_size=3, max_size=3),
    st.lists(st.sampled_from(LAWS), min_size=3, max_size=3),
    st.integers(1, 5),
)
def test_integer_posteriors_are_the_rational_ones(
    start: list[int], moves: list[list[int]], shown: list[Any], laws: list[Any], horizon: int
) -> None:
    parts = (
        horizon,
        shares(start),
        lambda t, s: shown[s],
        lambda t, s: laws[(s + t) % 3],
        lambda t, s, a: shares(moves[(s + ord(a)) % 3]),
    )
    fast, slow = Model.from_generative(*parts), building_twin.from_generative(*parts)
    sizes = [[len(level.mass) for level in model.graph.levels] for model in (fast, slow)]
    assert sizes[0] == sizes[1]
    for ours, theirs in zip(fast.graph.levels, slow.graph.levels, strict=True):
        assert ours.total == theirs.total
        assert sorted(ours.mass.tolist()) == sorted(theirs.mass.tolist())
        assert sorted(ours.flow.tolist()) == sorted(theirs.flow.tolist())
        assert abs(ours.history_entropy - theirs.history_entropy) < 1e-12
    assert tree(fast) == tree(slow)


def tree(model: Model) -> list[list[tuple[Any, ...]]]:
    """Every history in words, with its probability and its law."""
    graph = unfold(model.graph)
    return [
        sorted(
            (
                graph.history(t, k),
                Fraction(int(level.mass[k]), level.total),
                sorted((graph.actions[a], p) for a, p in graph.laws[level.law[k]]),
            )
            for k in range(level.size)
        )
        for t, level in enumerate(graph.levels)
    ]


def test_what_never_ends_is_refused_at_once_with_the_remedy() -> None:
    asked: list[int] = []

    def bandit(latent: int, actions: tuple[str, ...]) -> tuple[str, dict[str, str]]:
        asked.append(latent)
        return "lever", {"0": "1/2", "1": "1/2"}

    with pytest.raises(
        UserError, match=r"about 1e\+30 episodes, judged by 16 random ones; the limit is 2,000,000: write"
    ):
        Model.from_latents(100, {0: 1}, bandit)
    assert len(asked) == 17 * 100
    with pytest.raises(UserError, match="latents: more than 1,500 episodes; the limit is 1,500"):
        Model.from_latents(11, {0: 1}, bandit, most=1500)
    assert Model.from_latents(11, {0: 1}, bandit, most=2048).episodes is not None
    with pytest.raises(UserError, match="3 hidden values, and as many episodes or more; the limit is 2"):
        Model.from_latents(1, dict.fromkeys(range(3), "1/3"), bandit, most=2)


def test_posteriors_beyond_the_limit_are_refused() -> None:
    def move(t: int, state: int, action: str) -> dict[int, str]:
        return {2 * state: "1/2", 2 * state + 1: "1/2"}

    def shown(t: int, state: int) -> str:
        return str(state)

    with pytest.raises(UserError, match=r"horizon: more than 1,000 different posteriors at step 11 of 20"):
        Model.from_generative(20, {1: 1}, shown, lambda t, state: "wait", move, most=1000)


def test_posteriors_that_never_meet_are_refused_long_before_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every choice of the expert stays in the state; a random look ahead finds no two alike."""
    monkeypatch.setattr(merged, "_PROBE", 100)
    steps: list[int] = []

    def observe(t: int, state: str) -> str:
        steps.append(t)
        return "dark"

    with pytest.raises(UserError, match=r"in all likelihood more than 100,000 .* at step 24 \(of 1,416 random hist"):
        Model.from_generative(
            59, {"": 1}, observe, lambda t, s: {"0": "1/2", "1": "1/2"}, lambda t, s, a: s + a, most=100_000
        )
    assert max(steps) == 24


def test_posteriors_that_meet_again_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk on 300 places has more posteriors than the probe waits for, and never more than 300."""
    monkeypatch.setattr(merged, "_PROBE", 100)
    model = Model.from_generative(
        5,
        {k: Fraction(1, 300) for k in range(300)},
        lambda t, s: str(s),
        lambda t, s: {"left": "1/2", "right": "1/2"},
        lambda t, s, a: (s + (1 if a == "right" else -1)) % 300,
        most=300,
    )
    assert [level.size for level in model.graph.levels] == [300] * 5
