"""Tensors come back with their notes; files that are not whole, or were changed, are refused."""

from pathlib import Path

import pytest
import torch

from certify.errors import UserError
from diacritic.files.tensors import read_tensors, tensor_bytes, write_tensors


def test_tensors_and_notes_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.safetensors"
    tensors = {"a": torch.randn(2, 3).T, "b": torch.tensor([True, False]), "c": torch.tensor(3.0)}
    write_tensors(path, tensors, {"step": "7"})
    loaded, notes = read_tensors(path)
    assert notes == {"step": "7"}
    assert set(loaded) == {"a", "b", "c"}
    assert all(torch.equal(loaded[name], value) for name, value in tensors.items())
    assert [other.name for other in path.parent.iterdir()] == ["x.safetensors"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.zeros(3)}, {})

    def die(file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", die)
    with pytest.raises(KeyboardInterrupt):
        write_tensors(path, {"a": torch.ones(3)}, {})
    assert torch.equal(read_tensors(path)[0]["a"], torch.zeros(3))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nothing\.safetensors: no such file; delete it"):
        read_tensors(tmp_path / "nothing.safetensors")


def test_a_file_without_a_digest_is_read_unless_it_must_be_signed(tmp_path: Path) -> None:
    (tmp_path / "old.safetensors").write_bytes(tensor_bytes({"a": torch.ones(2)}, {"b": "c"}))
    assert read_tensors(tmp_path / "old.safetensors")[1] == {"b": "c"}
    with pytest.raises(UserError, match="has no digest"):
        read_tensors(tmp_path / "old.safetensors", signed=True)
