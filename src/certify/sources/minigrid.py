"""MiniGrid and BabyAI: some layouts of an environment with a planner or with BabyAIBot as the expert.

The hidden value is the layout, one of the first so many seeds, all equally likely; what is seen is the agent's view and
the mission. Answers are about these layouts and the first steps of an episode, and rows say how many.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from certify.errors import UserError
from certify.optional import import_optional
from certify.sources.adapter import Adapter, Legend
from certify.sources.gym import from_seeds
from certify.sources.minigrid_planner import FORWARD, LEFT, plan

NOT_FOR_THE_BOT = ("KeyInBox", "UnlockToUnlock", "Carrying")  # it fails or does not end there; the planner acts


def ids() -> list[str]:
    """Every registered id of the package."""
    import_optional("minigrid", "sources")
    registry = import_optional("gymnasium", "sources").registry
    return [name for name in registry if name.startswith(("MiniGrid-", "BabyAI-"))]


def by_bot(name: str) -> bool:
    """Whether BabyAIBot is the expert of an id; the planner is, elsewhere."""
    return name.startswith("BabyAI-") and not any(part in name for part in NOT_FOR_THE_BOT)


def grown(name: str, checkout: Path) -> Any:
    """An environment whose layouts grow from a pattern: the package lacks the pictures, a checkout of it has them."""
    config = import_optional("minigrid.envs.wfc.config", "sources").WFC_PRESETS[name.split("-")[2]]
    path = checkout / "minigrid" / "envs" / "wfc" / "patterns" / config.pattern_path.name
    config = replace(config, pattern_path=path)
    return import_optional("gymnasium", "sources").make(name, disable_env_checker=True, wfc_config=config)


def from_minigrid(name: str, layouts: int = 16, horizon: int = 24, full: bool = False, env: Any = None) -> Adapter[int]:
    """The first `horizon` steps of an environment in its first layouts; `full` shows the whole grid.

    `env` is the environment, where it is not the registered one of that name.
    """
    import_optional("minigrid", "sources")
    env = env or import_optional("gymnasium", "sources").make(name, disable_env_checker=True)
    if full:
        env = import_optional("minigrid.wrappers", "sources").FullyObsWrapper(env)
    with_bot = by_bot(name)
    live = env.unwrapped
    bots: list[Any] = []
    looked = [False]

    def start(_: Any, seed: int) -> Any:
        try:
            result = env.reset(seed=seed)
        except FileNotFoundError as missing:
            lacking = str(missing.filename).rpartition("/")[2]
            has = "a checkout of github.com/Farama-Foundation/Minigrid has it (`diacritic atlas --minigrid CHECKOUT`)"
            raise UserError(name, f"there is no {lacking}, which its layouts grow from; {has}") from None
        looked[0] = not hasattr(live, "success_pos")  # where an object must be matched, the expert first looks at it
        if with_bot:
            bots[:] = [import_optional("minigrid.utils.baby_ai_bot", "sources").BabyAIBot(live)]
        return result

    def act(_: Any) -> int:
        if with_bot:
            return int(bots[0].replan(None))
        if not looked[0] and (int(live.agent_dir) != 2 or live.agent_pos[0] > 4):
            return LEFT if int(live.agent_dir) != 2 else FORWARD
        looked[0] = True
        return plan(live)

    modified = f"{layouts} layouts, at most {horizon} steps" + ", whole grid in view" * full
    label = name + " (full view)" * full
    return from_seeds(env, layouts, act, horizon, start, symbol=Legend(), name=label, modified=modified)
