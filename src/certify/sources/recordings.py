"""Recorded episodes to a model: exact counts, laws that were logged or can be asked for, and nothing guessed."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from certify.core.exact import as_masses
from certify.core.graph import Episodes, build
from certify.core.model import Model
from certify.core.reading import Numbers
from certify.errors import UserError
from certify.sources.adapter import END, History, Law, readable
from certify.sources.coverage import Coverage, Interval, Recording, tally

__all__ = ["Coverage", "Interval", "Recording", "from_recordings", "symbolic"]

Symboliser = Callable[[Any], str]
Text = list[tuple[str, str]]  # (symbol, action) of each step
Row = tuple[tuple[int, int], ...]  # the same, numbered
Ids = tuple[int, ...]  # the number of each step's law
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")
_MOST_SHOWN = 6


def from_recordings(
    episodes: Iterable[Any],
    *,
    symbol: Symboliser = readable,
    action: Symboliser = readable,
    laws: Sequence[Sequence[Law]] | None = None,
    oracle: Callable[[History], Law] | None = None,
    latents: Iterable[Any] | None = None,
    name: str = "",
) -> Recording:
    """The model of recorded episodes.

    An episode is a sequence of pairs (observation, action), or a mapping with the keys `observations` and `actions`;
    `symbol` and `action` turn what was recorded into text, and short episodes are padded with `end`. The expert's laws
    are logged (`laws[episode][step]`) or asked for (`oracle(history)` with history o₁, a₁, …, o_t), both over the names
    of actions. With neither the expert is taken to be deterministic, and two different actions after one history are
    refused: frequencies are not a law. `latents` gives the hidden configuration of each episode, for the coverage.
    """
    if isinstance(episodes, Mapping) or not _is_listed(episodes):
        raise UserError("episodes", f"expected a list of episodes, not {_brief(episodes)}")
    if laws is not None and oracle is not None:
        raise UserError("laws", "both logged laws and an oracle are given; choose one")
    recorded = [symbolic(episode, symbol, action, f"episodes[{k}]") for k, episode in enumerate(episodes)]
    if not recorded:
        raise UserError("episodes", "the dataset is empty; record at least one episode")
    if latents is not None and not _is_listed(latents):
        raise UserError("latents", f"expected one entry per episode, not {_brief(latents)}")
    hidden = None if latents is None else list(latents)
    for where, given in (("laws", laws), ("latents", hidden)):
        if given is not None and not isinstance(given, Sequence):
            raise UserError(where, f"expected one entry per episode, not {_brief(given)}")
        if given is not None and len(given) != len(recorded):
            raise UserError(where, f"{len(given)} entries for {len(recorded)} episodes")
    reader = _Reader(recorded)
    merged = reader.merge(reader.experts(laws, oracle))
    return Recording(Model(build(merged), merged, name), None if hidden is None else tally(hidden))


def symbolic(episode: Any, symbol: Symboliser, action: Symboliser, where: str) -> Text:
    """One episode as text; a step that is missing, NaN or no text is refused by name."""
    text: Text = []
    for t, step in enumerate(_steps(episode, where)):
        at = f"{where}.steps[{t}]"
        if step is None:
            raise UserError(at, "the step is missing; record it, or cut the episode before it")
        if not isinstance(step, tuple | list | np.ndarray) or not _is_listed(step) or len(step) != 2:
            raise UserError(at, f"expected a pair (observation, action), not {_brief(step)}")
        shown, done = _named(step[0], symbol, f"{at}.obs"), _named(step[1], action, f"{at}.action")
        text.append((shown, done))
    if not text:
        raise UserError(where, "the episode has no steps")
    return text


def _steps(episode: Any, where: str) -> Iterable[Any]:
    if isinstance(episode, Mapping):
        columns: list[list[Any]] = []
        for key in ("observations", "actions"):
            values: Any = episode.get(key)
            if isinstance(values, Mapping) or not _is_listed(values):
                raise UserError(f"{where}.{key}", f"expected one entry a step, not {_brief(values)}")
            columns.append(list(values))
        if len(columns[0]) != len(columns[1]):
            said = f"{len(columns[0])} observations, but {len(columns[1])} actions"
            raise UserError(where, f"{said}; a step has one of each, so drop an observation that no action follows")
        return zip(*columns, strict=True)
    if not _is_listed(episode):
        raise UserError(where, f"expected a sequence of pairs (observation, action), not {_brief(episode)}")
    return episode


def _is_listed(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.ndim > 0
    return isinstance(values, Iterable) and not isinstance(values, str)


def _named(raw: Any, name: Symboliser, where: str) -> str:
    flaw = _flaw(raw)
    if flaw:
        raise UserError(where, f"{flaw}; record it, or cut the episode before it")
    text = name(raw)
    if not isinstance(text, str):
        raise UserError(where, f"the symboliser gives {_brief(text)}; a symbol is text")
    if not _lasting(text):
        raise UserError(where, f"{_brief(text)} is not a lasting name; give a symboliser")
    return str(text)


@lru_cache(maxsize=4096)
def _lasting(text: str) -> bool:
    """Neither the address of an object nor half a surrogate pair."""
    return not _ADDRESS.search(text) and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _flaw(raw: Any) -> str:
    """What keeps a raw value from being read, or nothing."""
    if isinstance(raw, str | int | np.integer):  # the common case
        return ""
    if raw is None or (isinstance(raw, np.ma.MaskedArray) and np.ma.is_masked(raw)):
        return "the value is missing"
    if isinstance(raw, Mapping):
        return next(filter(None, map(_flaw, raw.values())), "")
    if isinstance(raw, tuple | list) or (isinstance(raw, np.ndarray) and raw.dtype == object and raw.ndim):
        return next(filter(None, map(_flaw, raw)), "")
    if isinstance(raw, float | complex):
        return "the value is NaN" if raw != raw else ""
    if isinstance(raw, np.ndarray | np.generic) and raw.dtype.kind in "fcmM" and np.isnan(raw).any():
        return "the value holds NaN"
    return ""


def _check_end(recorded: list[Text]) -> None:
    """Padding must not be taken for something that was recorded."""
    for k, text in enumerate(recorded):
        ended = False
        for t, step in enumerate(text):
            ended = ended or step[0] == END
            if ended and step != (END, END):
                raise UserError(
                    f"episodes[{k}].steps[{t}]",
                    f"the episodes have unequal lengths, so the symbol {END!r} is kept for padding; rename it",
                )


class _Reader(Numbers):
    """Symbols, actions, histories and laws of the episodes by number; every episode padded to the longest."""

    def __init__(self, recorded: list[Text]) -> None:
        super().__init__()
        self.lengths = [len(text) for text in recorded]
        longest = max(self.lengths)
        if min(self.lengths) < longest:
            _check_end(recorded)
        self.rows = [self._row([*text, *[(END, END)] * (longest - len(text))]) for text in recorded]
        self.symbols = tuple(self.observations)

    def _row(self, text: Text) -> Row:
        return tuple(
            (self.observations.setdefault(o, len(self.observations)), self.actions.setdefault(a, len(self.actions)))
            for o, a in text
        )

    def experts(self, laws: Sequence[Sequence[Law]] | None, oracle: Callable[[History], Law] | None) -> list[Ids]:
        """The law of every step of every episode, from the one source there is."""
        if laws is not None:
            return self._logged(laws)
        return self._certain() if oracle is None else self._asked(oracle)

    def _certain(self) -> list[Ids]:
        """Each law is the action that was taken: one action a history."""
        first: dict[int, tuple[int, int]] = {}  # of each history: the first episode that has it, and its action
        sure = [self.laws.intern({action: Fraction(1)}) for action in range(len(self.actions))]

        def taken(k: int, t: int, row: Row, history: int) -> int:
            before, action = first.setdefault(history, (k, row[t][1]))
            if action != row[t][1]:
                one, two = (_spelled(self._action(number)) for number in (action, row[t][1]))
                raise UserError(
                    f"episodes[{k}].steps[{t}]",
                    f"stochastic expert or (A2) failure: after {self._told(row, t)} episode {before} takes {one} and "
                    f"episode {k} takes {two}; log the laws or give an oracle",
                )
            return sure[action]

        return self._each_history(taken)

    def _asked(self, oracle: Callable[[History], Law]) -> list[Ids]:
        """The oracle is asked once for each history."""
        answers: dict[int, int] = {}

        def told(k: int, t: int, row: Row, history: int) -> int:
            if history not in answers:
                words = self._words(row, t)
                law = END if (words[-1], self._action(row[t][1])) == (END, END) else oracle(words)
                answers[history] = self._law(law, f"the oracle at episodes[{k}].steps[{t}]")
            return answers[history]

        return self._each_history(told)

    def _each_history(self, law_of: Callable[[int, int, Row, int], int]) -> list[Ids]:
        """The laws of each episode from those of its histories, which form a tree."""
        tree: dict[tuple[int, int, int], int] = {}  # (history, action, observation) → the longer history
        laws: dict[Row, Ids] = {}
        for k, row in enumerate(self.rows):
            if row in laws:
                continue
            ids: list[int] = []
            history = action = -1
            for t, (observation, following) in enumerate(row):
                history, action = tree.setdefault((history, action, observation), len(tree)), following
                ids.append(law_of(k, t, row, history))
            laws[row] = self._supported(k, row, tuple(ids))
        return [laws[row] for row in self.rows]

    def _logged(self, laws: Sequence[Sequence[Law]]) -> list[Ids]:
        """The law that was logged with each step."""
        result: list[Ids] = []
        for k, (row, length) in enumerate(zip(self.rows, self.lengths, strict=True)):
            if not isinstance(laws[k], Sequence) or isinstance(laws[k], str):
                raise UserError(f"laws[{k}]", f"expected one law per step, not {_brief(laws[k])}")
            if len(laws[k]) != length:
                raise UserError(f"laws[{k}]", f"{len(laws[k])} laws, but the episode has {length} steps")
            padded = [*laws[k], *[END] * (len(row) - length)]
            ids = tuple(self._law(law, f"laws[{k}][{t}]") for t, law in enumerate(padded))
            result.append(self._supported(k, row, ids))
        return result

    def _law(self, given: Law, where: str) -> int:
        law = {given: 1} if isinstance(given, str) else given
        if not isinstance(law, Mapping) or not all(isinstance(action, str) for action in law):
            raise UserError(where, f"expected the name of an action, or names with probabilities, not {_brief(given)}")
        return self.law(law, lambda: where)[0]

    def _supported(self, k: int, row: Row, ids: Ids) -> Ids:
        for t, ((_, action), law) in enumerate(zip(row, ids, strict=True)):
            allowed = [number for number, _ in self.laws.table[law]]
            if action not in allowed:
                named = ", ".join(_spelled(self._action(number)) for number in allowed)
                taken = _spelled(self._action(action))
                raise UserError(
                    f"episodes[{k}].steps[{t}].action", f"{taken} is outside the support of its law ({named})"
                )
        return ids

    def merge(self, laws: list[Ids]) -> Episodes:
        """Equal trajectories with equal laws become one, whose weight is their number."""
        takers: dict[tuple[Row, Ids], list[int]] = {}  # which episodes took it
        for k, trajectory in enumerate(zip(self.rows, laws, strict=True)):
            takers.setdefault(trajectory, []).append(k)
        pairs = np.array([row for row, _ in takers], np.int64)
        return Episodes(
            pairs[:, :, 0],
            pairs[:, :, 1],
            np.array([ids for _, ids in takers], np.int64),
            as_masses(map(len, takers.values())),
            self.symbols,
            tuple(self.actions),
            self.laws,
            np.array([first for first, *_ in takers.values()], np.int64),
            empirical=any(len(law) > 1 for law in self.laws.table),  # draws from such laws are samples
        )

    def _action(self, number: int) -> str:
        return list(self.actions)[number]

    def _words(self, row: Row, t: int) -> History:
        """O_1, A_1, O_2, …, O_t."""
        actions = list(self.actions)
        words = [word for o, a in row[: t + 1] for word in (self.symbols[o], actions[a])]
        return tuple(words[:-1])

    def _told(self, row: Row, t: int) -> str:
        words = [*map(_spelled, self._words(row, t))][-2 * _MOST_SHOWN - 1 :]
        steps = [f"{word} -{action}->" for word, action in zip(words[:-1:2], words[1::2], strict=True)]
        return " ".join([*(["…"] if t > _MOST_SHOWN else []), *steps, words[-1]])


def _spelled(word: str) -> str:
    """A name as one short piece of text."""
    text = word if word.isprintable() and word else repr(word)
    return text if len(text) <= 60 else text[:57] + "…"


def _brief(value: Any) -> str:
    """A value as one short piece of text."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "…"
