"""Gymnasium 1.x environments whose hidden value can be chosen: by reset options, by an attribute, or by a seed.

All callables that take an environment are given the innermost one, `env.unwrapped`.
"""

import inspect
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import count
from typing import Any

from certify.core.reading import Rational
from certify.errors import UserError
from certify.optional import import_optional
from certify.sources._live import Expert, StateExpert, by_name, named_actions, set_attribute
from certify.sources.adapter import Adapter, H, readable

__all__ = ["StateExpert", "by_attribute", "by_options", "by_seed", "from_gym", "from_seeds"]

Start = Callable[[Any, H], tuple[Any, Any]]  # (env, hidden) → what `reset` returns: first observation and info


def from_gym(
    env: Any,
    hidden: Mapping[H, Rational] | Sequence[H],
    expert: Expert[H],
    horizon: int,
    *,
    set_hidden: Start[H],
    actions: Sequence[str] | Mapping[str, Any] | None = None,
    symbol: Callable[[Any], str] = readable,
    name: str = "",
    modified: str = "",
) -> Adapter[H]:
    """An adapter for an environment or an environment id.

    `set_hidden` starts an episode: `by_options`, `by_attribute`, `by_seed`, or any function of environment and hidden
    value that returns what `reset` returns. `expert` is a function of hidden value and history, or a `StateExpert`;
    it answers with an action's name or value, or with probabilities of them. `actions` names discrete actions in order
    (their numbers if absent), or maps the names that the expert uses to the values of any action space.
    """
    env = _made(env)
    task = name or _name(env)
    if not callable(set_hidden):
        raise UserError(task, "set_hidden must be by_options(…), by_attribute(…), by_seed(…) or a function")
    table = named_actions(task, actions, env.action_space, "start", "n")

    def reset(value: H) -> Any:
        result = set_hidden(env, value)
        if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], Mapping):
            raise UserError(task, "a reset must return the observation and an info dictionary, as in Gymnasium 1.x")
        return result[0]

    def step(action: str) -> tuple[Any, bool]:
        result = env.step(table.values[action])
        if not isinstance(result, tuple) or len(result) != 5:
            raise UserError(task, "step does not return five values; expected the interface of Gymnasium 1.x")
        return result[0], bool(result[2] or result[3])

    return Adapter(task, horizon, hidden, reset, step, by_name(expert, table, env.unwrapped), symbol, modified)


def from_seeds(
    env: Any, seeds: int, act: Callable[[Any], Any], horizon: int, start: Start[int], **given: Any
) -> Adapter[int]:
    """The first so many seeds as hidden values, and `act(env)` as the expert; `given` as `from_gym` takes it."""
    return from_gym(env, list(range(seeds)), StateExpert(act), horizon, set_hidden=start, **given)


def by_options(
    options: str | Callable[[H], Mapping[str, Any]], hidden_of: Callable[[Any], H] | None = None
) -> Start[H]:
    """`reset(options=…)`: the key of the option that holds the hidden value, or a function that makes all options.

    Every reset has a new seed, so that whatever else is random shows. `hidden_of(env)` reads the hidden value back, to
    catch an environment that ignores the option.
    """
    seeds = count()

    def start(env: Any, hidden: H) -> tuple[Any, Any]:
        if "options" not in _keywords(env):
            raise UserError(_name(env), "reset takes no options: choose the hidden value by_attribute or by_seed")
        given = {options: hidden} if isinstance(options, str) else dict(options(hidden))
        result = env.reset(seed=next(seeds), options=given)
        if hidden_of is not None and (held := hidden_of(env.unwrapped)) != hidden:
            raise UserError(_name(env), f"was reset with options {given!r}, but its hidden value is {held!r}")
        return result

    return start


def by_attribute(path: str, observe: Callable[[Any], Any]) -> Start[H]:
    """An attribute of `env.unwrapped`, such as ``goal`` or ``world.goal``, set after `reset` with a new seed.

    `observe(env)` is then the first observation.
    """
    seeds = count()

    def start(env: Any, hidden: H) -> tuple[Any, Any]:
        env.reset(seed=next(seeds))
        set_attribute(env.unwrapped, path, hidden)
        return observe(env.unwrapped), {}

    return start


def by_seed(hidden_of: Callable[[Any], Hashable], tries: int = 1000, each: int = 2) -> Start[Hashable]:
    """The seeds 0…tries−1 are searched for those after which `hidden_of(env)` is the hidden value.

    Resets take turns among the seeds that were found for a value, at least `each`, so that an episode which depends on
    more than the hidden value differs from its replay. Take one only if the hidden value is all there is.
    """
    seeds_by_value: dict[Hashable, deque[int]] = {}
    untried = iter(range(tries))

    def start(env: Any, hidden: Hashable) -> tuple[Any, Any]:
        seeds = seeds_by_value.setdefault(hidden, deque())
        while len(seeds) < each:
            seed = next(untried, None)
            if seed is None:
                raise UserError(_name(env), _not_found(seeds_by_value, hidden, tries, each))
            env.reset(seed=seed)
            seeds_by_value.setdefault(_held(env, hidden_of), deque()).append(seed)
        seeds.rotate(1)
        result = env.reset(seed=seeds[0])
        if (held := _held(env, hidden_of)) != hidden:
            where = f"{_name(env)}.reset(seed={seeds[0]})"
            raise UserError(where, f"does not repeat itself: its hidden value was {hidden!r} and is now {held!r}")
        return result

    return start


def _held(env: Any, hidden_of: Callable[[Any], Hashable]) -> Hashable:
    held = hidden_of(env.unwrapped)
    if not isinstance(held, Hashable):
        raise UserError(f"{_name(env)}.hidden_of", f"gave {held!r}; a hidden value is a number, text or a tuple")
    return held


def _not_found(seeds_by_value: Mapping[Hashable, deque[int]], hidden: Hashable, tries: int, each: int) -> str:
    if seeds_by_value[hidden]:
        seeds = f"{len(seeds_by_value[hidden])} of the seeds below {tries}"
        return f"only {seeds} gives hidden value {hidden!r}, but {each} are needed for a comparison; raise tries"
    seen = [repr(value) for value, seeds in seeds_by_value.items() if seeds]
    listed = ", ".join(seen[:6]) + ", …" * (len(seen) > 6)
    return f"no seed below {tries} gives hidden value {hidden!r} (seen: {listed}); raise tries or correct hidden_of"


def _made(env: Any) -> Any:
    if isinstance(env, str):
        gymnasium = import_optional("gymnasium", "sources")
        try:
            env = gymnasium.make(env, disable_env_checker=True)
        except gymnasium.error.Error as error:
            raise UserError(env, " ".join(str(error).split())) from None
    if not all(hasattr(env, part) for part in ("reset", "step", "unwrapped", "action_space")):
        raise UserError(type(env).__name__, "is neither a Gymnasium environment nor the id of one")
    if hasattr(env, "single_action_space"):
        raise UserError(type(env).__name__, "is a vector of environments; give one of them")
    if "seed" not in _keywords(env):
        raise UserError(_name(env), "reset takes no seed; expected the interface of Gymnasium 1.x")
    return env


def _name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return spec.id if spec is not None else type(env.unwrapped).__name__


def _keywords(env: Any) -> set[str]:
    """The keywords that `reset` of the innermost environment takes, whatever its wrappers pass on."""
    parameters = inspect.signature(env.unwrapped.reset).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return {"seed", "options"}
    return set(parameters)
