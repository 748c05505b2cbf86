"""Recordings are made once, under a name that tells them apart, and large enough for what is held out."""

from dataclasses import replace
from pathlib import Path

import pytest
from exchanged import PLAIN

from certify.errors import UserError
from diacritic.files.demos import load, save
from diacritic.studies.recordings import demonstrations, episodes, recorded_task, recording, recording_name
from diacritic.studies.tasks import task


def test_as_many_episodes_as_the_cell_needs():
    usual = replace(PLAIN, task=task("two-cues", gap=6), demonstrations=None)
    assert (demonstrations(usual), episodes(usual)) == (448, 512)
    assert episodes(replace(usual, demonstrations=1152)) == 1280
    assert episodes(replace(usual, task=task("two-cues", gap=20))) == 576
    assert episodes(replace(usual, task=task("weighing"))) == 1024
    assert episodes(PLAIN) == 40


def test_names_tell_recordings_apart():
    seen = replace(PLAIN, task=task("two-cues", gap=6, pixels=True, recording=3))
    assert recording_name(PLAIN) == "two-cues-first_gap1-gap1-v2-40-s0"
    assert recording_name(PLAIN, fresh=True) == "two-cues-first_gap1-gap1-v2-40-s1"
    assert recording_name(seen) == "two-cues-gap6-v2-pixels-512-s3"
    assert recorded_task(seen.task).parameters["gap"] == 6


def test_a_recording_is_made_once_and_a_fresh_one_differs(tmp_path: Path):
    first, fresh = recording(PLAIN, tmp_path), recording(PLAIN, tmp_path, fresh=True)
    assert first.digest == load(tmp_path / recording_name(PLAIN)).digest != fresh.digest
    assert (first.episodes, first.seed, fresh.seed) == (40, 0, 1)


def test_another_task_under_the_name_is_refused(tmp_path: Path):
    other = recording(replace(PLAIN, task=task("two-cues", gap=2, first_gap=1, episodes=40)), tmp_path)
    save(other, tmp_path / "elsewhere" / recording_name(PLAIN))
    with pytest.raises(UserError, match="another task or version"):
        recording(PLAIN, tmp_path / "elsewhere")
