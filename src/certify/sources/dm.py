"""dm_env environments, and the tasks of bsuite, whose observations have a leading axis of length 1."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, product, repeat
from typing import Any

import numpy as np

from certify.core.model import Model
from certify.core.reading import Rational
from certify.errors import UserError
from certify.optional import import_optional
from certify.sources._live import Expert, StateExpert, by_name, named_actions, set_attribute
from certify.sources.adapter import MOST_EPISODES, Adapter, H, History, readable
from certify.zoo.registry import require

__all__ = ["StateExpert", "discounting_chain", "from_dm", "memory_chain", "umbrella_chain", "umbrella_model"]

Bits = tuple[int, ...]


def from_dm(
    env: Any,
    hidden: Mapping[H, Rational] | Sequence[H],
    set_hidden: Callable[[Any, H], Any],
    expert: Expert[H],
    horizon: int,
    *,
    actions: Sequence[str] | Mapping[str, Any] | None = None,
    symbol: Callable[[Any], str] = readable,
    name: str = "",
    modified: str = "",
) -> Adapter[H]:
    """An adapter for a dm_env environment.

    `set_hidden(env, hidden)` starts an episode and returns its first time step, or the first observation alone.
    `expert` is a function of hidden value and history, or a `StateExpert`. `actions` names discrete actions in order
    (their numbers if absent), or maps the names that the expert uses to the values of any action.
    """
    task = name or type(env).__name__
    for part in ("reset", "step", "action_spec"):
        if not hasattr(env, part):
            raise UserError(task, f"is not a dm_env environment: it has no {part}")
    if not callable(set_hidden):
        raise UserError(task, "set_hidden must be a function of environment and hidden value")
    table = named_actions(task, actions, env.action_spec(), "minimum", "num_values")

    def reset(value: H) -> Any:
        first = set_hidden(env, value)
        if first is None:
            raise UserError(task, "set_hidden returned nothing; expected the first time step or observation")
        return getattr(first, "observation", first)

    def step(action: str) -> tuple[Any, bool]:
        moment = env.step(table.values[action])
        return moment.observation, bool(moment.last())

    return Adapter(task, horizon, hidden, reset, step, by_name(expert, table, env), symbol, modified)


def memory_chain(bits: int = 1, delay: int = 10, kind: Any = None) -> Adapter[tuple[Bits, int]]:
    """bsuite's memory_len (one bit) and memory_size (delay 2): bits shown at the first two steps, one asked for later.

    Hidden: the bits and the query. The expert answers at the last step and plays 0 before. `kind` is the class of the
    environment, where it is not bsuite's own.
    """
    name = f"memory-chain bits={bits} delay={delay}"
    require(bits >= 1 and delay >= 1, name, "bits and delay are at least 1")
    require(bits < 40 and bits * 2**bits <= MOST_EPISODES, name, "too many bits to enumerate; 13 are possible")
    kind = kind or import_optional("bsuite.environments.memory_chain", "sources").MemoryChain
    env = kind(memory_length=delay, num_bits=bits, seed=0)

    def start(env: Any, hidden: tuple[Bits, int]) -> Any:
        env.reset()
        set_attribute(env, "_context", np.array(hidden[0]))
        set_attribute(env, "_query", hidden[1])
        return env._get_observation()

    def expert(hidden: tuple[Bits, int], history: History) -> int:
        return hidden[0][hidden[1]] if _time(history) == delay + 1 else 0

    values = list(product(product((0, 1), repeat=bits), range(bits)))
    return from_dm(env, values, start, expert, delay + 1, name=name)


Umbrella = tuple[int, int, tuple[Bits, ...]]  # forecast, umbrella at the start, distractors of each step


class _Chosen:
    """Stands in for the generator of UmbrellaChain: the distractors are the chosen ones, then from the real one."""

    def __init__(self, rows: Sequence[Bits], generator: Any) -> None:
        self.generator = generator
        self.rows = chain(rows, repeat(()))  # the terminal observation, at which nobody acts, needs no choice

    def binomial(self, n: int, p: float, size: int | None = None) -> Any:
        drawn = self.generator.binomial(n, p, size=size)
        if size is None:
            return drawn  # the noise of the reward, which is not observed
        row = next(self.rows)
        drawn[: len(row)] = row
        return drawn


def umbrella_chain(length: int = 20, distractors: int = 0, *, shown: int | None = None) -> Adapter[Umbrella]:
    """bsuite's umbrella_length and umbrella_distract: the umbrella is taken at the first step, if the forecast is rain.

    Hidden: the forecast, whether one starts with an umbrella, and every distractor of every step. The forecast stays
    visible. `shown` distractors enter the symbol (all, if absent); the others stay as random as they are.
    """
    shown = distractors if shown is None else shown
    name = f"umbrella-chain length={length} distractors={distractors}"
    require(length >= 1 and 0 <= shown <= distractors, name, "length is at least 1, 0 ≤ shown ≤ distractors")
    reason = "too many distractors to enumerate; use umbrella_model, or leave some out by shown="
    require(shown * length < 40 and 4 * 2 ** (shown * length) <= MOST_EPISODES, name, reason)
    env = import_optional("bsuite.environments.umbrella_chain", "sources").UmbrellaChain(length, distractors, seed=0)
    generator = env._rng

    def start(env: Any, hidden: Umbrella) -> Any:
        set_attribute(env, "_rng", generator)
        env.reset()
        set_attribute(env, "_need_umbrella", hidden[0])
        set_attribute(env, "_has_umbrella", hidden[1])
        set_attribute(env, "_rng", _Chosen(hidden[2], generator))
        return env._get_observation()

    def expert(hidden: Umbrella, history: History) -> int:
        return hidden[0] if _time(history) == 1 else 0

    rows = product(product((0, 1), repeat=shown), repeat=length)
    values = [(rain, has, noise) for noise in rows for rain in (0, 1) for has in (0, 1)]
    modified = f"symbols show {shown} of {distractors} distractors" if shown < distractors else ""
    return from_dm(
        env,
        values,
        start,
        expert,
        length,
        symbol=lambda raw: readable(raw[0, : 3 + shown]),
        name=name,
        modified=modified,
    )


def umbrella_model(length: int = 20, distractors: int = 1) -> Model:
    """The umbrella chain as a generative model: histories that differ in past distractors alone share a node."""
    name = f"umbrella-chain length={length} distractors={distractors}"
    require(length >= 1 and 0 <= distractors, name, "length is at least 1, distractors at least 0")
    reason = "too many distractors to list; leave some out: umbrella_chain(…, shown=0)"
    require(distractors < 20 and 2 * 4**distractors * length <= MOST_EPISODES, name, reason)

    def observe(t: int, state: Bits) -> dict[str, Rational]:
        seen = (*state, 1 - (t - 1) / length)
        noise = product((0, 1), repeat=distractors)
        return {readable(np.array([*seen, *row], np.float32)): f"1/{2**distractors}" for row in noise}

    def move(t: int, state: Bits, action: str) -> Bits:
        return (state[0], int(action)) if t == 1 else state

    start: dict[Bits, Rational] = dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], "1/4")  # forecast, umbrella
    return Model.from_generative(length, start, observe, lambda t, s: str(s[0]) if t == 1 else "0", move, name)


def discounting_chain(mapping_seed: int | None = 0) -> Adapter[int]:
    """bsuite's discounting_chain: the first action chooses one of five chains, one of which pays a bonus.

    Hidden: which one, fixed by the mapping seed, or uniform if it is None; it is never shown, so that the expert, who
    chooses it, then knows what no history shows. Afterwards actions have no effect, and the expert plays 0.
    """
    env = import_optional("bsuite.environments.discounting_chain", "sources").DiscountingChain(mapping_seed=0)
    chains = env.action_spec().num_values

    def start(env: Any, bonus: int) -> Any:
        first = env.reset()
        rewards = np.ones(chains)
        rewards[bonus] += 0.1
        set_attribute(env, "_rewards", rewards)
        return first

    def expert(bonus: int, history: History) -> int:
        return bonus if _time(history) == 1 else 0

    values = list(range(chains)) if mapping_seed is None else [mapping_seed % chains]
    return from_dm(env, values, start, expert, env._episode_len, name=f"discounting-chain mapping={mapping_seed}")


def _time(history: History) -> int:
    """The step t of a history o₁ a₁ … o_t."""
    return (len(history) + 1) // 2
