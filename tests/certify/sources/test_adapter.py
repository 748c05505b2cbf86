"""The adapter contract: what it builds is exact, and what is wrong with a task is told in one line."""

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify import Model, UserError, certify
from certify.sources.adapter import (
    END,
    Adapter,
    History,
    check_task,
    chi_squared_tail,
    readable,
    to_model,
)
from certify.sources.playing import Player
from certify.zoo import build


class Corridor:
    """A cue, some cells, a fork; the episode ends when one turns."""

    def __init__(self, cells: int = 1) -> None:
        self.cells, self.at, self.cue = cells, 0, ""

    def reset(self, cue: str) -> str:
        self.at, self.cue = 0, cue
        return self.show()

    def step(self, action: str) -> tuple[str, bool]:
        self.at += 1
        return self.show(), self.at > self.cells + 1

    def show(self) -> str:
        return self.cue if self.at == 0 else "hall" if self.at <= self.cells else "fork"


def turn(cue: str, history: History) -> Any:
    return {"north": "up", "south": "down"}[cue] if history[-1] == "fork" else "on"


def corridor(env: Corridor | None = None, horizon: int = 3, **changes: Any) -> Adapter[str]:
    env = env or Corridor()
    parts: dict[str, Any] = {"hidden": ["north", "south"], "reset": env.reset, "step": env.step, "expert": turn}
    return Adapter("corridor", horizon, **{**parts, **changes})


def one_line(caught: pytest.ExceptionInfo[UserError]) -> str:
    text = str(caught.value)
    assert "\n" not in text
    return text


# ---- what is built


def test_a_task_becomes_the_model_that_was_written_by_hand() -> None:
    def step(cue: str, actions: tuple[str, ...]) -> tuple[str, str]:
        return [(cue, "on"), ("hall", "on"), ("fork", {"north": "up", "south": "down"}[cue])][len(actions)]

    model = to_model(corridor())
    assert model.name == "corridor"
    assert model.digest == Model.from_latents(3, {"north": "1/2", "south": "1/2"}, step).digest
    assert [s.rate for s in certify(model).steps] == [0.0, 1.0, 1.0]


def test_weights_are_exact_and_zero_weights_are_never_played() -> None:
    played: list[str] = []
    env = Corridor()

    def reset(cue: str) -> str:
        played.append(cue)
        return env.reset(cue)

    model = to_model(corridor(env, hidden={"north": "1/3", "south": "2/3", "west": 0}, reset=reset))
    assert model.episodes is not None
    assert sorted(model.episodes.weight.tolist()) == [1, 2]
    assert set(played) == {"north", "south"}


def test_after_the_end_come_end_symbols_and_end_actions() -> None:
    steps = Player(corridor(horizon=5)).play("north")
    assert list(zip(steps.seen, steps.actions, strict=True)) == [
        ("north", "on"),
        ("hall", "on"),
        ("fork", "up"),
        (END, END),
        (END, END),
    ]
    assert [s.rate for s in certify(to_model(corridor(horizon=5))).steps] == [0.0, 1.0, 1.0, 0.0, 0.0]


def test_an_ended_environment_is_not_stepped_and_its_expert_not_asked() -> None:
    env = Corridor()
    asked: list[History] = []

    def expert(cue: str, history: History) -> Any:
        asked.append(history)
        return turn(cue, history)

    Player(corridor(env, horizon=9, expert=expert)).play("south")
    assert env.at == 3
    assert asked[-1] == ("south", "on", "hall", "on", "fork")


def test_the_last_action_is_not_played() -> None:
    env = Corridor()
    Player(corridor(env, horizon=2)).play("south")
    assert env.at == 1


def test_a_stochastic_expert_branches_with_exact_weights() -> None:
    def expert(cue: str, history: History) -> Any:
        if history[-1] == "hall":
            return {"on": "1/3", "jump": "2/3", "back": 0}
        return {"up": Fraction(1, 4), "down": "0.75"} if history[-1] == "fork" else "on"

    actual = {
        tuple(steps.actions): Fraction(*weight) for weight, steps in Player(corridor(expert=expert)).branches("north")
    }
    assert actual == {
        ("on", "on", "up"): Fraction(1, 12),
        ("on", "on", "down"): Fraction(1, 4),
        ("on", "jump", "up"): Fraction(1, 6),
        ("on", "jump", "down"): Fraction(1, 2),
    }
    model = to_model(corridor(expert=expert))
    assert model.episodes is not None
    assert len(model.episodes.weight) == 8
    assert check_task(corridor(expert=expert))[1].startswith("8 trajectories")


