"""Film strips: stretches cover every step once, rows are named by what tells the episodes apart."""

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from report_inputs import add_rollout, gap_codes, make_run
from stand_in_task import StandIn

from certify.zoo import build
from diacritic.demos.record import record
from diacritic.files.run import CodedEpisodes
from diacritic.report import strips
from diacritic.report.inputs import collect
from diacritic.report.strips import strip, usage
from diacritic.tasks.registry import make as make_task


def the_run(path: Path):
    (run,) = collect([str(path)]).runs
    return run


@given(st.lists(st.integers(0, 3), min_size=1))
def test_stretches_are_the_values_again(values: list[int]):
    parts = strips._stretches(values)
    assert [part["value"] for part in parts for _ in range(part["length"])] == values
    assert [part["at"] for part in parts] == np.cumsum([0, *(part["length"] for part in parts)])[:-1].tolist()


def test_rows_of_a_symbolic_run_are_named_by_their_cues(tmp_path: Path):
    found = strip(the_run(make_run(tmp_path, 0)), build("gap"), [])
    assert [row["title"] for row in found["rows"]][:2] == ["start z=0 · cue1=0 · cue2=0", "start z=0 · cue1=0 · cue2=1"]
    codes = [[part["value"] for part in row["parts"] for _ in range(part["length"])] for row in found["rows"]]
    np.testing.assert_array_equal(np.array(codes).T, gap_codes())
    assert [(part["at"], part["length"], part["share"]) for part in found["need"]] == [
        (0, 2, 0.0),
        (2, 1, 0.5),
        (3, 4, 1.0),
        (7, 4, 0.5),
    ]


def test_rows_are_numbered_where_the_episodes_are_not_known(tmp_path: Path):
    run = the_run(make_run(tmp_path, 0))
    for model in (None, build("gap", gap2=6)):
        assert strip(run, model, [])["rows"][0]["title"] == "episode 1"


def test_rows_of_a_played_run_are_its_latents(tmp_path: Path):
    path = make_run(tmp_path, 0, task_version=1, parameters={"gap": 6})
    add_rollout(path)
    found = strip(the_run(path), None, [])
    assert [row["title"] for row in found["rows"]] == ["theta 0", "theta 1", "theta 2", "theta 3"]
    assert [row["parts"][0]["value"] for row in found["rows"]] == [0, 1, 2, 3]
    assert found["source"] == "closed loop"


def test_rows_of_a_played_robot_task_are_the_classes_on_which_its_expert_acts(tmp_path: Path):
    path = make_run(tmp_path, 0, task="two-cues", task_version=1, parameters={"gap": 6})
    latents = {f"latent:{name}": np.arange(8, dtype=np.int32) % 4 for name in make_task("two-cues").latents}
    codes = np.tile(np.arange(8, dtype=np.uint16), (11, 1))
    kept: dict[str, Any] = {"codes": codes, **latents}
    np.savez_compressed(path / "rollout.npz", **kept)
    found = strip(the_run(path), None, [])
    rows = [(row["title"], row["parts"][0]["value"]) for row in found["rows"]]
    assert rows == [("side 0, slot 0", 0), ("side 0, slot 1", 2), ("side 1, slot 0", 1), ("side 1, slot 1", 3)]


def test_classes_that_decide_come_before_other_latents():
    latents = {"theta": np.arange(8), "slot": np.arange(8) % 2, "side": np.array([0] * 4 + [1] * 4)}
    chosen, titles = strips._by_latent(latents, ["side", "slot"], 8)
    assert titles == ["side 0, slot 0", "side 0, slot 1", "side 1, slot 0", "side 1, slot 1"]
    assert chosen == [0, 1, 4, 5]


def test_usage_counts_all_steps_and_episodes():
    assert usage(np.array([[0, 0], [2, 2], [2, 0]])) == [0.5, 0.0, 0.5]


def test_rows_are_named_by_the_episodes_that_the_codes_are_of(tmp_path: Path):
    """Codes of held-out episodes were once named by the first episodes of the recording."""
    demos, _ = record(StandIn(), 32, 0)
    indices = np.arange(16, 32)
    codes = np.tile(demos.latents["side"][indices].astype(np.uint16), (demos.steps, 1))
    known: dict[str, Any] = {"task_version": 3, "demos_sha256": demos.digest, "codes": codes}
    path = make_run(tmp_path, 0, task="stand-in", episodes=CodedEpisodes("held-out", ((16, 32),)), **known)
    rows = strip(the_run(path), None, [demos])["rows"]
    assert {row["title"].split(",")[0] for row in rows} == {"side 0", "side 1"}
    for row in rows:
        assert row["title"].startswith(f"side {row['parts'][0]['value']}")
