"""Which frames suffice: known tasks, loops that can be followed, and a literal twin on random worlds."""

from fractions import Fraction
from itertools import combinations

import pytest
from stationary_twin import histories, law_of, random_process

from certify.errors import UserError
from certify.stationary.frames import Frames, frames, frames_of_model
from certify.stationary.lags import smallest_lags
from certify.stationary.observer import support_observer
from certify.stationary.process import Process
from certify.stationary.zoo import build
from certify.zoo import build as build_model


def lagged(weights: tuple[int, ...]) -> Process:
    """Fair bits; the expert says the exclusive or of those at some lags (0 before the first step)."""
    depth = max(weights)
    start: dict[tuple[int, ...], Fraction] = {(0,) * depth + (bit,): Fraction(1, 2) for bit in (0, 1)}
    return Process.from_generative(
        start,
        lambda x: str(x[-1]),
        lambda x: f"say{sum(x[-1 - lag] for lag in weights) % 2}",
        lambda x, action: {(*x[1:], bit): Fraction(1, 2) for bit in (0, 1)},
    )


@pytest.mark.parametrize(
    ("name", "parameters", "with_actions", "without"),
    [
        ("n-back", {"lag": 3}, 3, 3),
        ("running-parity", {}, 1, None),
        ("delayed-cue", {}, None, None),
        ("repeated-cues", {}, None, None),
        ("blinker", {"period": 6}, 5, None),
        ("hallway", {"length": 3}, 1, 4),
    ],
)
def test_known_stacks(name: str, parameters: dict[str, int], with_actions: int | None, without: int | None):
    observer = support_observer(build(name, **parameters))
    assert frames(observer).k == with_actions
    assert frames(observer, actions=False).k == without


def test_repeating_the_first_observation_can_confuse():
    observer = support_observer(build("n-back", lag=2))
    assert frames(observer, actions=False, padding="mark").k == 2
    repeated = frames(observer, actions=False, padding="repeat")
    assert repeated.k is None
    assert "no finite stack" in repeated.text


@pytest.mark.parametrize(("within", "k"), [(0, 2), ("1/9", 2), ("1/8", 1), ("1/4", 1), ("3/8", 0)])
def test_fewer_frames_suffice_where_laws_may_differ_a_little(within: int | str, k: int):
    """The last bit matters by a quarter, the one before it by an eighth."""
    start: dict[tuple[int, ...], Fraction] = {(0, 0, bit): Fraction(1, 2) for bit in (0, 1)}

    def law(x: tuple[int, ...]) -> dict[str, Fraction]:
        yes = Fraction(1, 2) + Fraction(x[1], 4) + Fraction(x[0], 8)
        return {"yes": yes, "no": 1 - yes}

    process = Process.from_generative(
        start, lambda x: str(x[-1]), law, lambda x, action: {(*x[1:], bit): Fraction(1, 2) for bit in (0, 1)}
    )
    stack = frames(support_observer(process), actions=False, within=within)
    assert stack.k == k
    lags = smallest_lags(support_observer(process), 2, within=within).lags
    assert lags == tuple(("O", lag) for lag in range(1, k + 1))
    assert ("within" in stack.text) == bool(within)


def test_whole_histories_may_look_alike_without_actions():
    """Two actions of the first step lead to one observation and two laws; later everything is the same."""
    half = Fraction(1, 2)
    after = {("go", "a"): "left", ("go", "b"): "right"}
    process = Process.from_generative(
        {"go": 1},
        lambda x: "fork" if x in ("left", "right") else x,
        lambda x: {"a": half, "b": half} if x == "go" else x,
        lambda x, action: after.get((x, action), "rest"),
    )
    observer = support_observer(process)
    assert frames(observer).k == 1
    alone = frames(observer, actions=False)
    assert alone.k is None
    assert "however far it reaches back" in alone.text


