"""POPGym's card games: the live package, decks dealt one by one, closed forms, wrong models."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import factorial, log2, prod
from typing import Any

import pytest

from certify import Model, certify
from certify.core.floors import floors
from certify.core.relations import compatibility, settled, strong_classes
from certify.errors import UserError
from certify.sources.cards import CardGame, autoencode, count_recall, higher_lower, repeat_first, repeat_previous

# each game and the reward of an expert that is right whenever it is asked
PERFECT = [
    (repeat_first(13), Fraction(13, 51)),
    (repeat_first(51), Fraction(1)),
    (repeat_first(9, decks=8), Fraction(9, 415)),
    (repeat_previous(1), Fraction(8, 51)),
    (repeat_previous(2), Fraction(7, 50)),
    (repeat_previous(3), Fraction(6, 49)),
    (repeat_previous(4), Fraction(5, 48)),
    (repeat_previous(4, 51), Fraction(1)),
    (repeat_previous(32, 103, decks=2), Fraction(1)),
    (count_recall(10), Fraction(10, 51)),
    (count_recall(51), Fraction(1)),
    (autoencode(4), Fraction(1)),
    (autoencode(8), Fraction(1)),
]


@pytest.mark.parametrize(("game", "reward"), PERFECT, ids=lambda x: x.name if isinstance(x, CardGame) else str(x))
def test_the_expert_is_right_in_every_live_episode(game: CardGame, reward: Fraction) -> None:
    assert game.check(5, seed=3) == pytest.approx(float(reward))


@pytest.mark.parametrize("ranks", [2, 3, 13])
def test_counting_cards_pays_in_live_episodes(ranks: int) -> None:
    game = higher_lower(ranks, 4 * ranks - 1)
    contrary = replace(game, expert=lambda t, state: "1" if game.expert(t, state) == "0" else "0")
    earned = game.check(40)
    assert earned > 0
    assert contrary.check(40) == pytest.approx(-earned)


def test_a_lag_that_is_off_by_one_earns_less_than_nothing() -> None:
    for other in (3, 5):
        wrong = replace(repeat_previous(other, 51), environment=repeat_previous(4).environment)
        assert wrong.check(10) < 0
    assert replace(repeat_first(51), expert=lambda t, state: str(state[1])).check(10) < 0


def test_a_deck_that_is_not_the_live_one_is_caught() -> None:
    short = replace(autoencode(4), environment=autoencode(8).environment)
    with pytest.raises(UserError, match=r"^POPGym Autoencode: live episode \d+ shows .* the model excludes it$"):
        short.check()
    long = replace(autoencode(8), environment=autoencode(4).environment)
    with pytest.raises(UserError, match=r"^POPGym Autoencode: live episode \d+ shows .* the model excludes it$"):
        long.check()
    with pytest.raises(UserError, match=r"live episode 1 shows 2 at step 2; the model excludes it"):
        replace(higher_lower(2, 3), environment=higher_lower(3, 3).environment).check()


def test_an_episode_that_ends_too_soon_is_caught() -> None:
    patient = replace(higher_lower(3, 11), environment=higher_lower(2, 7).environment)
    with pytest.raises(UserError, match=r"^POPGym HigherLower: live episode 1 ends after step 7, not 11$"):
        patient.check()


def test_an_expert_that_sees_the_deck_is_caught() -> None:
    game = repeat_first(3)
    blind = {state: Fraction(1, 4) for state in game.start}  # every deck shows the live card, whatever it begins with
    seen = str(game.environment().reset(seed=0)[0])
    clairvoyant = replace(game, start=blind, observe=lambda t, state: seen)
    with pytest.raises(UserError, match="the expert knows more than its history at step 1"):
        clairvoyant.check(1)


# ---- against decks dealt one by one


def deals(deck: Sequence[int], cards: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every sequence of the first cards and its probability: the orders of the rest over those of the whole deck."""

    def orders(left: Sequence[int]) -> Fraction:
        return Fraction(factorial(sum(left)), prod(factorial(n) for n in left))

    for dealt in product(range(len(deck)), repeat=cards):
        left = [n - dealt.count(kind) for kind, n in enumerate(deck)]
        if min(left) >= 0:
            yield dealt, orders(left) / orders(deck)


