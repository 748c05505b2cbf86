"""Archives are few, whole, of a bounded size, and come apart again."""

import zipfile
from pathlib import Path

import pytest

from certify.errors import UserError
from diacritic.files.archive import ResultArchives, extracted


def test_files_that_belong_together_stay_together_and_archives_stay_small(tmp_path: Path):
    pairs = []
    for k in range(5):
        pair = [tmp_path / f"{k}.npz", tmp_path / f"{k}.safetensors"]
        for path in pair:
            path.write_bytes(bytes([k]) * 400)
        pairs.append(pair)
    archives = ResultArchives(tmp_path / "b", largest=2000)
    for pair in pairs:
        archives.add(pair)
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [f"results-{k}.zip" for k in (1, 2, 3)]
    with extracted(tmp_path / "b") as folder:
        assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for pair in pairs for path in pair)
        assert (folder / "3.npz").read_bytes() == bytes([3]) * 400


def test_a_second_run_numbers_on_and_its_results_replace_older_ones(tmp_path: Path):
    (tmp_path / "b").mkdir()
    for number in (2, 9):
        with zipfile.ZipFile(tmp_path / "b" / f"results-{number}.zip", "w") as archive:
            archive.writestr("a.npz", str(number))
            archive.writestr(f"{number}.npz", "")
    (tmp_path / "a.npz").write_text("new")
    archives = ResultArchives(tmp_path / "b")
    archives.add([tmp_path / "a.npz"])
    assert {path.name for path in (tmp_path / "b").iterdir()} == {f"results-{k}.zip" for k in (2, 9, 10)}
    with extracted(tmp_path / "b") as folder:
        assert sorted(path.name for path in folder.iterdir()) == ["2.npz", "9.npz", "a.npz"]
        assert (folder / "a.npz").read_text() == "new"


def test_a_plain_folder_is_itself(tmp_path: Path):
    with extracted(tmp_path) as folder:
        assert folder == tmp_path


def test_entries_that_would_leave_the_folder_are_refused(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "results-1.zip", "w") as archive:
        archive.writestr("../outside", "x")
    with pytest.raises(UserError, match="cannot name a file"), extracted(tmp_path):
        pass


def test_archives_that_unpack_to_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("diacritic.files.archive.UNPACKED", 1000)
    with zipfile.ZipFile(tmp_path / "results-1.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"0" * 1001)
    with pytest.raises(UserError, match="holds more than 1000 bytes"), extracted(tmp_path):
        pass


def test_a_broken_archive_is_named(tmp_path: Path):
    (tmp_path / "results-1.zip").write_bytes(b"PK no zip")
    with pytest.raises(UserError, match=r"results-1\.zip.*fetch it again"), extracted(tmp_path):
        pass