laws = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any)


@given(st.lists(laws, min_size=1, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4))
def test_branches_are_the_products_of_the_laws(table: list[list[int]], ends: list[bool]) -> None:
    """Against a literal recursion: a walk whose law and end depend on the sum of the actions so far."""
    state = [0]

    def reset(_: None) -> int:
        state[0] = 0
        return 0

    def step(action: str) -> tuple[int, bool]:
        state[0] += int(action)
        return state[0], ends[state[0] % 4]

    def expert(_: None, history: History) -> dict[str, Fraction]:
        row = table[int(history[-1]) % len(table)]
        return {str(a): Fraction(w, sum(row)) for a, w in enumerate(row)}

    def literal(at: int, t: int, ended: bool) -> Iterator[tuple[Fraction, tuple[str, ...]]]:
        if t == 3:
            yield Fraction(1), ()
        elif ended:
            yield from ((p, (END, *rest)) for p, rest in literal(at, t + 1, True))
        else:
            row = table[at % len(table)]
            for a, w in enumerate(row):
                for p, rest in literal(at + a, t + 1, ends[(at + a) % 4]) if w else ():
                    yield p * Fraction(w, sum(row)), (str(a), *rest)

    adapter = Adapter("walk", 3, [None], reset, step, expert)
    actual = sorted((Fraction(*weight), tuple(steps.actions)) for weight, steps in Player(adapter).branches(None))
    assert actual == sorted(literal(0, 0, False))


# ---- what is refused


def test_an_environment_that_is_not_deterministic_is_shown_with_both_trajectories() -> None:
    env = Corridor(cells=1)
    resets = iter(range(10))

    def reset(cue: str) -> str:
        env.cells = 1 + next(resets)  # longer every time
        return env.reset(cue)

    with pytest.raises(UserError) as caught:
        to_model(corridor(env, reset=reset))
    assert one_line(caught) == (
        "corridor with hidden value 'north': is not deterministic at step 3: "
        "first north -on-> hall -on-> fork (up 1), then north -on-> hall -on-> hall (on 1); "
        "put all randomness into the hidden value or the expert's law"
    )


def test_long_trajectories_are_told_from_their_end() -> None:
    env = Corridor(cells=6)
    resets = iter(range(10))

    def reset(cue: str) -> str:
        env.cells = 6 + next(resets)
        return env.reset(cue)

    with pytest.raises(UserError, match=r"first … hall -on-> hall -on-> hall -on-> fork \(up 1\), then … hall"):
        to_model(corridor(env, horizon=9, reset=reset))


@pytest.mark.parametrize("generator", [random.random, lambda: np.random.random()])
def test_global_generators_are_caught(generator: Callable[[], float]) -> None:
    noisy = corridor(symbol=lambda raw: f"{raw} {generator():.3f}")
    with pytest.raises(UserError, match="is not deterministic at step 1: first north 0"):
        to_model(noisy)


def test_a_copy_of_noise_is_blamed_on_the_environment_not_on_its_expert() -> None:
    noise = iter(["x", "y"])
    copying = corridor(reset=lambda _: next(noise), expert=lambda _, history: history[-1])
    with pytest.raises(UserError, match=r"is not deterministic at step 1: first x \(x 1\), then y \(y 1\)"):
        to_model(copying)


def test_an_expert_that_disagrees_with_itself_is_told_so() -> None:
    turns = iter(["up", "down"])
    fickle = corridor(expert=lambda _, history: next(turns) if history[-1] == "fork" else "on")
    with pytest.raises(UserError) as caught:
        to_model(fickle)
    assert "the expert disagrees with itself at step 3: first" in one_line(caught)
    assert "fork (up 1), then" in one_line(caught)
    assert "fork (down 1)" in one_line(caught)


