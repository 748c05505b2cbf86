"""The study of `need`: worlds with certified answers, stresses, and a ledger that can be continued."""

import re
from pathlib import Path

import numpy as np
import pytest
from need_data import controlled

from certify.errors import UserError
from diacritic.demos.readers import from_arrays
from diacritic.files.demos import Demos
from diacritic.need.alignment import align
from reproduction.need_study import arm
from reproduction.need_study.run import read, run, trials
from reproduction.need_study.stress import STRESSES
from reproduction.need_study.trials import VERSION, Trial, run_trial
from reproduction.need_study.worlds import WORLDS


def test_certified_bits_of_the_worlds():
    rng = np.random.default_rng(0)
    most = {name: max(world.requirement(world.draw(4096, rng))) for name, world in WORLDS.items()}
    expected = {"cues-1-of-2": 1, "cues-3-of-2": 3, "xor": 1, "counter": 1.81, "query": 2, "partial": 1.58}
    assert {name: most[name] for name in expected} == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("stress", STRESSES)
def test_stresses_keep_a_recording_readable(stress: str):
    demos = STRESSES[stress](controlled("lit", 32), np.random.default_rng(0))
    assert align(demos).episodes == 32


def test_a_trial_is_compared_with_its_truth():
    row = run_trial(Trial("staircase", "cues-1-of-2", 48, 0))
    assert (row["bits_right"], row["frames_right"], row["classes_right"]) == (True, True, 1.0)
    assert run_trial(Trial("control", "random", 32, 0, "wrong-labels"))["answer"] != "memory needed"


def test_classes_that_are_told_apart_in_part_by_chance():
    """The sights of merged classes, which are not significant here, were taken for those of all four."""
    assert run_trial(Trial("staircase", "cues-1-of-4", 64, 100))["answer"] == "cannot tell"


def test_the_study_has_enough_draws():
    every = list(trials())
    plain = [trial for trial in every if trial.part == "control" and trial.stress == "none"]
    assert len(plain) >= 500
    assert len({trial.family for trial in plain}) >= 10


def test_a_ledger_is_continued(tmp_path: Path):
    first = run(tmp_path, 1, 0.01, "control random").read_text(encoding="utf-8")
    assert len(read(tmp_path / "need.jsonl")) == 2 + len(STRESSES)
    assert run(tmp_path, 1, 0.01, "control random").read_text(encoding="utf-8") == first


def test_a_cut_off_row_is_made_again(tmp_path: Path):
    whole = run(tmp_path, 1, 0.01, "control random").read_text(encoding="utf-8")
    rows = whole.splitlines()
    old = rows[1].replace(f'"version": {VERSION}', '"version": 1')
    (tmp_path / "need.jsonl").write_text("\n".join([*rows[2:], old, rows[0][:40]]), encoding="utf-8")
    seconds = re.compile(r'"seconds": [\d.]+')
    again = run(tmp_path, 1, 0.01, "control random").read_text(encoding="utf-8")
    assert seconds.sub("", again) == seconds.sub("", whole)


def test_a_limit_keeps_what_was_finished(tmp_path: Path):
    path = run(tmp_path, 1, 0.1, "control random", limit=0)
    assert 0 < len(read(path)) < sum(t.family == "random" for t in trials(0.1))


def test_classes_that_a_frame_tells_apart():
    labels = np.arange(400) % 4
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((400, 6)) @ np.diag([1, 10, 1, 1, 1, 0])
    near = noise + np.array([8.0, 3, 1, 0])[labels][:, None] * np.eye(6)[0]
    assert arm.told_apart(near, labels).tolist() == [0, 1, 1, 1]
    far = noise + np.array([18.0, 12, 6, 0])[labels][:, None] * np.eye(6)[0]
    assert arm.told_apart(far, labels).tolist() == [0, 1, 2, 3]
    assert arm.told_apart(noise, labels).tolist() == [0, 0, 0, 0]


def test_the_arm_is_compared_with_its_own_certificate(tmp_path: Path):
    """A recording of the arm's shape goes through the folder unchanged but for rounding."""
    family = "two-cues gap=6"
    demos = tiny_arm(arm.RECORDED)
    arm.keep(demos, arm.path_of(tmp_path, family, 2))
    again = arm.kept(tmp_path, family, 2, arm.RECORDED)
    np.testing.assert_allclose(again.observations, demos.observations, atol=arm.UNIT)
    quarters = [arm.kept(tmp_path, family, seed, 64).observations for seed in range(8, 12)]
    assert np.concatenate(quarters, 1).shape == demos.observations.shape
    mine = [trial for trial in trials(0.01, tmp_path) if trial.part == "arm"]
    assert [(trial.episodes, trial.seed, trial.held_out) for trial in mine] == [
        (256, 2, True),
        *((64, seed, True) for seed in range(8, 12)),
    ]
    row = run_trial(mine[1], tmp_path)
    assert (row["bits_right"], row["frames_right"], row["classes_right"]) == (True, True, 1.0)
    assert row["most_bits"] == pytest.approx(1, abs=0.05)
    with pytest.raises(UserError, match=r"two-cues_gap=10_2\.npz: is missing"):
        arm.kept(tmp_path, "two-cues gap=10", 2, 256)


def tiny_arm(episodes: int) -> Demos:
    """A cue at the second step, used at the sixth."""
    rng = np.random.default_rng(0)
    cue = np.arange(episodes) % 2
    seen = 0.02 * rng.standard_normal((8, episodes, 3))
    acted = 0.002 * rng.standard_normal((8, episodes, 2))
    seen[1, :, 0] += cue
    acted[5, :, 0] += cue
    symbols, choices = np.zeros((2, 8, episodes), np.int64)
    symbols[1], choices[5] = 1 + cue, cue
    return from_arrays(seen, acted, symbols=symbols, choices=choices, latents={"cue": cue})
