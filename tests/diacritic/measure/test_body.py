"""The body probe finds a class in the pose or in the actions, with its size, and clears a body that carries none."""

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos.leaks import failures
from diacritic.measure.body import LEAST, LEVEL, body_memory, pending, previous_actions
from diacritic.tasks.registry import make as make_task

STEPS, EPISODES, NOISE = 6, 128, 0.002


def poses(growth: float, classes: np.ndarray, seed: int = 0) -> np.ndarray:
    """Positions whose class means drift apart along y, to `growth` metres at the last step."""
    positions = np.random.default_rng(seed).normal(0.4, NOISE, (STEPS, len(classes), 3))
    drift = growth * np.linspace(0, 1, STEPS)
    positions[..., 1] += drift[:, None] * (classes - classes.mean())
    return positions


def test_a_class_that_grows_into_the_pose_is_found() -> None:
    classes = np.arange(EPISODES) % 2
    body = body_memory(poses(0.02, classes), classes, range(STEPS), "slot", "gap2")
    assert body.detected
    assert body.worst.t == STEPS - 1
    assert body.worst.centimetres == pytest.approx(2, abs=0.15)
    assert body.worst.adjusted < 1e-14
    assert body.steps[0].adjusted > LEVEL
    assert body.line().startswith("slot in gap2: class means 0.")
    assert body.to_dict()["found"] is True


def test_noise_alone_and_small_shifts_are_cleared() -> None:
    classes = np.arange(EPISODES) % 2
    alarms = [body_memory(poses(0.0, classes, seed), classes, range(STEPS)).worst.adjusted < LEVEL for seed in range(8)]
    assert sum(alarms) <= 1
    small = body_memory(poses(0.003, classes), classes, range(STEPS))
    assert small.worst.adjusted < LEVEL
    assert small.worst.centimetres < LEAST
    assert not small.detected


def test_of_four_classes_the_two_furthest_apart_count() -> None:
    classes = np.arange(EPISODES) % 4
    body = body_memory(poses(0.01, classes), classes, [STEPS - 1])
    assert body.worst.centimetres == pytest.approx(3, abs=0.2)


def test_what_the_symbol_shows_is_no_secret() -> None:
    classes = np.arange(EPISODES) % 2
    hover = (np.arange(EPISODES) % 3 == 0) | (classes == 1)  # seen, and correlated with the class
    positions = poses(0.0, classes)
    positions[..., 2] += 0.06 * hover
    assert body_memory(positions, classes, range(STEPS)).detected
    symbols = np.broadcast_to(hover.astype(int), positions.shape[:2])
    assert not body_memory(positions, classes, range(STEPS), symbols=symbols).detected
    leaning = positions + poses(0.02, classes, 1)
    assert body_memory(leaning, classes, range(STEPS), symbols=symbols).detected


def test_a_pose_without_any_spread_is_judged_all_the_same() -> None:
    classes = np.arange(8) % 2
    still = np.zeros((2, 8, 3))
    assert not body_memory(still, classes, [0, 1]).detected
    still[1, :, 0] = 0.01 * classes
    body = body_memory(still, classes, [0, 1])
    assert body.detected
    assert body.worst.t == 1


@pytest.mark.parametrize(
    ("classes", "steps", "line"),
    [
        (np.zeros(8, int), [0], "class: {0: 8} episodes of each class"),
        (np.arange(7) % 2, [0], r"positions: expected \[T, 7, axes\]"),
        (np.arange(8) % 2, [], "window: the window is empty"),
    ],
)
def test_what_cannot_be_probed_is_refused(classes: np.ndarray, steps: list[int], line: str) -> None:
    with pytest.raises(UserError, match=line):
        body_memory(np.zeros((1, 8, 3)), classes, steps)


def test_pending_classes_are_those_still_to_be_decided_on() -> None:
    assert pending(make_task("two-cues")) == {"gap1": ["side", "slot"], "gap2": ["slot"]}


def test_actions_that_tell_a_pending_class_are_found() -> None:
    random = np.random.default_rng(3)
    classes = {"slot": np.arange(96) % 2, "side": np.arange(96) // 2 % 2}
    actions = random.normal(0, 1, (STEPS, 96, 4))
    actions[2, :, 0] += 6 * classes["slot"]  # read as A_{t−1} at step 3
    windows = {"gap": range(3, 5)}
    cells = previous_actions(actions, classes, windows, {"gap": ["slot", "side"]})
    assert {(cell.variable, cell.probe) for cell in failures(cells)} == {("slot", "linear"), ("slot", "kernel")}
    assert {cell.tested for cell in cells} == {24}
    later = previous_actions(actions, classes, {"gap": range(4, 6)}, {"gap": ["slot"]})
    assert not failures(later)
    with pytest.raises(UserError, match="gap: no action precedes the window"):
        previous_actions(actions, classes, {"gap": range(1)}, {"gap": ["slot"]})