def test_a_branch_must_begin_like_the_trajectory_it_leaves() -> None:
    """The law of the first step changes once the first trajectory and its replay have been played."""
    asked = iter(["1/2", "1/2", "1/3"])

    def expert(_: str, history: History) -> Any:
        if len(history) > 1:
            return "on"
        p = Fraction(next(asked))
        return {"on": p, "run": 1 - p}

    with pytest.raises(UserError, match=r"itself at step 1: first north \(on 1/2, run 1/2\), then north \(on 1/3, "):
        to_model(corridor(expert=expert))


def test_an_expert_that_changes_the_law_it_gave_is_told_so() -> None:
    law: dict[str, Any] = {"on": "1/2", "run": "1/2"}
    calls = iter(range(99))

    def expert(_: str, history: History) -> Any:
        law.update({"on": "1/3", "run": "2/3"} if next(calls) == 3 else {})
        return law if len(history) == 1 else "on"

    with pytest.raises(UserError, match=r"itself at step 1: first north \(on 1/2, run 1/2\), then north \(on 1/3, "):
        to_model(corridor(expert=expert))


def test_a_law_may_be_written_in_another_way_when_it_is_given_again() -> None:
    ways = cycle([{"on": "1/2", "run": "1/2"}, {"run": Fraction(1, 2), "on": "0.5", "back": 0}])
    either = corridor(expert=lambda _, history: next(ways) if len(history) == 1 else "on")
    plain = corridor(expert=lambda _, history: {"on": "1/2", "run": "1/2"} if len(history) == 1 else "on")
    assert to_model(either).digest == to_model(plain).digest


@pytest.mark.parametrize("other", [2, 4])
def test_an_episode_that_ends_at_another_time_is_not_deterministic(other: int) -> None:
    env = Corridor(cells=1)
    resets = iter(range(10))

    def reset(cue: str) -> str:
        env.cells = 1 if next(resets) == 0 else other - 2
        return env.reset(cue)

    with pytest.raises(UserError, match=r"is not deterministic at step \d: first .*, then "):
        to_model(corridor(env, horizon=6, reset=reset, symbol=lambda _: "dark", expert=lambda *_: "on"))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"up": "1/2", "down": "1/3"}, "the probabilities sum to 5/6, not to 1"),
        ({"up": "3/2", "down": "-1/2"}, "the probability -1/2 is negative"),
        ({}, "the probabilities sum to 0, not to 1"),
        ({"up": 0.5, "down": 0.5}, "a float, which is not exact"),
        ({"up": "half"}, "expected a rational"),
        ({0: 1}, r"gave \{0: 1\}; expected the name of an action"),
        (0, "gave 0; expected the name of an action"),
        (None, "gave None; expected the name of an action"),
    ],
)
def test_a_bad_law_is_refused_where_it_was_given(given: Any, reason: str) -> None:
    bad = corridor(expert=lambda _, history: given if history[-1] == "hall" else "on")
    with pytest.raises(UserError, match=reason) as caught:
        to_model(bad)
    assert one_line(caught).startswith("corridor.expert('north', …'hall')")


def test_a_symbol_that_is_no_text_is_refused() -> None:
    with pytest.raises(UserError, match=r"^corridor\.symbol: gave 4 at step 2; a symbol is text$"):
        to_model(corridor(symbol=lambda raw: len(raw) if raw == "hall" else raw))


@pytest.mark.parametrize("result", [("hall", 0.0, False, False, {}), ("hall", 0), "hall", ["hall", True]])
def test_a_step_that_returns_something_else_is_refused(result: Any) -> None:
    with pytest.raises(UserError, match=r"^corridor\.step: gave .*; expected the observation and whether it has"):
        to_model(corridor(step=lambda _: result))


@pytest.mark.parametrize("horizon", [0, -1, 2.5, "3", None])
def test_a_horizon_is_a_positive_whole_number(horizon: Any) -> None:
    with pytest.raises(UserError, match=r"^corridor\.horizon: expected a whole number of steps, not "):
        to_model(corridor(horizon=horizon))


