"""JSON of a declared format, and names that become paths."""

import json
from pathlib import Path

import pytest

from certify.errors import UserError
from diacritic.files.atomic import make_folder, read_json, read_text, safe_name, sha256, sha256_file, write_json


def test_a_document_comes_back(tmp_path: Path):
    write_json(tmp_path / "a.json", {"format": "x/1", "name": "é"})
    assert read_json(tmp_path / "a.json", "x/1", "again") == {"format": "x/1", "name": "é"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is truncated or not JSON"),
        (b"\xff{}", "is not UTF-8 text"),
        (b"[" * 100_000, "is truncated or not JSON"),
        (b"1" * 10_000, "is truncated or not JSON"),
        (b"[]", "names no format"),
        (b'{"format": "x/2"}', "is of format 'x/2', but this version reads 'x/1'"),
        (json.dumps({"format": ["x"] * 10_000}).encode(), "is of format "),
    ],
)
def test_other_files_are_refused_with_the_remedy(tmp_path: Path, content: bytes, reason: str):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(UserError) as refusal:
        read_json(tmp_path / "a.json", "x/1", "write it again")
    assert refusal.value.where == str(tmp_path / "a.json")
    assert len(str(refusal.value.reason)) < 300
    assert refusal.value.reason.startswith(reason)
    assert refusal.value.reason.endswith("; write it again")


def test_a_missing_file_is_one_line(tmp_path: Path):
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_text(tmp_path / "a", "write it")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/x", "a/b", ".hidden", "a\nb", "a\0", "x" * 201, 3, None])
def test_names_that_leave_the_folder_are_refused(name: object):
    with pytest.raises(UserError, match=r"^cells: .* cannot name a file"):
        safe_name(name, "cells")


@pytest.mark.parametrize("name", ["two-cues", "two-cues-gap=20,classes=4", "plain+bfs", "a.b_c", "0"])
def test_ordinary_names_pass(name: str):
    assert safe_name(name, "cells") == name


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        make_folder(tmp_path / "file" / "inside")


def test_digests(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"content")
    assert sha256_file(tmp_path / "a") == sha256(b"content")
