"""Damaged npz files of models."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certify_fuzz import check_reader, damaged_bytes

from certify.core.model import Model
from certify.errors import UserError

ARRAYS: dict[str, Any] = {
    "observations": [[0, 2], [1, 2]],
    "actions": [[0, 0], [0, 1]],
    "weights": [1, 3],
    "laws": [[0, 0], [0, 1]],
    "law_table": [[1, 0], [0, 1]],
    "observation_names": ["x", "y", "fork"],
    "action_names": ["left", "right"],
    "empirical": True,
    "name": "small",
}


def packed(compress: bool) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **ARRAYS)
    return file.getvalue()


@pytest.mark.parametrize("compress", [False, True])
def test_damaged_bytes(compress: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"

    def read(raw: bytes) -> None:
        path.write_bytes(raw)
        Model.load(path).to_json()

    check_reader(read, damaged_bytes(packed(compress), seed=5))


def test_damaged_arrays(tmp_path: Path) -> None:
    """The archive is whole, and the arrays in it are not."""
    path = tmp_path / "model.npz"

    def read(damaged: tuple[str, bytes]) -> None:
        key, raw = damaged
        with zipfile.ZipFile(io.BytesIO(packed(False))) as good, zipfile.ZipFile(path, "w") as bad:
            for name in good.namelist():
                bad.writestr(name, raw if name == key else good.read(name))
        Model.load(path).to_json()

    with zipfile.ZipFile(io.BytesIO(packed(False))) as good:
        members = {name: good.read(name) for name in good.namelist()}
    mutants = (
        (name, raw) for k, (name, whole) in enumerate(members.items()) for raw in list(damaged_bytes(whole, k))[:100]
    )
    check_reader(read, mutants)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"empirical": []}, "empirical: expected one flag, not shape (0,)"),
        ({"empirical": [True, False]}, "empirical: expected one flag"),
        ({"empirical": "yes"}, "empirical: expected one flag"),
        ({"name": []}, "name: expected one text"),
        ({"name": 3}, "name: expected one text"),
        ({"name": "\ud800"}, "name: "),
        ({"observation_names": [["x", "y", "z"]]}, "observation_names: expected a list of texts"),
        ({"observation_names": [b"x", b"y", b"z"]}, "observation_names: expected a list of texts"),
        ({"action_names": ["a", "\ud800"]}, "action_names: "),
        ({"observations": np.zeros((0, 0), int), "actions": np.zeros((0, 0), int)}, "observations: expected 2 axes"),
    ],
)
def test_arrays_of_the_wrong_kind(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", **ARRAYS | arrays)
    with pytest.raises(UserError) as refusal:
        Model.load(tmp_path / "model.npz")
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("shape", [(10**12, 10**6), (2**62, 2**62), (-1, 3), (1,)])
def test_a_header_that_promises_more_than_the_file_holds_takes_no_memory(
    shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = io.BytesIO()
    header = {"descr": "<i8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        archive.writestr("observations.npy", file.getvalue() + bytes(16))
    monkeypatch.setattr(np.lib.format, "read_array", lambda *_, **__: pytest.fail("memory was taken"))
    with pytest.raises(UserError, match="not as many bytes as its header announces"):
        Model.load(tmp_path / "model.npz")