@pytest.mark.parametrize(
    ("hidden", "reason"),
    [
        ([], "no hidden value is given"),
        ({}, "no hidden value is given"),
        ({"north": "1/2", "south": "1/3"}, "the weights sum to 5/6, not to 1"),
        ({"north": 2, "south": -1}, "the weight -1 of 'south' is negative"),
        ({"north": 0.5, "south": 0.5}, "a float, which is not exact"),
    ],
)
@pytest.mark.parametrize("use", [to_model, check_task])
def test_bad_weights_are_refused(use: Callable[[Adapter[str]], object], hidden: Any, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        use(corridor(hidden=hidden))
    assert one_line(caught).startswith("corridor.hidden: ")


def test_too_many_trajectories_are_refused_at_once() -> None:
    env = Corridor(cells=50)
    resets: list[str] = []

    def reset(cue: str) -> str:
        resets.append(cue)
        return env.reset(cue)

    endless = corridor(env, 50, reset=reset, expert=lambda *_: {"on": "1/2", "run": "1/2"})
    with pytest.raises(UserError, match=r"about 2e.15 trajectories, judged by 16 random ones; the limit is 200,000: "):
        to_model(endless)
    assert len(resets) == 18  # one trajectory, its replay, and sixteen random ones
    with pytest.raises(UserError, match="corridor: 2 hidden values, and as many trajectories or more; the limit is 1"):
        to_model(corridor(), most=1)


def test_too_many_trajectories_are_refused_where_only_counting_shows_it() -> None:
    def expert(cue: str, history: History) -> Any:
        return {"on": "1/2", "run": "1/2"} if cue == "south" else "on"

    with pytest.raises(UserError, match="corridor: more than 8 trajectories; the limit is 8: shorten the horizon"):
        to_model(corridor(expert=expert), most=8)
    episodes = to_model(corridor(expert=expert), most=9).episodes
    assert episodes is not None
    assert len(episodes.weight) == 9


# ---- check_task


def test_a_good_task_passes_and_what_was_found_is_told() -> None:
    assert check_task(corridor(), episodes=7) == [
        "2 hidden values, weights sum to 1",
        "2 trajectories repeat themselves under other global seeds",
        "4 symbols, all of them text",
        "7 live episodes agree with the symbolic model",
        "0 of 7 live episodes go on after the horizon, 3 steps",
    ]


@pytest.mark.parametrize(("horizon", "longer"), [(2, 7), (3, 0), (4, 0)])
def test_episodes_that_the_horizon_cuts_are_told(horizon: int, longer: int) -> None:
    told = check_task(corridor(horizon=horizon), episodes=7)
    assert f"{longer} of 7 live episodes go on after the horizon, {horizon} steps" in told


def test_a_hidden_value_that_nothing_shows_is_told() -> None:
    doubt = "no observation depends on the hidden value: is it really set?"
    assert doubt in check_task(corridor(symbol=lambda raw: "fork" if raw == "fork" else "dark"))
    assert doubt not in check_task(corridor())
    assert doubt not in check_task(corridor(hidden=["north"]))


def test_live_episodes_that_leave_the_model_are_a_fault() -> None:
    """A cell is added after the model has been built: building plays each of the two trajectories twice."""
    env = Corridor()
    resets = iter(range(99))

    def reset(cue: str) -> str:
        env.cells = 1 if next(resets) < 4 else 2
        return env.reset(cue)

    assert to_model(corridor(env, reset=reset)).horizon == 3
    resets = iter(range(99))
    with pytest.raises(UserError, match=r"is not deterministic at step 3: first .* fork \(\w+ 1\), then .* hall"):
        check_task(corridor(env, reset=reset))


def test_a_live_episode_must_be_that_of_its_own_hidden_value() -> None:
    """The cue is drawn again once the model is built: each episode is in the model, but under the other value."""
    env = Corridor()
    resets = iter(range(99))

    def reset(cue: str) -> str:
        return env.reset(cue if next(resets) < 4 else "north")

    with pytest.raises(UserError, match=r"^corridor with hidden value 'south': is not deterministic at step 1"):
        check_task(corridor(env, reset=reset, expert=lambda _, history: "on"))


@pytest.mark.parametrize("use", [to_model, check_task])
def test_global_generators_are_put_back(use: Callable[[Adapter[str]], object]) -> None:
    env = Corridor()

    def reset(cue: str) -> str:
        random.seed(1)
        np.random.seed(1)
        return env.reset(cue)

    before, before_numpy = random.getstate(), np.random.get_state(legacy=False)
    use(corridor(env, reset=reset))
    assert random.getstate() == before
    np.testing.assert_equal(np.random.get_state(legacy=False), before_numpy)
    with pytest.raises(UserError):
        use(corridor(env, reset=reset, expert=lambda *_: None))
    assert random.getstate() == before
    np.testing.assert_equal(np.random.get_state(legacy=False), before_numpy)


# ---- symbols


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("hall", "hall"),
        (3, "3"),
        (2.0, "2"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (np.array(0.5), "0.5"),
        (True, "True"),
        (None, "None"),
        (np.array([[1.0, 0.25]], np.float32), "[1 0.25]"),
        (np.array([0, 255], np.uint8), "[0 255]"),
        (np.array([True, False]), "[True False]"),
        (np.array([]), "[]"),
        ((1, [2.0, np.int64(3)]), "(1, (2, 3))"),
        ({"b": np.array([1]), "a": "go"}, "{a: go, b: [1]}"),
        (("go on", ""), "('go on', '')"),
        ({1: 2, "x": 3}, "{1: 2, x: 3}"),
        (float("nan"), "nan"),
    ],
)
def test_the_default_symbol_is_short(raw: Any, text: str) -> None:
    assert readable(raw) == text