def follow(process: Process, history: tuple[str, ...]) -> dict[str, Fraction]:
    for words, alpha in histories(process, (len(history) + 1) // 2):
        if words == history:
            return law_of(process, alpha)
    raise AssertionError(f"{history} is impossible")


@pytest.mark.parametrize("name", ["delayed-cue", "repeated-cues"])
def test_a_loop_is_two_possible_histories_that_look_alike(name: str):
    process = build(name)
    stack = frames(support_observer(process))
    assert stack.loop is not None
    for times in (0, 1, 3):
        one, other = (stack.loop.history(k, times) for k in (0, 1))
        assert follow(process, one) != follow(process, other)
        same = 2 * times * len(stack.loop.loop[0])
        assert one[len(one) - same :] == other[len(other) - same :]
    assert "longer loops" in stack.text


def literal_stack(process: Process, k: int, horizon: int, actions: bool) -> bool:
    """Whether windows of k past steps fix the law on all histories up to a horizon."""
    laws: dict[tuple[str, ...], dict[str, Fraction]] = {}
    for history, alpha in histories(process, horizon):
        window = ("mark",) * (2 * k + 1 - len(history)) + history[-2 * k - 1 :]
        window = window if actions else tuple(w if (i % 2) == 0 or w == "mark" else "" for i, w in enumerate(window))
        law = law_of(process, alpha)
        if laws.setdefault(window, law) != law:
            return False
    return True


@pytest.mark.parametrize("actions", [True, False])
def test_random_worlds_agree_with_all_histories(actions: bool):
    finite = 0
    for seed in range(150):
        process = random_process(seed)
        observer = support_observer(process)
        stack: Frames = frames(observer, actions)
        if stack.k is None:
            assert not literal_stack(process, 1, 7, actions)
        else:
            finite += 1
            assert literal_stack(process, stack.k, 5, actions)
            assert stack.k == 0 or not literal_stack(process, stack.k - 1, stack.k + 5, actions)
    assert finite > 40


def test_finite_models_are_asked_the_same_way():
    gap = build_model("gap")
    actual = frames_of_model(gap.graph)
    assert actual.k is not None
    assert 0 < actual.k < gap.horizon
    for process in (build("n-back", lag=2), build("hallway")):
        ever, finite = frames(support_observer(process)), frames_of_model(process.model(9).graph)
        assert finite.k == ever.k


@pytest.mark.parametrize(
    ("weights", "lags"), [((2,), (("O", 2),)), ((0, 3), (("O", 0), ("O", 3))), ((2, 5), (("O", 2), ("O", 5)))]
)
def test_known_lags(weights: tuple[int, ...], lags: tuple[tuple[str, int], ...]):
    observer = support_observer(lagged(weights))
    assert frames(observer, actions=False).k == max(weights)
    assert smallest_lags(observer, max(weights)).lags == lags


def test_actions_are_lags_too():
    observer = support_observer(build("blinker", period=3))
    assert smallest_lags(observer, 4).lags is None
    lags = smallest_lags(observer, 2, actions=True)
    assert lags.lags is not None
    assert all(kind == "A" or lag > 0 for kind, lag in lags.lags)
    assert smallest_lags(support_observer(build("delayed-cue")), 3, actions=True).lags is None
    with pytest.raises(UserError, match="longest"):
        smallest_lags(observer, -1)


def literal_lags(process: Process, lags: tuple[tuple[str, int], ...], horizon: int) -> bool:
    laws: dict[tuple[str, ...], dict[str, Fraction]] = {}
    for history, alpha in histories(process, horizon):
        past = ("mark",) * 40 + history
        seen = tuple(past[-1 - 2 * lag] if kind == "O" else past[-2 * lag] for kind, lag in lags)
        law = law_of(process, alpha)
        if laws.setdefault(seen, law) != law:
            return False
    return True


def test_random_lags_agree_with_all_histories():
    decided = 0
    for seed in range(60):
        process = random_process(seed)
        lags = smallest_lags(support_observer(process), 2, actions=True, most=3)
        if lags.lags is None:
            continue
        decided += 1
        assert literal_lags(process, lags.lags, 6)
        universe = [("O", 0), ("O", 1), ("O", 2), ("A", 1), ("A", 2)]
        for smaller in combinations(universe, len(lags.lags) - 1) if lags.lags else ():
            assert not literal_lags(process, smaller, 8)
    assert decided > 20
