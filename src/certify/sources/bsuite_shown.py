"""bsuite's catch, deep sea and bandit, whose observations show all that an episode hides, or which hide nothing."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from certify.optional import import_optional
from certify.sources._live import set_attribute
from certify.sources.adapter import Adapter, History, Legend
from certify.sources.dm import StateExpert, from_dm
from certify.zoo.registry import require

Slips = tuple[bool, ...]


def catch(rows: int = 10, columns: int = 5) -> Adapter[int]:
    """bsuite's catch: a ball falls in its column, and a paddle below goes there.

    Hidden: the column, which the board shows. catch_noise and catch_scale differ in the reward alone.
    """
    require(rows >= 2 and columns >= 1, "catch", "expected at least 2 rows and 1 column")
    env = import_optional("bsuite.environments.catch", "sources").Catch(rows, columns, seed=0)

    def start(env: Any, column: int) -> Any:
        env.reset()
        set_attribute(env, "_ball_x", column)
        return env._observation()

    def act(env: Any) -> int:
        return 1 + int(env._ball_x > env._paddle_x) - int(env._ball_x < env._paddle_x)

    name = f"catch {rows}x{columns}"
    return from_dm(env, range(columns), start, StateExpert(act), rows - 1, symbol=Legend(), name=name)


class _Slips:
    """Stands in for the generator of DeepSea: steps to the right fail as chosen."""

    def __init__(self, slips: Slips, generator: Any) -> None:
        self.generator = generator
        self.left: Iterator[bool] = iter(slips)

    def rand(self) -> float:
        return 0.0 if next(self.left, False) else 1.0

    def randn(self) -> float:
        return self.generator.randn()  # the noise of the reward, which is not observed


def deep_sea(size: int = 10, windy: bool = False, mapping_seed: int = 42) -> Adapter[Slips]:
    """bsuite's deep_sea, and deep_sea_stochastic if it is windy: the diver always goes to the right.

    Which action that is differs from place to place, and is fixed by the mapping seed. Hidden: at which steps the wind
    holds the diver back, each time with probability 1/size; the grid shows where he is.
    """
    name = f"deep-sea size={size}{' windy' * windy}"
    require(size >= 1 and not (windy and size > 12), name, "size is at least 1, and at most 12 where it is windy")
    module = import_optional("bsuite.environments.deep_sea", "sources")
    env = module.DeepSea(size, deterministic=not windy, seed=0, mapping_seed=mapping_seed)
    generator = env._rng

    def start(env: Any, slips: Slips) -> Any:
        set_attribute(env, "_rng", _Slips(slips, generator))
        return env.reset()

    def act(env: Any) -> int:
        return int(env._action_mapping[env._row, env._column])

    slip = Fraction(1, size)
    hidden: dict[Slips, Fraction] = {}
    for slips in product((False, True), repeat=size - 1 if windy else 0):
        hidden[slips] = slip ** sum(slips) * (1 - slip) ** (len(slips) - sum(slips))
    return from_dm(env, hidden, start, StateExpert(act), size, symbol=Legend(), name=name)


def bandit(mapping_seed: int = 0) -> Adapter[None]:
    """bsuite's bandit: one pull of one of eleven arms, whose rewards the mapping seed fixes.

    bandit_noise and bandit_scale differ in the reward alone.
    """
    env = import_optional("bsuite.environments.bandit", "sources").SimpleBandit(mapping_seed)

    def expert(_: None, history: History) -> int:
        return int(env._rewards.argmax())

    return from_dm(env, [None], lambda env, _: env.reset(), expert, 1, name=f"bandit mapping={mapping_seed}")