@given(st.data(), st.sampled_from([np.float16, np.float32, np.float64, np.int32]))
def test_arrays_have_equal_symbols_exactly_when_they_are_equal(data: st.DataObject, kind: Any) -> None:
    numbers = st.floats(allow_nan=False, width=16) if kind != np.int32 else st.integers(-3, 3)
    first = np.array(data.draw(st.lists(numbers, min_size=2, max_size=2)), kind)
    nearby = np.nextafter(first, kind(1)) if kind != np.int32 else first + 1
    for second in (first.copy(), nearby):
        assert (readable(first) == readable(second)) == np.array_equal(first, second)


texts = st.text(",' ()\"a:", max_size=4)


@given(st.tuples(texts, texts), st.tuples(texts, texts))
def test_texts_inside_are_kept_apart(first: Sequence[str], second: Sequence[str]) -> None:
    assert (readable(first) == readable(second)) == (first == second)


def test_the_zoo_is_reached_through_the_contract() -> None:
    """The memory chain of the zoo, played as an environment, has the digest of the model itself."""
    state: dict[str, Any] = {}

    def show() -> str:
        context, query = state["hidden"]
        shown = ["context " + context] if state["t"] < 2 else []
        return " ".join([*shown, f"query {query}"] if state["t"] == 4 else shown or ["dark"])

    def reset(hidden: tuple[str, int]) -> str:
        state.update(hidden=hidden, t=0)
        return show()

    def step(_: str) -> tuple[str, bool]:
        state["t"] += 1
        return show(), state["t"] == 5

    values = [(context, query) for context in ("00", "01", "10", "11") for query in (0, 1)]
    expert: Callable[[tuple[str, int], History], str] = lambda h, past: h[0][h[1]] if len(past) == 9 else "0"  # noqa: E731
    assert (
        to_model(Adapter("chain", 5, values, reset, step, expert)).digest
        == build("memory-chain", bits=2, delay=4).digest
    )


# ---- what the environment draws


def test_draws_are_held_against_the_listed_values() -> None:
    rng = random.Random(1)
    told = check_task(corridor(), draw=lambda: rng.choice(["north", "south"]))
    assert told[-1].startswith("2,000 draws against the weights: χ² = ")
    told = check_task(corridor(), draw=lambda: rng.choice(["north", "north", "south"]))
    assert told[-1].startswith("warning: the weights are not those of the environment, 2,000 draws")
    told = check_task(corridor(), draw=lambda: rng.choice(["north", "south", "west"]), draws=30)
    assert any(line.startswith("warning: drawn but not listed as hidden values: 'west' (") for line in told)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 40])
@pytest.mark.parametrize("statistic", [0.0, 0.3, 2.0, 17.5, 90.0])
def test_the_tail_of_chi_squared(statistic: float, freedom: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert chi_squared_tail(statistic, freedom) == pytest.approx(stats.chi2.sf(statistic, freedom), rel=1e-9)
