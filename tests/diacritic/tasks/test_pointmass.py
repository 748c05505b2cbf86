"""The second task with its own physics, through all of the generic code: it is not an arm, and needs no simulator."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from certify import certify
from certify.errors import UserError
from diacritic.demos.reconstruct import complete
from diacritic.demos.record import record
from diacritic.report.design import Design
from diacritic.report.film_panel import Format
from diacritic.report.video import film
from diacritic.tasks.pointmass import PointMass
from diacritic.tasks.protocol import Simulation

SHORT = PointMass(first_wait=1, wait=2)


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (PointMass(), [0, 0, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 0, 0]),
        (PointMass(cues=1, first_wait=3), [0, 0, 1, 1, 1, 1, 0, 0]),
    ],
)
def test_the_recording_requires_what_the_task_was_designed_for(task: PointMass, expected: list[float]) -> None:
    demos, _ = record(task, 32, seed=0)
    assert demos.observations.shape == (task.horizon, 32, 9)
    assert [step.rate for step in certify(complete(demos).model).steps] == expected
    assert Design.of(task).required == pytest.approx(expected)
    acting = [name for name in Design.of(task).decides if name]
    assert set(acting) == set(task.levels)


def test_every_policy_meets_the_episodes_of_the_seed() -> None:
    one, two = SHORT.batch(3, seed=7), SHORT.batch(3, seed=7, policies=2)
    for _ in range(2):  # the episodes after a reset are the next ones
        alone, both = one.reset(), two.reset()
        np.testing.assert_array_equal(both, np.concatenate([alone, alone]))
    np.testing.assert_array_equal(two.reset({"goal": 1})[:3, 3], np.ones(3))


def test_a_policy_that_swaps_the_gate_fails_there_alone() -> None:
    batch = SHORT.batch(4, seed=1)
    batch.reset({"gate": [0, 1, 0, 1], "goal": [0, 0, 1, 1]})
    while batch.t < SHORT.horizon:
        action = batch.expert()
        batch.step(action * [1, -1] if SHORT.phases[batch.t] == "gate" else action)
    outcome = batch.outcome()
    assert not outcome["gate"].any()
    assert outcome["goal"].all()
    assert not outcome["success"].any()
    with pytest.raises(UserError, match="step: the episodes are over; call reset"):
        batch.step(np.zeros((4, 2)))


def test_impossible_parameters_and_frames_are_refused() -> None:
    for field, value in (("cues", 3), ("wait", 0), ("noise", 1.0)):
        with pytest.raises(UserError, match=rf"point-mass\.{field}: "):
            replace(SHORT, **{field: value})
    with pytest.raises(UserError, match="point-mass: has no camera"):
        record(SHORT, 2, simulation=Simulation(frames=True))
    with pytest.raises(UserError, match="episodes: 0 of them"):
        SHORT.batch(0)


def test_a_film_shows_the_mass_move() -> None:
    frames = film(SHORT, latents={"gate": 1, "goal": 0}, form=Format(180, 320, 4)).frames
    assert len(frames) > SHORT.horizon
    assert (frames[0] != frames[-1]).any()


CHAIN = """
import sys
sys.modules["mujoco"] = None
from diacritic.cli import main
small = ["--seeds", "2", "--steps", "3", "--demonstrations", "32", "--codes", "8", "--device", "cpu"]
for line in (
    ["record", "point-mass", "first_wait=1", "wait=1", "--episodes", "48", "--no-checks", "--out", "demos"],
    ["train", "demos", *small, "--out", "runs"],
    ["rollout", "runs", "--episodes", "4"],
    ["measure", "runs", "--task", "demos", "--episodes", "16", "--interventions", "8"],
    ["report", "runs", "demos.json", "--out", "report.html"],
):
    assert main(line) in (0, 1), line
"""


def test_from_recording_to_report_without_a_simulator(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CHAIN], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = sorted((tmp_path / "runs").glob("*/run.json"))
    assert len(runs) == 2
    for path in runs:
        assert json.loads(path.read_text())["task"] == "point-mass"
        played = json.loads((path.parent / "rollout.json").read_text())
        assert played["by_episode"].keys() == {"success", "gate", "goal"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "point-mass" in page
    assert '"title":"gate=0, goal=1"' in page  # the strips name the classes of the task