Play = Callable[[Any, int], tuple[str, str]]  # (cards dealt, t) → shown and said


def written_out(horizon: int, latents: list[tuple[Any, Fraction]], play: Play) -> Model:
    return Model.from_latents(horizon, latents, lambda dealt, actions: play(dealt, len(actions) + 1))


def likelier(deck: int, dealt: tuple[int, ...], t: int) -> str:
    left = [rank for rank in range(deck) for _ in range(4 - dealt[:t].count(rank))]
    now = dealt[t - 1]
    return "0" if sum(rank > now for rank in left) >= sum(rank < now for rank in left) else "1"


SUITS, COLOURS = [13] * 4, [26] * 2
TWINS: list[tuple[CardGame, Model]] = [
    (repeat_first(4), written_out(4, list(deals(SUITS, 4)), lambda d, t: (str(d[t - 1]), str(d[0])))),
    (
        repeat_previous(3, 5),
        written_out(5, list(deals(SUITS, 5)), lambda d, t: (str(d[t - 1]), str(d[t - 3]) if t >= 3 else "0")),
    ),
    (
        count_recall(4),
        written_out(
            4,
            [((v, q), p * r) for v, p in deals(COLOURS, 4) for q, r in deals(COLOURS, 4)],
            lambda d, t: (f"[{d[0][t - 1]} {d[1][t - 1]}]", str(d[0][:t].count(d[1][t - 1]))),
        ),
    ),
    (
        autoencode(4),
        written_out(
            7,
            list(deals([1] * 4, 4)),
            lambda d, t: (f"({int(t < 4)}, {d[t - 1] if t <= 4 else 0})", str(d[7 - t]) if t >= 4 else "0"),
        ),
    ),
    (higher_lower(2, 7), written_out(7, list(deals([4] * 2, 7)), lambda d, t: (str(d[t - 1]), likelier(2, d, t)))),
    (higher_lower(3, 4), written_out(4, list(deals([4] * 3, 4)), lambda d, t: (str(d[t - 1]), likelier(3, d, t)))),
]


def facts(model: Model) -> list[tuple[Any, ...]]:
    """What two descriptions of one model must agree on, without the search for one machine."""
    graph = model.graph
    strong = strong_classes(graph)
    relations = [settled(r, classes) for r, classes in zip(compatibility(graph), strong, strict=True)]
    step_floors = floors(graph, relations, strong, seconds=60)
    return [
        (
            sum(level.paths.tolist()),
            round(level.history_entropy, 9),
            level.mixed,
            relation.transitive,
            round(floor.lower, 9),
            round(floor.upper, 9),
            floor.states,
        )
        for level, relation, floor in zip(graph.levels, relations, step_floors, strict=True)
    ]


@pytest.mark.parametrize(("game", "twin"), TWINS, ids=lambda x: x.name if isinstance(x, CardGame) else "twin")
def test_the_merged_model_is_the_deck_dealt_one_by_one(game: CardGame, twin: Model) -> None:
    assert facts(game.model()) == facts(twin)


# ---- closed forms


def entropy(*chances: Fraction) -> float:
    assert sum(chances) == 1
    return -sum(float(p) * log2(p) for p in chances)


@pytest.mark.parametrize("decks", [1, 8])
def test_the_first_suit_given_a_later_one(decks: int) -> None:
    cards = 52 * decks - 1
    given = entropy(Fraction(13 * decks - 1, cards), *[Fraction(13 * decks, cards)] * 3)
    answer = certify(repeat_first(4, decks).model())
    assert [s.rate for s in answer.steps] == [0, *[pytest.approx(given, abs=1e-12)] * 3]
    assert [s.histories for s in answer.steps] == [4, 16, 64, 256]


