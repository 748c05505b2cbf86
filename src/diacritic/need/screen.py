"""Step by step: what the present leaves open, which part of the past closes it, and which decisions are taken."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from diacritic.need.aligned import Aligned
from diacritic.need.classes import by_class, entropy, one_hot, split
from diacritic.need.decisions import LEVEL, Decision, Decisions
from diacritic.need.modes import modes
from diacritic.need.past import Gains, dependence, nested_gains
from diacritic.need.ridge import TOLERANCE, Floats, Ints, Ridge, linear_kernel
from diacritic.need.visibility import Visibility, look

WORTH = 0.35  # nats: older frames must halve some squared error to count as a need
WIDE = 16.0  # squared tolerances: where the present leaves more open, a cue may change how the present is used
LEAST = 0.25  # bits of a choice that the present must hide
UNTOLD = 0.7  # of its variance, that the present must leave of a channel which counts as hidden


def _hidden_bits(labels: Ints, sight: Visibility) -> float:
    """What the present frame does not show of a choice."""
    return entropy(labels) - entropy(sight.blocks[labels])


@dataclass(frozen=True)
class Open:
    """A step whose action the present frame leaves open."""

    step: int
    error: float  # root mean square, in tolerances
    p: float  # that no part of the past helps, family-wise over steps
    p_older: float  # that no older frame helps, given the recent ones
    gains: Gains


@dataclass(frozen=True)
class Graded:
    """An old frame's number, not in classes, improves the action and is hidden now."""

    step: int
    frame: int
    gain: float
    p: float


@dataclass
class Screen:
    """All that the screening of one recording found."""

    data: Aligned
    seed: int = 0
    open: list[Open] = field(default_factory=list)
    graded: list[Graded] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self._decisions = Decisions(self.data, self.rng)

    @property
    def decisions(self) -> list[Decision]:
        return self._decisions.accepted

    def run(self, steps: Iterable[int]) -> "Screen":
        for s in steps:
            self.step(s)
        return self

    def step(self, s: int) -> None:
        """Examine one step."""
        data = self.data
        frame, actions = data.frames[s], data.acted[s]
        if (((actions - frame.predict(actions)) ** 2).mean(0) < 1).all():
            return
        labels, told = modes(actions, frame)
        sight = look([frame], labels, self.rng, shuffles=16)[0] if labels is not None else None
        if labels is not None and sight is not None and _hidden_bits(labels, sight) < LEAST:
            told, labels = told + by_class(labels, actions - told), None  # only the rest may be open
        else:
            told = frame.predict(actions)
        errors = ((actions - told) ** 2).mean(0)
        left = errors > 1
        if s == 0 or not left.any():
            if labels is not None and sight is not None:
                self._decisions.add(s, labels, 1.0, sight.hint)
            return
        targets, residuals, errors = actions[:, left], (actions - told)[:, left], errors[left]
        goal = residuals
        if labels is not None:
            hot = one_hot(labels)
            goal = np.concatenate([residuals, hot - frame.predict(hot)], 1)
        columns, _ = data.past(s)
        p, _ = dependence(goal, columns - frame.predict(columns))
        p = min(1.0, p * data.steps)
        gains = nested_gains(data, s, targets, errors)
        p_older = min(1.0, gains.p_older * data.steps)
        self.open.append(Open(s, float(np.sqrt(errors.sum())), p, p_older, gains))
        if labels is not None and sight is not None:
            self._decisions.add(s, labels, p, sight.hint)
        elif p_older < LEVEL and gains.memory >= WORTH:
            self._add_column(s, gains, p_older)
        elif p > LEVEL and errors.max() > WIDE:
            self._interaction(s, targets, residuals, errors)

    def _add_column(self, s: int, gains: Gains, p: float) -> None:
        """An old channel helps without modes: is it in classes, or a number that the present does not show?"""
        labels, frame = split(gains.column / TOLERANCE), self.data.frames[s]
        if labels is not None:
            if not look([frame], labels, self.rng, shuffles=16)[0].shows_all:
                self._decisions.add(s, labels, p)
        elif float(((gains.column - frame.predict(gains.column)) ** 2).mean()) > UNTOLD:
            self.graded.append(Graded(s, gains.frame, gains.memory, p))

    def _interaction(self, s: int, targets: Floats, residuals: Floats, errors: Floats) -> None:
        """Does a class of the past change how the present is used?"""
        frame = self.data.frames[s]
        candidates = self.data.candidates(s)
        best, cue = 1.0, None
        for labels in candidates:
            hot = one_hot(labels) - one_hot(labels).mean(0)
            products = (hot[:, :, None] * frame.columns[:, None]).reshape(len(hot), -1)
            p = dependence(residuals, products - frame.predict(products))[0] * len(candidates) * self.data.steps
            if p < best:
                best, cue = p, labels
        if cue is None or best >= LEVEL:
            return
        hot = one_hot(cue)
        kernel = frame.rich * (1 + linear_kernel(hot)) + linear_kernel(hot)
        left = ((targets - Ridge(kernel).leave_one_out(targets)) ** 2).mean(0)
        gain = float(0.5 * np.log((1 + errors) / (1 + np.minimum(errors, left))).sum())
        if gain >= WORTH and not look([frame], cue, self.rng, shuffles=16)[0].shows_all:
            self._decisions.add(s, cue, best)
