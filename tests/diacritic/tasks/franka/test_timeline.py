"""The paper's distances, and what actions depend on against the positions that the expert really commands."""

import numpy as np
import pytest

from diacritic.tasks.franka.expert import home, waypoints
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.tasks import TASKS, make_task


def all_classes(task: FrankaTask) -> dict[str, np.ndarray]:
    """One episode for each combination of the latents that matter to pose; nuisances at zero."""
    first = {name: levels for name, levels in task.latents.items() if name in ("theta", "mass", "slot")}
    grid = np.stack(np.meshgrid(*[np.arange(levels) for levels in first.values()], indexing="ij"), -1).reshape(
        -1, len(first)
    )
    zero = np.zeros(len(grid), int)
    return dict.fromkeys(task.latents, zero) | dict(zip(first, grid.T, strict=True))


@pytest.mark.parametrize(("gap", "length", "to_slot"), [(6, 33, 19), (10, 37, 23), (20, 47, 33)])
def test_distances_from_the_last_display_to_the_decisions(gap: int, length: int, to_slot: int) -> None:
    task = make_task("two-cues", gap=gap)
    last = max(t for t, step in enumerate(task.steps) if step.probe)
    assert (task.horizon, last) == (length, 5)
    assert {name: t - last for name, t in task.decisions.items()} == {"side": 3, "slot": to_slot}


@pytest.mark.parametrize(("first_gap", "to_side"), [(10, 11), (20, 21)])
def test_first_gap_sweep(first_gap: int, to_side: int) -> None:
    assert make_task("two-cues", first_gap=first_gap).decisions["side"] - 5 == to_side


def test_windows_are_the_gaps() -> None:
    assert make_task("two-cues", gap=20).windows == {"gap1": range(6, 8), "gap2": range(18, 38)}
    assert make_task("weighing", gap=6, hold=8).windows == {"gap1": range(22, 28)}


def test_slot_of_hidden_mass_is_displayed_three_steps_before_use() -> None:
    task = make_task("hidden-mass")
    assert task.decisions["slot"] - max(t for t, step in enumerate(task.steps) if step.probe == "slot") == 3


@pytest.mark.parametrize("name", TASKS)
def test_decides_and_shows_follow_from_commanded_positions(name: str) -> None:
    """Literal twin: group episodes by class and compare their displacements, and their positions before each step."""
    task = make_task(name)
    latents = all_classes(task)
    choices = task.choices(latents)
    points = waypoints(task, latents, np.tile([0.45, 0.0], (len(choices["side"]), 1)))
    before = np.concatenate([home(latents, points.shape[1])[None], points[:-1]])
    for t, step in enumerate(task.steps):
        moves, places = (points[t] - before[t]).round(9), before[t]
        for choice in ("side", "slot"):
            other = choices["slot" if choice == "side" else "side"]
            pairs = (choices[choice][:, None] != choices[choice]) & (other[:, None] == other)
            if name.startswith(("readout", "weighing")):  # nested: one class cannot vary while the other stands still
                pairs = choices[choice][:, None] != choices[choice]
            differ = np.abs(moves[:, None] - moves).max(2)[pairs]
            if step.decides == choice:
                assert differ.size == 0 or differ.min() > 0.02
            elif step.decides is None:
                assert np.abs(moves - moves[0]).max() == 0
            apart = np.linalg.norm(places[:, None] - places, axis=2)[pairs]
            if choice in step.shows and apart.size:
                assert apart.min() > 0.05
