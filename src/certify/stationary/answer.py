"""The answer for every horizon: bits in the long run and step by step, the machine, and why; in three regimes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from certify.answer import Answer, certify
from certify.core.colouring import Limits, minimum_entropy
from certify.core.exact import Ints, common_denominator
from certify.core.floors import bitmasks
from certify.core.logs import LogSum
from certify.errors import UserError
from certify.stationary.atoms import atom_relation
from certify.stationary.chain import MOST_WORK, TooMuchWork
from certify.stationary.frames import Frames, frames
from certify.stationary.lags import Lags, smallest_lags
from certify.stationary.longrun import long_run, masses
from certify.stationary.machine import StationaryMachine
from certify.stationary.merging import Codes, fewest_codes
from certify.stationary.observer import MOST_NODES, MixedLaws, Observer, TooMany, support_observer
from certify.stationary.posteriors import MOST_POSTERIORS, lump, posterior_observer
from certify.stationary.process import Process
from certify.stationary.rates import Bits, Rates, class_chain, enclosed_rates, rates_chain, stationary_rates
from certify.stationary.relation import Relation, compatibility, separating_word
from certify.stationary.windows import Windows, sure_conflicts, window_observer

FORMAT = "certify-stationary-answer/1"
Regime = Literal[1, 2, 3]
REGIMES = {
    1: "the expert's law is a function of a finite reading of the history",
    2: "the expert knows more than a history tells; finitely many posteriors are reached",
    3: "the expert knows more than a history tells; more posteriors are reached than were followed",
}
_MOST_CODES = 2_000  # strong classes whose codes are counted
_MOST_LAG, _MOST_LAGGED = 8, 150  # steps back, and strong classes, up to which single lags are looked for
_MOST_FLOOR = 250  # windows whose long run is computed for the floor of regime 3


@dataclass(frozen=True)
class Effort:
    """How much is tried before an answer is a bracket."""

    nodes: int = MOST_NODES
    posteriors: int = MOST_POSTERIORS
    window: int = 3  # labels remembered in regime 3
    horizon: int = 4  # of the finite floors in regime 3; 0 for none
    steps: int = 12  # of the profile
    seconds: float = 10.0  # of the search for fewer codes
    gamma: Fraction | None = None  # of the discounted bits


@dataclass(frozen=True)
class StationaryAnswer:
    """What an expert requires of a memory for ever.

    `windows` exists in regime 3 alone. Where its error is not 0, `rates` are those of a machine within that error of
    the expert after every history; `floor` bounds from below what an exact machine needs in the long run, and `short`,
    the answer for a finite horizon, what it needs at each of its steps, whatever the horizon.
    """

    process: Process
    regime: Regime
    observer: Observer
    relation: Relation
    rates: Rates | None  # None where an exact long run would be too costly
    codes: Codes | None
    mixed: tuple[str, ...] = ()  # a history that (A2) fails after
    windows: Windows | None = None
    floor: LogSum | None = None
    short: Answer | None = None

    @property
    def name(self) -> str:
        return self.process.name

    @property
    def exact(self) -> bool:
        """Whether the observer determines the expert's law after every history."""
        return self.windows is None or not self.windows.error

    @property
    def certified(self) -> bool:
        """Whether the bits in the long run are proved."""
        return self.exact and self.rates is not None and self.rates.mean.proved

    @cached_property
    def machine(self) -> StationaryMachine:
        """The machine of the upper end: the classes of ~ where it is transitive, else the best closed partition."""
        cells = self.rates.cells if self.rates is not None else self._fallback
        return StationaryMachine.from_labels(self.relation.observer, cells)

    @property
    def _fallback(self) -> Ints:
        return self.relation.classes if self.relation.transitive else np.arange(self.relation.observer.size)

    @cached_property
    def smallest_machine(self) -> StationaryMachine | None:
        """A machine with the fewest codes found; codes are shared between observations."""
        if self.codes is None:
            return None
        if self.codes.labels is not None:
            return StationaryMachine.from_labels(self.relation.observer, self.codes.labels)
        return StationaryMachine.from_tables(self.relation.observer, self.codes.first or {}, self.codes.tables or {})

    @cached_property
    def frames(self) -> tuple[Frames, ...]:
        """How many past steps fix the law: with actions, and by observations alone; none where it is not computed."""
        if not self.exact or self.observer.kind == "group":
            return ()
        counted: list[Frames] = []
        for actions in (True, False):
            with suppress(TooMany):
                counted.append(frames(self.relation.observer, actions))
        return tuple(counted)

    @cached_property
    def lags(self) -> Lags | None:
        """The fewest single past observations that fix the law, where a stack of observations does; for small tasks."""
        stack = next((frame.k for frame in self.frames if not frame.actions), None)
        if stack is None or stack > _MOST_LAG or self.relation.observer.size > _MOST_LAGGED:
            return None
        return smallest_lags(self.relation.observer, stack)

    @cached_property
    def witnesses(self) -> tuple[str, ...]:
        """Why memory is needed, and which assumptions fail, in words."""
        lines: list[str] = []
        if self.mixed:
            lines.append(f"after {' '.join(self.mixed)} the expert acts on what the history does not tell")
        if self.relation.triple is not None:
            a, b, c = (" ".join(self.relation.observer.history(node)) for node in self.relation.triple)
            lines.append(f"compatibility is not transitive: [{b}] fits both [{a}] and [{c}], which conflict")
        pair = self._conflicting
        if pair is not None:
            lines.append(_conflict_text(self.relation.observer, *pair))
        return tuple(lines)

    @property
    def _conflicting(self) -> tuple[int, int] | None:
        """Two histories of one observation that no memory state may hold both; the first pair in order of length."""
        observer, classes = self.relation.observer, self.relation.classes
        if not self.exact or self.observer.kind == "group":
            return None
        first: dict[int, int] = {}
        for node, o in enumerate(observer.observation.tolist()):
            other = first.setdefault(o, node)
            if classes[other] != classes[node]:
                return other, node
        return None

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values; the format is `certify-stationary-answer/1`."""
        rates, relation = self.rates, self.relation
        return {
            "format": FORMAT,
            "name": self.name,
            "process_sha256": self.process.digest,
            "regime": self.regime,
            "regime_text": REGIMES[self.regime],
            "certified": self.certified,
            "a2": not self.mixed,
            "ends": self.process.ends,
            "observer": self.observer.kind,
            "nodes": self.observer.size,
            "strong_classes": relation.observer.size,
            "transitive": relation.transitive,
            "classes": relation.count if relation.transitive else None,
            "lookahead": relation.lookahead,
            "bits": None if rates is None or not self.exact else rates.mean.bits,
            "lower": self._lower,
            "upper": None if rates is None else rates.mean.upper.bits,
            "error": "0" if self.windows is None else str(self.windows.error),
            "bits_with_clock": _value(rates and rates.clock, self.exact),
            "bits_discounted": _value(rates and rates.discounted, self.exact),
            "profile": [_value(step, self.exact) for step in rates.profile] if rates else None,
            "period": rates.period if rates else None,
            "recurrent": [
                {"weight": str(r.weight), "period": r.period, "states": r.states, "bits": _value(r.bits, self.exact)}
                for r in rates.recurrent
            ]
            if rates
            else None,
            "codes": self._codes,
            "floors": self._floors,
            "frames": [{"actions": f.actions, "k": f.k, "text": f.text} for f in self.frames],
            "lags": None if self.lags is None or self.lags.lags is None else [lag for _, lag in self.lags.lags],
            "witnesses": list(self.witnesses),
        }

    @property
    def _lower(self) -> float | None:
        if not self.exact:
            return 0.0 if self.floor is None else self.floor.bits
        return None if self.rates is None else self.rates.mean.lower.bits

    @property
    def _codes(self) -> dict[str, Any] | None:
        if self.codes is None or not self.exact:
            return None
        return {
            "count": self.codes.count,
            "low": self.codes.low,
            "high": self.codes.high,
            "proof": "certified" if self.codes.proved else "solver" if self.codes.count else None,
        }

    @property
    def _floors(self) -> dict[str, Any] | None:
        """R_t^∞ ≥ R_t^T and K^∞ ≥ K^T, from the finite horizon T."""
        if self.short is None:
            return None
        codes = self.short.codes_found.brackets["stationary"][0]
        return {"horizon": self.short.model.horizon, "steps": [step.lower for step in self.short.steps], "codes": codes}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"


def certify_forever(process: Process, effort: Effort | None = None) -> StationaryAnswer:
    """The memory that imitating a process requires at every horizon."""
    effort = effort or Effort()
    try:
        regime, observer, windows, mixed = _observe(process, effort)
        if windows is not None and windows.error:
            return _bracket(process, effort, mixed, windows)
        relation = compatibility(observer)
    except TooMany as limit:
        relation = atom_relation(process)
        if relation is None:
            raise UserError("process", f"{limit} are reached; raise the limit, or give a smaller world") from None
        regime, observer, windows, mixed = 1, relation.observer, None, ()
    codes = None
    if observer.kind != "group" and relation.observer.size <= _MOST_CODES:
        codes = fewest_codes(relation.observer, relation.conflicts, effort.seconds)
    rates = _rates(process, relation, effort, MOST_WORK)
    return StationaryAnswer(process, regime, observer, relation, rates, codes, mixed, windows)


def _bracket(process: Process, effort: Effort, mixed: tuple[str, ...], windows: Windows) -> StationaryAnswer:
    """The answer of regime 3: a machine with its worst error, and floors for exact ones."""
    small = lump(process)
    tried = _coarser(small, effort, windows)
    relation = rates = None
    while rates is None and (coarser := next(tried, None)) is not None:
        windows, relation = coarser, compatibility(coarser.observer)
        rates = _rates(small, relation, effort, MOST_WORK // 10)
    assert relation is not None, "the windows themselves come first"
    floor = _window_floor(small, effort, windows)
    short = certify(process.model(effort.horizon), seconds=max(effort.seconds, 0.01)) if effort.horizon else None
    return StationaryAnswer(process, 3, windows.observer, relation, rates, None, mixed, windows, floor, short)


def _coarser(process: Process, effort: Effort, windows: Windows) -> Iterator[Windows]:
    """The windows, then ones with fewer nodes each: fewer labels; at last ones that forget what was possible before."""
    yield windows
    if windows.supports:
        for k in range(windows.k - 1, -1, -1):
            yield window_observer(process, k)
    for k in range(effort.window if windows.supports else windows.k - 1, -1, -1):
        with suppress(TooMany):
            yield window_observer(process, k, supports=False)


def _rates(process: Process, relation: Relation, effort: Effort, most: int) -> Rates | None:
    """The bits: exact, or beyond `most` products in a proved interval; None where that is not narrow."""
    chain = rates_chain(process, relation)
    try:
        return stationary_rates(process, relation, chain, effort.steps, effort.gamma, most=most)
    except TooMuchWork:
        return enclosed_rates(relation, chain)


def _observe(process: Process, effort: Effort) -> tuple[Regime, Observer, Windows | None, tuple[str, ...]]:
    """The observer of the first regime that fits; windows in the third; a history that (A2) fails after."""
    try:
        return 1, support_observer(process, effort.nodes), None, ()
    except MixedLaws as failure:
        mixed = tuple(failure.history)
    small = lump(process)
    try:
        return 2, posterior_observer(small, effort.posteriors), None, mixed
    except TooMany:
        windows = _widest(small, effort)
        return 3, windows.observer, windows, mixed


def _widest(process: Process, effort: Effort) -> Windows:
    """The observer of the most labels that fits, up to the effort; the first one without error is exact."""
    try:
        best = window_observer(process, 0)
    except TooMany:  # there are too many sets of possible states: do without
        best = window_observer(process, 0, supports=False)
    for k in range(1, effort.window + 1):
        if not best.error:
            break
        try:
            best = window_observer(process, k, supports=best.supports)
        except TooMany:
            break
    return best


def _window_floor(process: Process, effort: Effort, windows: Windows) -> LogSum | None:
    """Bits that every exact machine needs in the long run: windows that surely conflict are kept apart.

    Where the windows are too many for an exact long run, coarser ones give a floor as well.
    """
    for coarser in _coarser(process, effort, windows):
        if coarser.observer.size <= _MOST_FLOOR:
            with suppress(TooMuchWork):
                return _floor_of(process, coarser)
    return None


def _floor_of(process: Process, windows: Windows) -> LogSum:
    observer = windows.observer
    chain = class_chain(process, observer, np.arange(observer.size))
    mass = masses(long_run(chain).mean, chain.label)
    conflicts = sure_conflicts(windows)
    total = LogSum()
    for o in np.unique(observer.observation):
        members = [s for s in np.flatnonzero(observer.observation == o).tolist() if s in mass]
        if len(members) > 1:
            weights, _ = common_denominator([mass[s] for s in members])
            colouring = minimum_entropy(weights, bitmasks(conflicts[np.ix_(members, members)]), Limits(seconds=1.0))
            total += colouring.lower * sum((mass[s] for s in members), Fraction(0))
    return total


def _conflict_text(observer: Observer, first: int, second: int) -> str:
    word = separating_word(observer, first, second)
    assert word is not None, "different classes conflict"
    laws = []
    for node in (first, second):
        for label in word:
            node = observer.moves[node][label]
        laws.append(observer.law_text(int(observer.law[node])))
    one, other = (" ".join(observer.history(node)) for node in (first, second))
    then = "".join(f" {part}" for label in word for part in observer.words(label))
    when = f"after both, [{then.strip()}] can follow, and then" if word else "at once"
    return f"[{one}] and [{other}] must be kept apart: {when} the expert plays {laws[0]} or {laws[1]}"


def _value(bits: Bits | None, exact: bool) -> float | list[float] | None:
    if bits is None:
        return None
    return bits.bits if bits.proved and exact else [bits.lower.bits if exact else 0.0, bits.upper.bits]
