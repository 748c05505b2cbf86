"""What a page is made from: every kind is found, and what cannot be read is left out by name."""

import json
from pathlib import Path

import pytest
from report_inputs import add_rollout, add_verdict, make_ledger, make_run

from certify.errors import UserError
from certify.zoo import build
from diacritic.report.inputs import collect


def reasons(path: Path) -> list[tuple[str, str]]:
    return [(Path(item.where).name, item.reason) for item in collect([str(path)]).left_out]


def test_every_kind_of_input_is_found_in_a_folder(tmp_path: Path):
    for seed in (3, 1):
        run = make_run(tmp_path / "runs", seed)
        add_verdict(run)
        add_rollout(run)
    make_ledger(tmp_path / "results" / "toys.jsonl")
    (tmp_path / "model.json").write_text(build("reveal").to_json(), encoding="utf-8")
    (tmp_path / "short.probe.json").write_text(
        '{"format": "diacritic-probe/1", "demos_sha256": "0", "probes": {}}', encoding="utf-8"
    )
    (tmp_path / "film.gif").write_bytes(b"GIF")
    (tmp_path / "runs" / "cohort-0").mkdir()
    (tmp_path / "runs" / "cohort-0" / "metrics.jsonl").write_text('{"step": 1}\n', encoding="utf-8")
    inputs = collect([str(tmp_path), "gap gap2=6"])
    assert [run.seed for run in inputs.runs] == [1, 3]
    assert all(run.verdict and run.rollout for run in inputs.runs)
    assert {study: len(rows) for study, rows in inputs.ledgers.items()} == {"blocks": 16, "maze": 4}
    assert [model.name for model in inputs.models] == ["model", "gap gap2=6"]
    assert (list(inputs.probes), [path.name for path in inputs.films]) == (["short"], ["film.gif"])
    assert inputs.left_out == []


def test_an_empty_folder_is_named(tmp_path: Path):
    (tmp_path / "nothing").mkdir()
    assert reasons(tmp_path) == [("nothing", "is an empty folder")]


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("run.json", None, "half-written"),
        ("run.json", "{", "truncated or not JSON"),
        ("run.json", "[]", "names no format"),
        ("codes.npz", "other", "does not match"),
        ("weights.safetensors", None, "does not match"),
    ],
)
def test_a_run_that_is_not_whole_is_left_out(tmp_path: Path, file: str, content: str | None, reason: str):
    run = make_run(tmp_path, 0)
    if content is None:
        (run / file).unlink()
    else:
        (run / file).write_text(content, encoding="utf-8")
    make_run(tmp_path, 1)
    inputs = collect([str(tmp_path)])
    assert [run.seed for run in inputs.runs] == [1]
    (left,) = inputs.left_out
    assert reason in left.reason
    assert "train the run again" in left.reason


def test_a_verdict_of_another_version_is_left_out_and_its_run_stays(tmp_path: Path):
    run = make_run(tmp_path, 0)
    add_verdict(run, "diacritic-verdict/0")
    inputs = collect([str(tmp_path)])
    assert [run.verdict for run in inputs.runs] == [None]
    (left,) = inputs.left_out
    assert "'diacritic-verdict/0'" in left.reason
    assert "measure the run again" in left.reason


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("demos.json", '{"format": "diacritic-demos/0"}', "'diacritic-demos/0'"),
        ("broken.json", "{", "truncated or not JSON"),
        ("list.json", "[1]", "unknown"),
        ("other.json", '{"format": "other/3"}', "'other/3'"),
        ("model.json", '{"horizon": 2, "episodes": []}', "episodes"),
        ("broken.jsonl", "{\n", "is not a JSON object"),
        ("half.jsonl", '{"study": "toys"}\n', "1 of 1 rows lack"),
    ],
)
def test_a_file_that_cannot_be_shown_is_named(tmp_path: Path, name: str, content: str, reason: str):
    (tmp_path / name).write_text(content, encoding="utf-8")
    ((where, said),) = reasons(tmp_path)
    assert where.startswith(name)
    assert reason in f"{where} {said}"


def test_parts_of_other_things_are_no_fault(tmp_path: Path):
    for kind in ("certify-certificate/1", "diacritic-binner/1"):
        (tmp_path / f"{kind[:8]}.json").write_text(json.dumps({"format": kind}), encoding="utf-8")
    assert reasons(tmp_path) == []


def test_a_film_that_is_too_large_is_left_out(tmp_path: Path):
    (tmp_path / "long.mp4").write_bytes(bytes(3_000_001))
    assert reasons(tmp_path) == [("long.mp4", "is a film of 3.0 MB; at most 3 MB are shown")]


@pytest.mark.parametrize("word", ["no/such/folder", "none.json", "none.jsonl"])
def test_a_path_that_leads_nowhere_is_an_error(word: str):
    with pytest.raises(UserError, match="no such file"):
        collect([word])


def test_a_word_that_names_no_task_is_an_error():
    with pytest.raises(UserError, match="did you mean gap"):
        collect(["gapp"])


def test_a_recording_brings_its_probe_if_it_is_its_own(recorded: Path):
    digest = json.loads(recorded.with_suffix(".json").read_text())["sha256"]
    probe = {"format": "diacritic-probe/1", "demos_sha256": digest, "probes": {}}
    recorded.with_suffix(".probe.json").write_text(json.dumps(probe))
    assert collect([str(recorded)]).probes == {"short": probe}
    recorded.with_suffix(".probe.json").write_text(json.dumps(probe | {"demos_sha256": "another"}))
    inputs = collect([str(recorded)])
    assert (len(inputs.recordings), inputs.probes) == (1, {})
    assert "is of another recording" in inputs.left_out[0].reason
