"""Run folders: one shape for both kinds, whole or refused, never replaced by another run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from saved_run import CODES, WEIGHTS, manifest

from certify.errors import UserError
from certify.zoo import build
from diacritic.files.run import (
    MODEL,
    CodedEpisodes,
    find_runs,
    read_codes,
    read_manifest,
    read_model,
    read_weights,
    write_run,
)


def test_a_run_comes_back(tmp_path: Path):
    path = write_run(tmp_path, manifest(), WEIGHTS, CODES, {"binner.json": "{}"})
    again = read_manifest(path)
    assert replace(again, sha256={}) == manifest()
    assert again.sha256.keys() == {"weights.safetensors", "codes.npz", "binner.json"}
    assert again.episodes.indices.tolist() == [3, 4, 7, 8]
    np.testing.assert_array_equal(read_codes(path, again), CODES)
    assert torch.equal(read_weights(path)["codebook"], WEIGHTS["codebook"])
    assert path.name == again.name == manifest().name
    assert find_runs([tmp_path]) == find_runs([path]) == [path]
    assert json.loads((path / "run.json").read_text())["format"] == "diacritic-run/2"


@pytest.mark.parametrize(
    "change", [{"plan": "ac"}, {"run": {"seed": 3, "beta": 0.5}}, {"code_version": "memory 1, training 99"}]
)
def test_the_name_follows_what_decides_the_outcome(change: dict[str, Any]):
    assert manifest(**change).name != manifest().name
    assert manifest(success=0.5).name == manifest().name


def test_a_finished_run_is_not_replaced_by_another(tmp_path: Path):
    path = write_run(tmp_path, manifest(), WEIGHTS, CODES, {})
    with pytest.raises(UserError, match="is a finished run with other weights; move it away"):
        write_run(tmp_path, manifest(), {"codebook": torch.zeros(3, 2)}, CODES, {})
    assert torch.equal(read_weights(path)["codebook"], WEIGHTS["codebook"])
    write_run(tmp_path, manifest(success=1.0), WEIGHTS, CODES, {})  # judged again
    assert read_manifest(path).success == 1.0
    (path / "weights.safetensors").write_bytes(b"damaged")
    write_run(tmp_path, manifest(), WEIGHTS, CODES, {})
    assert read_manifest(path).success is None


def test_a_run_of_the_first_version_is_refused_by_name(tmp_path: Path):
    path = write_run(tmp_path, manifest(), WEIGHTS, CODES, {})
    document = json.loads((path / "run.json").read_text())
    del document["format"], document["kind"], document["episodes"]
    (path / "run.json").write_text(json.dumps(document))
    with pytest.raises(UserError, match=r"names no format.* reads 'diacritic-run/2'; train the run again"):
        read_manifest(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "odd"}, "kind is 'odd', but one of symbolic, recorded is expected"),
        ({"run": {}}, "run: lacks 'seed'"),
        ({"extra": 1}, "has an unknown field 'extra'"),
        ({"sha256": {}}, "has no digest of weights"),
        ({"sha256": {"../x": "0"}}, "cannot name a file"),
        ({"sha256": {"weights.safetensors": "0", "codes.npz": "0"}}, "does not match the run's manifest"),
        ({"episodes": {"which": "all", "ranges": [[4, 2]]}}, r"ranges: expected a list of \[start, stop\]"),
        ({"scores": {"gap": 1.0}}, "scores: gap is 1.0, but an object is expected"),
        ({"rate": [True]}, "rate: \\[0\\] is True, but a finite number is expected"),
        ({"success": float("nan")}, "success is nan"),
        ({"steps": 10**5000}, "truncated or not JSON"),
    ],
)
def test_every_field_is_checked(tmp_path: Path, change: dict[str, Any], reason: str):
    path = write_run(tmp_path, manifest(), WEIGHTS, CODES, {})
    document = json.loads((path / "run.json").read_text())
    text = json.dumps(document | change) if "steps" not in change else '{"format": ' + "1" * 5000 + "}"
    (path / "run.json").write_text(text)
    with pytest.raises(UserError, match=reason):
        read_manifest(path)


def test_codes_of_other_episodes_are_refused(tmp_path: Path):
    path = write_run(tmp_path, manifest(), WEIGHTS, CODES, {})
    with pytest.raises(UserError, match=r"holds uint16 \(2, 4\), not \[T, 5\] integers"):
        read_codes(path, manifest(episodes=CodedEpisodes("all", ((0, 5),))))


def test_a_model_travels_with_its_run(tmp_path: Path):
    model = build("gap")
    original = manifest(task="mine", model_sha256=model.digest)
    path = write_run(tmp_path, original, WEIGHTS, CODES, {MODEL: model.to_json()})
    again = read_model(path, read_manifest(path))
    assert again is not None
    assert (again.name, again.digest) == ("mine", model.digest)
    with pytest.raises(UserError, match="is another model than the run's manifest names"):
        read_model(path, replace(read_manifest(path), model_sha256="0"))
    assert read_model(path, manifest()) is None


def test_a_folder_without_runs_is_named(tmp_path: Path):
    with pytest.raises(UserError, match=r"is not a run and holds none: there is no run\.json"):
        find_runs([tmp_path])
    with pytest.raises(UserError, match=r"is not a run: no run\.json"):
        read_manifest(tmp_path)
