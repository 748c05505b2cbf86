"""Point masses whose need of memory is certified: cues are shown, hidden, asked for; a body acts and comes home."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certify import Model
from certify.core.requirement import Requirement
from diacritic.demos.readers import from_arrays
from diacritic.files.demos import Demos

Ints = NDArray[np.int64]
Latents = Mapping[str, Ints]
Rule = Callable[[Latents], Ints]
DISTRACTORS = 4  # channels that drift and mean nothing
FEEDBACK = 0.5  # share of a deviation that the expert corrects


@dataclass(frozen=True)
class Shown:
    """What a frame shows: a function of the hidden values, in a channel of its own, at some steps."""

    steps: Sequence[int]
    rule: Rule


@dataclass(frozen=True)
class Asked:
    """A decision: the body moves along one axis by the class of the rule, and is back after some steps."""

    step: int
    rule: Rule
    away: int = 2


@dataclass(frozen=True)
class World:
    """A finite task with a certified requirement, and its noisy body."""

    name: str
    steps: int
    latents: Mapping[str, int]
    shown: Sequence[Shown]
    asked: Sequence[Asked]

    def draw(self, episodes: int, rng: np.random.Generator) -> dict[str, Ints]:
        return {name: rng.integers(size, size=episodes) for name, size in self.latents.items()}

    def requirement(self, latents: Latents) -> tuple[float, ...]:
        """Certified bits of every step, for the hidden values of these episodes."""
        seen, done = self._symbols(latents)
        model = Model.from_arrays(seen.T, done.T)
        return tuple(float(bits or 0.0) for bits in Requirement.of(model).bits)

    def _symbols(self, latents: Latents) -> tuple[Ints, Ints]:
        """Numbers of what is seen (frame and displaced body) and done, [T, N] each."""
        episodes = len(next(iter(latents.values())))
        seen = np.zeros((self.steps, episodes, 0), np.int64)
        done = np.zeros((self.steps, episodes), np.int64)
        for part in self.shown:
            column = np.full((self.steps, episodes), -1)
            column[list(part.steps)] = part.rule(latents)
            seen = np.concatenate([seen, column[:, :, None]], 2)
        for part in self.asked:
            column = np.full((self.steps, episodes), -1)
            column[part.step + 1 : part.step + 1 + part.away] = part.rule(latents)
            seen = np.concatenate([seen, column[:, :, None]], 2)
            done[part.step] = 16 * done[part.step] + 1 + part.rule(latents)
        numbers = [np.unique(rows, axis=0, return_inverse=True)[1].ravel() for rows in seen]
        return np.array(numbers), done

    def record(self, latents: Latents, rng: np.random.Generator, noise: float = 0.05, strength: float = 1.0) -> Demos:
        """Noisy demonstrations: positions, cue channels, a clock and distractors; displacements as actions.

        `noise` is the standard deviation of every channel, `strength` the distance between two values of a cue.
        """
        episodes = len(next(iter(latents.values())))
        goal = np.zeros((self.steps + 1, episodes, 2))
        for k, part in enumerate(self.asked):
            label = part.rule(latents)
            goal[part.step + 1 : part.step + 1 + part.away, :, k % 2] = (label - label.max() / 2)[None]
        cues = np.zeros((self.steps, episodes, len(self.shown)))
        for k, part in enumerate(self.shown):
            label = part.rule(latents)
            cues[list(part.steps), :, k] = strength * (label - label.max() / 2)
        position = 0.02 * rng.standard_normal((episodes, 2))
        seen, acted = [], []
        for t in range(self.steps):
            action = (
                goal[t + 1] - goal[t] - FEEDBACK * (position - goal[t]) + 0.002 * rng.standard_normal((episodes, 2))
            )
            clock = np.full((episodes, 1), t / self.steps)
            seen.append(np.concatenate([position, cues[t], clock], 1))
            acted.append(action)
            position = position + action + 0.02 * rng.standard_normal((episodes, 2))
        observations = np.array(seen)
        observations[:, :, 2:] += noise * rng.standard_normal(observations[:, :, 2:].shape)
        drift = np.cumsum(0.3 * rng.standard_normal((self.steps, episodes, DISTRACTORS)), 0)
        return from_arrays(np.concatenate([observations, drift], 2), np.array(acted), task=self.name)


def value(name: str) -> Rule:
    """A hidden value itself."""
    return lambda latents: latents[name]


def mixed(*names: str, base: int = 2) -> Rule:
    """The sum of hidden values modulo a base."""
    return lambda latents: sum((latents[name] for name in names), np.zeros_like(latents[names[0]])) % base


def count(*names: str) -> Rule:
    """The sum of hidden values."""
    return lambda latents: sum((latents[name] for name in names), np.zeros_like(latents[names[0]]))


def queried(query: str, *names: str) -> Rule:
    """The value that a query names."""
    return lambda latents: np.choose(latents[query], [latents[name] for name in names])


def at_least(name: str, level: int) -> Rule:
    """Whether a value reaches a level."""
    return lambda latents: (latents[name] >= level).astype(np.int64)


def latest(first: str, second: str) -> Rule:
    """The first value unless the second, which counts from 1, replaces it."""
    return lambda latents: np.where(latents[second] > 0, latents[second] - 1, latents[first])


def cues(number: int, gap: int = 8, classes: int = 2) -> World:
    """Several cues, shown one after another, asked for in order."""
    names = [f"c{k}" for k in range(number)]
    shown = [Shown((1 + 2 * k, 2 + 2 * k), value(name)) for k, name in enumerate(names)]
    start = 2 * number + 1 + gap
    asked = [Asked(start + 4 * k, value(name)) for k, name in enumerate(names)]
    return World(f"cues-{number}-of-{classes}", start + 4 * number, dict.fromkeys(names, classes), shown, asked)


two = {"a": 2, "b": 2}
WORLDS = {
    world.name: world
    for world in (
        cues(1),
        cues(2),
        cues(3),
        cues(1, classes=4),
        World("xor", 16, two, [Shown((1, 2), value("a")), Shown((4,), value("b"))], [Asked(12, mixed("a", "b"))]),
        World("re-revealed", 22, {"a": 2}, [Shown((1, 10), value("a"))], [Asked(6, value("a")), Asked(17, value("a"))]),
        World(
            "partial",
            18,
            {"a": 3},
            [Shown((2,), at_least("a", 1)), Shown((6,), at_least("a", 2))],
            [Asked(13, value("a"))],
        ),
        World(
            "counter",
            20,
            {"a": 2, "b": 2, "c": 2},
            [Shown((2,), value("a")), Shown((5,), value("b")), Shown((8,), value("c"))],
            [Asked(15, count("a", "b", "c"))],
        ),
        World(
            "key-and-door", 24, {"a": 2}, [Shown((0,), value("a"))], [Asked(6, value("a"), 3), Asked(19, value("a"))]
        ),
        World(
            "reverse-order",
            24,
            two,
            [Shown((1,), value("a")), Shown((3,), value("b"))],
            [Asked(10, value("b")), Asked(18, value("a"))],
        ),
        World(
            "query",
            18,
            {**two, "q": 2},
            [Shown((1,), value("a")), Shown((3,), value("b")), Shown((12,), value("q"))],
            [Asked(12, queried("q", "a", "b"))],
        ),
        World(
            "match-to-sample",
            16,
            two,
            [Shown((2,), value("a")), Shown((11,), value("b"))],
            [Asked(11, mixed("a", "b"))],
        ),
        World(
            "two-at-once",
            16,
            two,
            [Shown((1,), value("a")), Shown((2,), value("b"))],
            [Asked(9, value("a")), Asked(9, value("b"))],
        ),
        World(
            "late-half", 20, {"a": 4}, [Shown((2,), value("a")), Shown((9,), at_least("a", 2))], [Asked(15, value("a"))]
        ),
        World(
            "latest-wins",
            20,
            {"a": 2, "b": 3},
            [Shown((2,), value("a")), Shown((8,), value("b"))],
            [Asked(15, latest("a", "b"))],
        ),
        World(
            "parity-of-three",
            18,
            {"a": 2, "b": 2, "c": 2},
            [Shown((1,), value("a")), Shown((4,), value("b")), Shown((7,), value("c"))],
            [Asked(13, mixed("a", "b", "c"))],
        ),
        World(
            "modular-sum",
            16,
            {"a": 3, "b": 3},
            [Shown((1,), value("a")), Shown((4,), value("b"))],
            [Asked(11, mixed("a", "b", base=3))],
        ),
        World(
            "twice-and-once",
            26,
            two,
            [Shown((1, 2), value("a")), Shown((3, 14), value("b"))],
            [Asked(8, value("a")), Asked(11, value("b")), Asked(21, mixed("a", "b"))],
        ),
    )
}
HELD_OUT = ("latest-wins", "late-half", "twice-and-once", "two-at-once", "modular-sum")
"""Families that no setting was chosen on."""
