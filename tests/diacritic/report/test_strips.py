"""Code strips: rows are hidden cases, their stretches cover every step once, the colour is what the code stands for."""

from pathlib import Path
from typing import Any

import numpy as np
from report_inputs import add_rollout, gap_codes, make_run
from stand_in_task import StandIn

from certify import Model
from certify.zoo import build
from diacritic.demos.record import record
from diacritic.files.demos import Demos
from diacritic.files.run import CodedEpisodes
from diacritic.report.design import configurations
from diacritic.report.inputs import collect
from diacritic.report.meanings import MIXED, NOTHING, Meanings
from diacritic.report.strips import coded_episodes, strip
from diacritic.tasks.registry import make as make_task


def the_run(path: Path):
    (run,) = collect([str(path)]).runs
    return run


def drawn(path: Path, model: Model | None = None, recordings: tuple[Demos, ...] = ()) -> tuple[Any, Meanings]:
    meanings = Meanings()
    return strip(the_run(path), model, recordings, meanings), meanings


def test_rows_of_a_symbolic_run_are_its_hidden_cases(tmp_path: Path):
    strip, meanings = drawn(make_run(tmp_path, 0), build("gap"))
    titles = [row["title"] for row in strip["rows"]]
    assert sorted(titles) == ["take 0, put 0", "take 0, put 1", "take 1, put 0", "take 1, put 1"]
    row = strip["rows"][titles.index("take 0, put 0")]
    assert row["told"] == "start z=0 · cue1=0 · cue2=0"
    assert row["parts"][0][:2] == [0, 1]
    assert sum(length for _, length, *_ in row["parts"]) == len(gap_codes())
    seen = [meanings.names[number] for _, _, _, number, _ in row["parts"] if number >= 0]
    assert seen == ["take 0, put 0", "put 0"]


def test_codes_that_keep_too_much_are_surplus_once_less_is_required(tmp_path: Path):
    strip, _ = drawn(make_run(tmp_path, 0), build("gap"))
    seconds = [part for row in strip["rows"] for part in row["parts"] if part[4]]
    assert {at for at, *_ in seconds} == {7}  # after the first decision two codes stand for each remaining class
    assert len(seconds) == 2


def test_a_run_that_keeps_nothing_mixes_the_classes(tmp_path: Path):
    strip, _ = drawn(make_run(tmp_path, 0, sufficient=False), build("gap"))
    assert {part[3] for row in strip["rows"] for part in row["parts"]} == {NOTHING, MIXED}


def test_rows_are_numbered_where_the_episodes_are_not_known(tmp_path: Path):
    path = make_run(tmp_path, 0)
    for model in (None, build("gap", gap2=6)):
        strip, _ = drawn(path, model)
        assert strip["rows"][0]["title"] == "episode 1"
        assert {part[3] for row in strip["rows"] for part in row["parts"]} == {NOTHING}


def test_rows_of_a_played_run_of_an_unknown_task_are_its_latents(tmp_path: Path):
    path = make_run(tmp_path, 0, task_version=1, parameters={"gap": 6})
    add_rollout(path)
    strip, _ = drawn(path)
    assert [row["title"] for row in strip["rows"]][:4] == ["theta 0", "theta 1", "theta 2", "theta 3"]
    assert strip["source"] == "closed loop"


def test_rows_of_a_played_robot_task_are_the_cases_that_its_expert_distinguishes(tmp_path: Path):
    task = make_task("two-cues", gap=1, first_gap=1)
    path = make_run(tmp_path, 0, task="two-cues", task_version=task.version, parameters=dict(task.parameters))
    hidden = configurations(task)
    latents = {f"latent:{name}": values for name, values in hidden.items()}
    chosen = task.choices(hidden)
    codes = np.tile((2 * chosen["side"] + chosen["slot"]).astype(np.uint16), (task.horizon, 1))
    kept: dict[str, Any] = {"codes": codes, **latents}
    np.savez_compressed(path / "rollout.npz", **kept)
    coded = coded_episodes(the_run(path), None, [])
    assert coded.seen is not None
    assert coded.seen.shape == codes.shape
    strip, meanings = drawn(path)
    assert len(strip["rows"]) == 4
    assert all("," in row["title"] for row in strip["rows"])
    assert len(meanings.names) >= 4


def test_rows_are_named_by_the_episodes_that_the_codes_are_of(tmp_path: Path):
    """Codes of held-out episodes were once named by the first episodes of the recording."""
    demos, _ = record(StandIn(), 32, 0)
    indices = np.arange(16, 32)
    codes = np.tile(demos.latents["side"][indices].astype(np.uint16), (demos.steps, 1))
    manifest: dict[str, Any] = {"task_version": 3, "demos_sha256": demos.digest, "codes": codes}
    path = make_run(tmp_path, 0, task="stand-in", episodes=CodedEpisodes("held-out", ((16, 32),)), **manifest)
    coded = coded_episodes(the_run(path), None, [demos])
    assert coded.seen is not None
    np.testing.assert_array_equal(coded.seen, demos.symbols[:, indices])
