"""What is imitated. Importing this package registers its tasks with Gymnasium, where Gymnasium is installed."""

from importlib.util import find_spec

from diacritic.tasks.check import check_task
from diacritic.tasks.protocol import Batch, Task
from diacritic.tasks.registry import find, register_task

__all__ = ["GYM_IDS", "Batch", "Task", "check_task", "find", "register", "register_task"]

# Gymnasium id → task; the modules behind it are imported when an environment is made
GYM_IDS = {
    "diacritic/TwoCues-v0": "two-cues",
    "diacritic/FullReveal-v0": "full-reveal",
    "diacritic/HiddenMass-v0": "hidden-mass",
    "diacritic/Readout2-v0": "readout-2",
    "diacritic/Readout3-v0": "readout-3",
    "diacritic/Weighing-v0": "weighing",
}


def register() -> None:
    """Register the symbolic environment and every Franka task that Gymnasium does not know yet."""
    import gymnasium

    if "diacritic/Symbolic-v0" not in gymnasium.registry:
        gymnasium.register(
            "diacritic/Symbolic-v0",
            entry_point="diacritic.tasks.symbolic:SymbolicEnv",
            vector_entry_point="diacritic.tasks.symbolic:SymbolicVectorEnv",
        )
    for name, task in GYM_IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="diacritic.tasks.franka.env:FrankaEnv",
                vector_entry_point="diacritic.tasks.franka.env:FrankaVectorEnv",
                kwargs={"task": task},
                disable_env_checker=True,
                order_enforce=False,
            )


if find_spec("gymnasium") is not None:
    register()
