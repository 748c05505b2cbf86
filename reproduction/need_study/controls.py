"""Recordings that need no memory of a cue, though each looks in its own way as if it did."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diacritic.demos.readers import from_arrays
from diacritic.files.demos import Demos
from reproduction.need_study.worlds import WORLDS, cues

STEPS, NOISE = 16, 0.05
Floats = NDArray[np.float64]
Policy = Callable[[int, Floats, Floats, np.random.Generator], Floats]


def _played(name: str, policy: Policy, episodes: int, rng: np.random.Generator, seen: float = 0.0) -> Demos:
    """A point mass with momentum under a policy of (step, position, velocity).

    `seen` is the noise of its observed position; three more channels drift and mean nothing.
    """
    position, velocity = rng.standard_normal((episodes, 2)), 0.3 * rng.standard_normal((episodes, 2))
    observations, actions = [], []
    for t in range(STEPS):
        action = policy(t, position, velocity, rng)
        clock = np.full((episodes, 1), t / STEPS)
        observations.append(np.concatenate([position + seen * rng.standard_normal(position.shape), clock], 1))
        actions.append(action)
        velocity = 0.8 * velocity + 0.2 * action + 0.05 * rng.standard_normal(action.shape)
        position = position + 0.5 * velocity
    drift = np.cumsum(rng.standard_normal((STEPS, episodes, 3)), 0)
    return from_arrays(np.concatenate([np.array(observations), drift], 2), np.array(actions), task=name)


def _jitter(rng: np.random.Generator, like: NDArray[Any]) -> Floats:
    return NOISE * rng.standard_normal(like.shape)


def lit(episodes: int, rng: np.random.Generator) -> Demos:
    """The cue is shown at every step."""
    world = cues(2)
    demos = world.record(latents := world.draw(episodes, rng), rng)
    seen = demos.observations.copy()
    for k, part in enumerate(world.shown):
        seen[:, :, 2 + k] = part.rule(latents) - 0.5 + _jitter(rng, seen[:, :, 2 + k])
    return from_arrays(seen, demos.actions, task="lit")


def exchanged(episodes: int, rng: np.random.Generator) -> Demos:
    """A world with cues, in which every episode got the frames before its first decision from another one."""
    world = WORLDS["cues-2-of-2"]
    demos = world.record(world.draw(episodes, rng), rng)
    seen, acted, order = demos.observations.copy(), demos.actions.copy(), rng.permutation(episodes)
    first = world.asked[0].step
    seen[:first], acted[:first] = seen[:first, order], acted[:first, order]
    return from_arrays(seen, acted, task="exchanged")


def velocity(episodes: int, rng: np.random.Generator) -> Demos:
    """The expert damps its velocity, which one frame does not show."""
    return _played("velocity", lambda t, x, v, r: -0.5 * x - 1.5 * v + _jitter(r, x), episodes, rng)


def braking(episodes: int, rng: np.random.Generator) -> Demos:
    """The expert pushes at full strength against the sign of its velocity."""
    return _played("braking", lambda t, x, v, r: -np.sign(v) + _jitter(r, x), episodes, rng)


def clock(episodes: int, rng: np.random.Generator) -> Demos:
    """The action depends on the time alone."""
    return _played("clock", lambda t, x, v, r: np.sin(t + np.arange(2)) + _jitter(r, x), episodes, rng)


def copycat(episodes: int, rng: np.random.Generator) -> Demos:
    """The expert repeats much of its last action."""
    last = np.zeros((episodes, 2))

    def policy(t: int, x: Floats, v: Floats, r: np.random.Generator) -> Floats:
        last[:] = 0.8 * last - 0.2 * x + 0.3 * r.standard_normal(x.shape)
        return last.copy()

    return _played("copycat", policy, episodes, rng)


def filtering(episodes: int, rng: np.random.Generator) -> Demos:
    """The position is observed with noise; the expert knows it exactly."""
    return _played("filtering", lambda t, x, v, r: -x + _jitter(r, x), episodes, rng, seen=0.5)


def noisy_threshold(episodes: int, rng: np.random.Generator) -> Demos:
    """The same with an expert that pushes left or right."""
    return _played("noisy-threshold", lambda t, x, v, r: -np.sign(x) + _jitter(r, x), episodes, rng, seen=0.3)


def coin(episodes: int, rng: np.random.Generator) -> Demos:
    """The expert tosses a coin at one step."""

    def policy(t: int, x: Floats, v: Floats, r: np.random.Generator) -> Floats:
        toss = (r.integers(2, size=(len(x), 1)) - 0.5) * np.array([4.0, 0]) if t == 8 else 0.0
        return -0.5 * x + toss + _jitter(r, x)

    return _played("coin", policy, episodes, rng)


def threshold(episodes: int, rng: np.random.Generator) -> Demos:
    """The expert goes round an obstacle on the side where it is."""
    return _played("threshold", lambda t, x, v, r: np.sign(x) - 0.3 * x + _jitter(r, x), episodes, rng)


def curved(episodes: int, rng: np.random.Generator) -> Demos:
    """A smooth but strongly curved function of the frame."""
    return _played(
        "curved", lambda t, x, v, r: np.sin(3 * x[:, ::-1]) * np.cos(2 * x) - 0.3 * x + _jitter(r, x), episodes, rng
    )


def random(episodes: int, rng: np.random.Generator) -> Demos:
    """Actions are drawn at random."""
    return _played("random", lambda t, x, v, r: r.standard_normal(x.shape), episodes, rng)


def body(episodes: int, rng: np.random.Generator) -> Demos:
    """A cue is shown once and followed at once; from then on the body stands where it was sent."""
    target = rng.integers(2, size=episodes) * 2.0 - 1
    position = 0.1 * rng.standard_normal((episodes, 1))
    observations, actions = [], []
    for t in range(STEPS):
        lamp = target[:, None] if t == 2 else np.zeros((episodes, 1))
        goal = np.zeros((episodes, 1)) if t < 2 else target[:, None] if t == 2 else np.sign(position)
        push = 1.5 * np.sign(position) if t == 12 else 0.0
        action = goal - position + push + 0.02 * rng.standard_normal(position.shape)
        seen = np.concatenate([position, lamp + 0.05 * rng.standard_normal(position.shape)], 1)
        observations.append(np.concatenate([seen, rng.standard_normal((episodes, 3))], 1))
        actions.append(action)
        position = goal + 0.1 * rng.standard_normal(position.shape)
    return from_arrays(np.array(observations), np.array(actions), task="body")


CONTROLS: dict[str, Callable[[int, np.random.Generator], Demos]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        lit,
        exchanged,
        velocity,
        braking,
        clock,
        copycat,
        filtering,
        noisy_threshold,
        coin,
        threshold,
        curved,
        random,
        body,
    )
}
HELD_OUT = ("braking", "body", "curved")
"""Controls on which no setting was chosen."""
