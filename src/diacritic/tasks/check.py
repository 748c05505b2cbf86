"""`check_task`: whether a simulated task keeps its promises, found by playing a few of its episodes."""

import numpy as np

from certify.errors import UserError
from diacritic.tasks.protocol import Batch, Demonstration, Latents, Task

EPISODES = 8


def check_task(task: Task, episodes: int = EPISODES, seed: int = 0) -> None:
    """Raise one line that names the first promise of the `Task` protocol that the task breaks."""
    _check_timeline(task)
    _check_names(task)
    latents = task.draw(episodes, seed)
    played = task.demonstrate(latents, seed)
    _check_shapes(task, played, episodes)
    again = task.demonstrate(latents, seed)
    for name in ("observations", "actions"):
        _require(np.array_equal(getattr(played, name), getattr(again, name)), name, "differ when played again")
    _require(bool(played.success.all()), "success", f"the expert fails in {int((~played.success).sum())} episodes")
    _check_pairs(task, task.batch(episodes, seed, policies=2), played, latents)
    limits = task.executable(np.full((1, len(task.action_names)), np.nan, np.float32))
    _require(bool(np.isfinite(limits).all()), "executable", "gives a value that is not finite")


def _check_timeline(task: Task) -> None:
    steps = range(task.horizon)
    _require(task.horizon > 0 and len(task.phases) == task.horizon, "phases", "expected one for each step")
    for name, window in task.windows.items():
        _require(len(window) > 0 and set(window) <= set(steps), f"windows[{name}]", "is empty or leaves the horizon")
    for name, step in task.decisions.items():
        _require(step in steps, f"decisions[{name}]", f"step {step} lies outside the {task.horizon} of the horizon")
    _require(bool(task.reveals) and set(task.reveals) <= set(steps), "reveals", "names no step, or one outside")
    _require(list(task.reveals) == sorted(task.reveals), "reveals", "expected in order")


def _check_names(task: Task) -> None:
    for name in task.decisions:
        _require(task.levels.get(name, 0) > 1, f"decisions[{name}]", "is not a class of more than one value")
    for what, names, there in (
        ("gate.windows", task.gate.windows, task.windows),
        ("gate.decisions", task.gate.decisions, task.decisions),
        ("acting_phases", task.acting_phases, (*task.phases, *task.convention.phases)),
        ("phases", task.phases, task.convention.phases),
    ):
        for name in names:
            _require(name in there, what, f"{name!r} is unknown; there are {', '.join(there)}")
    declared = {**task.convention.strata, **task.convention.nuisances, **task.convention.coins}
    _require(
        declared == dict(task.latents), "convention", "its strata, nuisances and coins are not the latents of the task"
    )
    _require(len(set(task.channels)) == len(task.channels), "channels", "two have the same name")


def _check_shapes(task: Task, played: Demonstration, episodes: int) -> None:
    wanted = {
        "observations": (task.horizon, episodes, len(task.channels)),
        "actions": (task.horizon, episodes, len(task.action_names)),
        "phase": (task.horizon, episodes),
        "success": (episodes,),
    }
    for name, shape in wanted.items():
        given = getattr(played, name).shape
        _require(given == shape, name, f"expected shape {shape}, not {given}")
    for name in (*task.latents, *task.levels):
        _require(name in played.latents, "latents", f"{name!r} is not recorded")
    for what, (table, names) in (
        ("symbolic_actions", task.symbolic_actions(played.latents)),
        ("symbolic_observations", task.symbolic_observations({name: played.latents[name] for name in task.latents})),
    ):
        _require(table.shape == (task.horizon, episodes), what, f"expected shape {(task.horizon, episodes)}")
        _require(0 <= table.min() <= table.max() < len(names), what, "a number lies outside the table of names")


def _check_pairs(task: Task, batch: Batch, played: Demonstration, latents: Latents) -> None:
    """Two policies meet the same episodes, and those are the episodes of the demonstration."""
    episodes = batch.episodes
    try:
        seen = batch.reset(latents)
        for t in range(task.horizon):
            same = np.array_equal(seen[:episodes], seen[episodes:])
            _require(same, "batch", f"two policies see different things at step {t}")
            _require(np.array_equal(seen[:episodes], played.observations[t]), "batch", f"step {t} is not as recorded")
            seen = batch.step(batch.expert().astype(np.float32))
        outcome, decided = batch.outcome(), batch.decided()
    finally:
        batch.close()
    for name in ("success", *task.levels):
        _require(name in outcome, "outcome", f"does not report {name!r}")
        _require(bool(np.all(outcome[name])), "outcome", f"{name!r} is not right when the expert plays")
    for name in task.decisions:
        right = np.array_equal(decided[name], batch.choices[name])
        _require(right, "decided", f"{name!r} is not what the expert chose")


def _require(holds: bool, where: str, reason: str) -> None:
    if not holds:
        raise UserError(where, reason)