def test_k_four_is_really_lag_three() -> None:
    game = repeat_previous(4, 6)
    answer = certify(game.model())
    assert [s.states for s in answer.steps] == [1, 4, 16, 64, 16, 4]  # three suits beside the one shown
    assert answer.codes["time_indexed"] == 64
    environment = game.environment()
    suits = [int(environment.reset(seed=5)[0])]
    for t in range(1, 12):
        lags = {}
        for lag in range(min(t, 6)):
            trial = replay(game, suits, 5)
            lags[lag] = trial.step(suits[t - 1 - lag])[1]
        if t < 4:
            assert set(lags.values()) == {0}  # nothing is asked yet
        else:
            assert lags[3] > 0
            assert all((lags[lag] > 0) == (suits[t - 1 - lag] == suits[t - 4]) for lag in lags)
        suits.append(int(environment.step(0)[0]))


def replay(game: CardGame, suits: Sequence[int], seed: int) -> Any:
    """The live environment after as many cards."""
    environment = game.environment()
    seen = [int(environment.reset(seed=seed)[0]), *(int(environment.step(0)[0]) for _ in suits[1:])]
    assert seen == list(suits)
    return environment


def test_the_present_card_need_not_be_remembered() -> None:
    assert [s.rate for s in certify(repeat_previous(1, 5).model()).steps] == [0] * 5


def test_the_whole_order_must_be_carried_before_it_is_said() -> None:
    assert [step[-2] for step in facts(autoencode(4).model())] == pytest.approx(
        [0, 0, 1, log2(6), log2(24), log2(12), 2], abs=1e-8
    )


# ---- parameters


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: repeat_first(52), "horizon: expected 1 to 51 steps, not 52"),
        (lambda: repeat_first(0), "horizon: expected 1 to 51 steps, not 0"),
        (lambda: repeat_previous(4, 104, decks=2), "horizon: expected 1 to 103 steps, not 104"),
        (lambda: repeat_previous(0), "repeat_previous.k: expected at least 1, the present card, not 0"),
        (lambda: count_recall(52), "horizon: expected 1 to 51 steps, not 52"),
        (lambda: autoencode(6), "autoencode.cards: expected a multiple of 4, not 6"),
        (lambda: autoencode(0), "autoencode.cards: expected a multiple of 4, not 0"),
        (lambda: higher_lower(14), "higher_lower: expected 2 to 13 ranks"),
        (lambda: higher_lower(1, 2), "higher_lower: expected 2 to 13 ranks"),
        (lambda: higher_lower(3, 12), "higher_lower: expected 2 to 13 ranks and a horizon below the 12 cards"),
    ],
)
def test_games_that_do_not_exist(make: Callable[[], CardGame], reason: str) -> None:
    with pytest.raises(UserError) as caught:
        make()
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("game", "said"),
    [
        (repeat_first(51), ""),
        (repeat_first(13), "first 13 of 51 steps"),
        (repeat_previous(4, 51), ""),
        (repeat_previous(32, 103, decks=2), ""),
        (repeat_previous(2, 51), "k=2 instead of 4"),
        (repeat_previous(2, 8), "k=2 instead of 4, first 8 of 51 steps"),
        (count_recall(51), ""),
        (autoencode(52), ""),
        (autoencode(4), "deck of 4 cards instead of 52"),
        (higher_lower(13, 51), ""),
        (higher_lower(13, 3), "first 3 of 51 steps"),
        (higher_lower(3, 11), "deck of 3 ranks"),
        (higher_lower(3, 6), "deck of 3 ranks, first 6 of 11 steps"),
    ],
)
def test_what_was_changed_is_said(game: CardGame, said: str) -> None:
    assert game.modified == said
