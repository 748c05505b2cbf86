"""POPGym's card games as exact generative models, and a check of each against the live environment.

A shuffled deck has too many orders to enumerate, but what it may still deal depends only on how many cards of each kind
are left, so histories merge. Where a deck is shrunk or an episode cut, `modified` says so.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.core.model import Model
from certify.errors import UserError
from certify.optional import import_optional
from certify.sources.adapter import END, readable

SUITS = 4
FULL_DECK = 52
Counts = tuple[int, ...]  # cards of each kind that are still in the deck
Chances = dict[Any, Fraction]


@dataclass(frozen=True)
class CardGame:
    """Hidden states, what they show, what the expert does, where they lead; and the environment that it stands for."""

    name: str
    horizon: int
    modified: str
    start: Chances
    observe: Callable[[int, Any], str]
    expert: Callable[[int, Any], str]
    move: Callable[[int, Any, str], Mapping[Hashable, Fraction]]
    environment: Callable[[], Any]

    def model(self) -> Model:
        return Model.from_generative(self.horizon, self.start, self.observe, self.expert, self.move, self.name)

    def check(self, episodes: int = 20, seed: int = 0) -> float:
        """Play the live environment as the expert, and return the mean reward of an episode.

        Refused are an observation that the model excludes and an episode that ends before it.
        """
        environment = self.environment()
        earned = 0.0
        for k in range(episodes):
            raw, _ = environment.reset(seed=seed + k)
            belief = self._seen(1, self.start, raw, k)
            for t in range(1, self.horizon + 1):
                action = self._action(t, belief)
                raw, reward, *ended, _ = environment.step(int(action))
                earned += float(reward)
                if t == self.horizon:
                    break
                after: Chances = {}
                for state, weight in belief.items():
                    for target, p in self.move(t, state, action).items():
                        after[target] = after.get(target, Fraction(0)) + weight * p
                if any(ended):
                    if any(self.observe(t + 1, state) == END for state in after):
                        break
                    raise UserError(self.name, f"live episode {k + 1} ends after step {t}, not {self.horizon}")
                belief = self._seen(t + 1, after, raw, k)
        return earned / episodes

    def _action(self, t: int, belief: Chances) -> str:
        actions = {self.expert(t, state) for state in belief}
        if len(actions) > 1:
            raise UserError(self.name, f"the expert knows more than its history at step {t}")
        return actions.pop()

    def _seen(self, t: int, belief: Chances, raw: Any, episode: int) -> Chances:
        shown = readable(raw)
        kept = {state: weight for state, weight in belief.items() if self.observe(t, state) == shown}
        if not kept:
            raise UserError(self.name, f"live episode {episode + 1} shows {shown} at step {t}; the model excludes it")
        return kept


def repeat_first(horizon: int = 13, decks: int = 1) -> CardGame:
    """Say the suit of the first card at every step."""

    start: Chances = {(suit, suit, left): p for suit, left, p in _draw((13 * decks,) * SUITS)}

    def move(_: int, state: tuple[int, int, Counts], __: str) -> Chances:
        return {(state[0], suit, left): p for suit, left, p in _draw(state[2])}

    def environment() -> Any:
        return import_optional("popgym.envs.repeat_first", "sources").RepeatFirst(num_decks=decks)

    name = f"POPGym RepeatFirst ({decks} deck{'s' * (decks > 1)})"
    shown, said = (lambda _, s: str(s[1])), (lambda _, s: str(s[0]))
    return CardGame(name, horizon, _cut(horizon, FULL_DECK * decks - 1), start, shown, said, move, environment)


def repeat_previous(k: int = 4, horizon: int = 8, decks: int = 1) -> CardGame:
    """Say the suit of the card k − 1 steps ago; before there is one, any suit will do and the expert says 0."""
    if k < 1:
        raise UserError("repeat_previous.k", f"expected at least 1, the present card, not {k}")

    start: Chances = {((suit,), left): p for suit, left, p in _draw((13 * decks,) * SUITS)}

    def move(_: int, state: tuple[tuple[int, ...], Counts], __: str) -> Chances:
        return {((*state[0], suit)[-k:], left): p for suit, left, p in _draw(state[1])}

    def said(_: int, state: tuple[tuple[int, ...], Counts]) -> str:
        return str(state[0][0]) if len(state[0]) == k else "0"

    def environment() -> Any:
        return import_optional("popgym.envs.repeat_previous", "sources").RepeatPrevious(num_decks=decks, k=k)

    name = f"POPGym RepeatPrevious (k={k})"
    usual = {2: 32, 3: 64}.get(decks, 4)  # what the package registers with so many decks
    modified = _joined("" if k == usual else f"k={k} instead of {usual}", _cut(horizon, FULL_DECK * decks - 1))
    return CardGame(name, horizon, modified, start, lambda _, s: str(s[0][-1]), said, move, environment)


KINDS = {"colors": 2, "suits": 4, "ranks": 13}


def count_recall(horizon: int = 10, kind: str = "colors", decks: int = 1) -> CardGame:
    """A card and a query, both colours, suits or ranks: say how often the queried one has been dealt."""
    deck = (FULL_DECK * decks // KINDS[kind],) * KINDS[kind]

    def deal(values: Counts, queries: Counts) -> Chances:
        return {
            (value, query, left, asked): p * q for value, left, p in _draw(values) for query, asked, q in _draw(queries)
        }

    def move(_: int, state: tuple[int, int, Counts, Counts], __: str) -> Chances:
        return deal(state[2], state[3])

    def said(_: int, state: tuple[int, int, Counts, Counts]) -> str:
        return str(deck[state[1]] - state[2][state[1]])

    def environment() -> Any:
        return import_optional("popgym.envs.count_recall", "sources").CountRecall(num_decks=decks, deck_type=kind)

    def shown(_: int, state: tuple[int, int, Counts, Counts]) -> str:
        return f"[{state[0]} {state[1]}]"

    modified, name = _cut(horizon, FULL_DECK * decks - 1), f"POPGym CountRecall ({kind.replace('colors', 'colours')})"
    return CardGame(name, horizon, modified, deal(deck, deck), shown, said, move, environment)


def autoencode(cards: int = 8) -> CardGame:
    """Watch the suits of a whole deck, then say them backwards."""
    if cards % SUITS or cards < SUITS:
        raise UserError("autoencode.cards", f"expected a multiple of {SUITS}, not {cards}")

    start: Chances = {((suit,), left): p for suit, left, p in _draw((cards // SUITS,) * SUITS)}

    def move(t: int, state: tuple[tuple[int, ...], Counts], __: str) -> Chances:
        if t < cards:
            return {((*state[0], suit), left): p for suit, left, p in _draw(state[1])}
        return {(state[0][:-1], state[1]): Fraction(1)}

    def shown(t: int, state: tuple[tuple[int, ...], Counts]) -> str:
        return f"({int(t < cards)}, {state[0][-1] if t <= cards else 0})"

    def said(t: int, state: tuple[tuple[int, ...], Counts]) -> str:
        return str(state[0][-1]) if t >= cards else "0"

    def environment() -> Any:
        game = import_optional("popgym.envs.autoencode", "sources").Autoencode()
        shrink(game.deck, cards)
        return game

    modified = "" if cards == FULL_DECK else f"deck of {cards} cards instead of {FULL_DECK}"
    return CardGame("POPGym Autoencode", 2 * cards - 1, modified, start, shown, said, move, environment)


def higher_lower(ranks: int = 3, horizon: int = 8, decks: int = 1) -> CardGame:
    """Guess whether the next card is higher, by counting what is left; 0 says higher, also when both are as likely."""
    cards = SUITS * decks * ranks
    if not 2 <= ranks <= 13 or not 1 <= horizon < cards or (decks > 1 and ranks < 13):
        reason = f"expected 2 to 13 ranks and a horizon below the {cards} cards; several decks have 13 ranks"
        raise UserError("higher_lower", reason)

    start: Chances = {(rank, left): p for rank, left, p in _draw((SUITS * decks,) * ranks)}

    def move(_: int, state: tuple[int, Counts], __: str) -> Chances:
        return {(rank, left): p for rank, left, p in _draw(state[1])}

    def said(_: int, state: tuple[int, Counts]) -> str:
        rank, left = state
        return "0" if sum(left[rank + 1 :]) >= sum(left[:rank]) else "1"

    def environment() -> Any:
        game = import_optional("popgym.envs.higher_lower", "sources").HigherLower(num_decks=decks)
        if ranks < 13:
            shrink(game.deck, cards)
        return game

    modified = _joined("" if ranks == 13 else f"deck of {ranks} ranks", _cut(horizon, cards - 1))
    return CardGame("POPGym HigherLower", horizon, modified, start, lambda _, s: str(s[0]), said, move, environment)


def shrink(deck: Any, cards: int) -> None:
    """Keep the first cards of a POPGym deck; it lists them rank by rank, with all suits of each."""
    for field in ("idx", "ranks", "ranks_idx", "suits", "suits_idx", "colors", "colors_idx"):
        setattr(deck, field, getattr(deck, field)[:cards])
    deck.num_cards = deck.deck_len = cards
    deck.idx = np.arange(cards)


def _draw(left: Counts) -> list[tuple[int, Counts, Fraction]]:
    """Each kind of card that may come next, what is left after it, and its probability."""
    total = sum(left)
    return [
        (kind, (*left[:kind], count - 1, *left[kind + 1 :]), Fraction(count, total))
        for kind, count in enumerate(left)
        if count
    ]


def _cut(horizon: int, whole: int) -> str:
    if not 1 <= horizon <= whole:
        raise UserError("horizon", f"expected 1 to {whole} steps, not {horizon}")
    return "" if horizon == whole else f"first {horizon} of {whole} steps"


def _joined(*remarks: str) -> str:
    return ", ".join(filter(None, remarks))
