"""Models built literally: every episode a document, every posterior a set of fractions. Slow, and plainly right."""

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any

from certify import Model
from certify.core.graph import Laws
from certify.core.merged import Node, assemble
from certify.sources.adapter import Adapter

Step = Callable[[Any, tuple[str, ...]], tuple[str, Any]]


def from_latents(horizon: int, latents: Mapping[Any, Fraction], step: Step) -> Model:
    """One document an episode, followed action by action."""
    episodes: list[dict[str, Any]] = []

    def follow(latent: Any, weight: Fraction, steps: list[dict[str, Any]]) -> None:
        if len(steps) == horizon:
            episodes.append({"weight": weight, "steps": steps})
            return
        observation, law = step(latent, tuple(s["action"] for s in steps))
        law = {law: Fraction(1)} if isinstance(law, str) else {a: Fraction(p) for a, p in law.items()}
        for action, p in law.items():
            if p:
                follow(latent, weight * p, [*steps, {"obs": observation, "action_law": law, "action": action}])

    for latent, weight in latents.items():
        if weight:
            follow(latent, weight, [])
    return Model.from_episodes({"horizon": horizon, "episodes": episodes})


def to_model(adapter: Adapter[Any]) -> Model:
    """Play every sequence of actions from the beginning, twice."""

    def step(hidden: Any, actions: tuple[str, ...]) -> tuple[str, Any]:
        raw, ended = adapter.reset(hidden), False
        history: tuple[str, ...] = ()
        for action in actions:
            if not ended:
                history = (*history, adapter.symbol(raw), action)
                raw, ended = adapter.step(action)
        if ended:
            return "end", "end"
        history = (*history, adapter.symbol(raw))
        return history[-1], adapter.expert(hidden, history)

    def twice(hidden: Any, actions: tuple[str, ...]) -> tuple[str, Any]:
        first = step(hidden, actions)
        assert step(hidden, actions) == first
        return first

    return from_latents(adapter.horizon, dict(adapter.weights()), twice)


def from_generative(
    horizon: int,
    start: Mapping[Any, Any],
    observe: Callable[[int, Any], Any],
    expert: Callable[[int, Any], Any],
    move: Callable[[int, Any, str], Any],
) -> Model:
    """Posteriors as fractions that sum to one."""
    observations: dict[str, int] = {}
    actions: dict[str, int] = {}
    laws = Laws()

    def law(given: Any) -> dict[Any, Fraction]:
        if not isinstance(given, Mapping):
            return {given: Fraction(1)}
        return {key: Fraction(p) for key, p in given.items() if Fraction(p)}

    def split(t: int, joint: Mapping[Any, Fraction]) -> dict[int, dict[Any, Fraction]]:
        shown: dict[int, dict[Any, Fraction]] = {}
        for state, weight in joint.items():
            for name, p in law(observe(t, state)).items():
                after = shown.setdefault(observations.setdefault(name, len(observations)), {})
                after[state] = after.get(state, Fraction(0)) + weight * p
        return shown

    def arrive(
        level: list[Node], beliefs: dict[Hashable, int], seen: int, after: dict[Any, Fraction], mass: Fraction
    ) -> tuple[int, Fraction]:
        whole = sum(after.values(), Fraction(0))
        number = beliefs.setdefault((seen, frozenset((s, w / whole) for s, w in after.items())), len(level))
        if number == len(level):
            level.append(Node(seen, Fraction(0), {}))
        level[number].mass += mass * whole
        return number, whole

    level: list[Node] = []
    beliefs: dict[Any, int] = {}
    for seen, after in split(1, law(start)).items():
        arrive(level, beliefs, seen, after, Fraction(1))
    levels: list[list[Node]] = []
    for t in range(1, horizon + 1):
        levels.append(level)
        following: list[Node] = []
        later: dict[Any, int] = {}
        for node, (_, posterior) in zip(level, beliefs, strict=True):
            joint: dict[int, dict[Any, Fraction]] = {}
            for state, weight in posterior:
                chosen = law(expert(t, state))
                which = laws.intern({actions.setdefault(name, len(actions)): p for name, p in chosen.items()})
                node.shares[which] = node.shares.get(which, Fraction(0)) + weight
                for name, p in chosen.items() if t < horizon else ():
                    after = joint.setdefault(actions[name], {})
                    for target, q in law(move(t, state, name)).items():
                        after[target] = after.get(target, Fraction(0)) + weight * p * q
            for action, after in joint.items():
                for seen, belief in split(t + 1, after).items():
                    node.edges[action, seen] = arrive(following, later, seen, belief, node.mass)
        level, beliefs = following, later
    return Model(assemble(levels, tuple(observations), tuple(actions), laws))
