"""The authors' timelines: lengths, distances, segments, and what is shown when."""

import numpy as np
import pytest

from diacritic.tasks.franka.tasks import make_task
from diacritic.tasks.franka.timeline import Step, segments


@pytest.mark.parametrize(
    ("name", "parameters", "length"),
    [
        ("two-cues", {"gap": 6}, 33),
        ("two-cues", {"gap": 20}, 47),
        ("two-cues", {"classes": 4}, 35),
        ("full-reveal", {"modes": 16}, 35),
        ("hidden-mass", {"modes": 512}, 40),
        ("readout-2", {}, 34),
        ("weighing", {"gap": 6}, 49),
        ("weighing", {"gap": 20}, 63),
        ("weighing", {"gap": 6, "hold": 8}, 53),
    ],
)
def test_lengths(name: str, parameters: dict[str, int], length: int) -> None:
    assert make_task(name, **parameters).horizon == length


@pytest.mark.parametrize(("gap", "to_slot"), [(6, 19), (10, 23), (20, 33)])
def test_distances_from_the_last_display_to_the_decisions(gap: int, to_slot: int) -> None:
    task = make_task("two-cues", gap=gap)
    assert task.reveals == (4, 5)
    assert {name: t - 5 for name, t in task.decisions.items()} == {"side": 3, "slot": to_slot}
    assert make_task("two-cues", first_gap=gap).decisions["side"] - 5 == gap + 1


def test_windows_are_the_gaps() -> None:
    assert make_task("two-cues", gap=20).windows == {"gap1": range(6, 8), "gap2": range(18, 38)}
    assert make_task("weighing", hold=8).windows == {"gap1": range(24, 30), "gap2": range(40, 44)}


def test_segments_run_across_phases_and_end_with_target_or_gripper() -> None:
    steps = [Step("a", "x"), Step("b", "x"), Step("b", "x", True), Step("b", "y", True), Step("c", "y", True)]
    assert segments(steps) == [(1, 2), (2, 2), (1, 1), (1, 2), (2, 2)]
    task = make_task("two-cues")
    parts = segments(task.steps)
    assert parts[:8] == [(1, 1), *((k, 7) for k in range(1, 8))]  # to_scan, scan and gap1 are one segment
    assert parts[18:24] == [(k, 6) for k in range(1, 7)]
    assert parts[30:] == [(1, 3), (2, 3), (3, 3)]  # the last steps of place, and done


@pytest.mark.parametrize(("name", "probe", "bits"), [("full-reveal", "theta", 5), ("hidden-mass", "mass", 5)])
def test_bits_are_shown_one_after_the_other_lowest_first(name: str, probe: str, bits: int) -> None:
    task = make_task(name)
    latents = {hidden: np.array([levels - 1]) for hidden, levels in task.latents.items()} | {probe: np.array([0b01101])}
    assert [int(task.displayed(t, latents)[0]) for t in task.phase_steps("scan")] == [1, 0, 1, 1, 0]
    assert len(task.phase_steps("scan")) == bits


def test_two_cues_shows_side_then_slot_and_hidden_mass_its_slot_in_the_last_steps_of_the_gap() -> None:
    cues, theta = make_task("two-cues"), {"theta": np.arange(4)}
    assert [cues.displayed(t, theta).tolist() for t in (3, 4, 5, 6)] == [[-1] * 4, [0, 1, 0, 1], [0, 0, 1, 1], [-1] * 4]
    mass = make_task("hidden-mass")
    hidden = {"mass": np.array([0]), "slot": np.array([2])}
    shown = [int(mass.displayed(t, hidden)[0]) for t in mass.windows["gap2"]]
    assert shown == [-1, -1, -1, -1, 0, 1]


def test_actions_are_named_by_what_they_depend_on() -> None:
    task = make_task("two-cues")
    names = [task.symbolic_action(t, {"side": 1, "slot": 0, "hover": 1}) for t in range(task.horizon)]
    assert names[0] == "hover=1"
    assert [t for t, name in enumerate(names) if name == "grasp side=1"] == [8, 9, 10, 11]
    assert [t for t, name in enumerate(names) if name == "place slot=0"] == [24, 25, 26, 27, 28]
    assert set(names) == {"hover=1", "move", "grasp side=1", "place slot=0"}
