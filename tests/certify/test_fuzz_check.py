"""Damaged certificates and models: the checker ends with a verdict and one line, whatever the bytes."""

import json
from pathlib import Path

import pytest
from certify_corpus import documents, paths
from certify_fuzz import damaged_bytes, damaged_documents

from certify import check


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("kind", ["bytes", "fields"])
def test_damaged_files(which: int, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = paths("correct", "three-histories")
    whole = Path(arguments[which]).read_bytes()
    arguments[which] = str(tmp_path / "damaged.json")
    document = documents("three-histories")[which]
    texts = (text.encode() for text in damaged_documents(document, 8))
    statuses = set()
    for raw in damaged_bytes(whole, 9) if kind == "bytes" else texts:
        Path(arguments[which]).write_bytes(raw)
        status = check.main(arguments)
        out, err = capsys.readouterr()
        statuses.add(status)
        assert (out + err).count("\n") == 1
        assert (out + err).isascii()
        assert len(err) < 500
        if status == 0:  # what was damaged says nothing
            assert json.loads(raw)["horizon"] == document["horizon"]
    assert {1, 2} <= statuses or {0, 2} <= statuses
