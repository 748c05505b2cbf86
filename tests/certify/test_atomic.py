"""Files are whole or absent; failures end in one line and leave nothing behind."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from certify import atomic
from certify.atomic import open_atomic, path_atomic, write_bytes, write_text
from certify.errors import UserError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _fail(path: Path, failure: type[BaseException]) -> None:
    with open_atomic(path) as file:
        file.write(b"new")
        raise failure


def _fail_at_path(path: Path) -> None:
    with path_atomic(path) as partial:
        partial.write_bytes(b"half")
        raise RuntimeError


def test_a_file_is_replaced_whole(tmp_path: Path):
    write_text(tmp_path / "a", "old")
    write_text(tmp_path / "a", "é")
    assert (tmp_path / "a").read_bytes() == "é".encode()
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_keeps_the_old_file_and_no_partial(tmp_path: Path, failure: type[BaseException]):
    write_text(tmp_path / "a", "old")
    with pytest.raises(failure):
        _fail(tmp_path / "a", failure)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_failing_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int):
    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(UserError, match=f"a: cannot be written: {os.strerror(number)}; "):
        write_bytes(tmp_path / "a", b"content")
    assert names(tmp_path) == []


def test_a_missing_folder_is_named_with_the_remedy(tmp_path: Path):
    with pytest.raises(UserError, match="No such file or directory; create the folder first"):
        write_text(tmp_path / "missing" / "a", "")


def test_a_folder_in_the_way_is_one_line(tmp_path: Path):
    (tmp_path / "a").mkdir()
    with pytest.raises(UserError, match="cannot be written: Is a directory"):
        write_text(tmp_path / "a", "")
    assert names(tmp_path) == ["a"]


def test_a_device_is_written_to_and_stays_a_device():
    write_text(Path(os.devnull), "gone")
    assert not Path(os.devnull).is_file()


def test_a_full_device_is_one_line():
    if Path("/dev/full").is_char_device():
        with pytest.raises(UserError, match="No space left on device; free some space"):
            write_text(Path("/dev/full"), "x" * 10)


def test_writers_that_want_a_path_keep_the_suffix(tmp_path: Path):
    with path_atomic(tmp_path / "a.png") as path:
        assert path.suffix == ".png"
        assert not (tmp_path / "a.png").exists()
        path.write_bytes(b"picture")
    assert (tmp_path / "a.png").read_bytes() == b"picture"
    assert names(tmp_path) == ["a.png"]


def test_a_failing_writer_of_a_path_leaves_nothing(tmp_path: Path):
    with pytest.raises(RuntimeError):
        _fail_at_path(tmp_path / "a.png")
    with pytest.raises(UserError, match=r"a\.png: cannot be written"), path_atomic(tmp_path / "a.png"):
        pass  # nothing was written
    assert names(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from certify.atomic import open_atomic, path_atomic
with {writer}(Path(sys.argv[1])) as target:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("writer", ["open_atomic", "path_atomic"])
def test_the_partial_file_of_a_killed_writer_is_removed_by_the_next(tmp_path: Path, writer: str):
    killed = subprocess.run([sys.executable, "-c", KILLED.format(writer=writer), str(tmp_path / "a")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 1
    write_text(tmp_path / "b", "another file's writer does not touch it")
    assert len(names(tmp_path)) == 2
    write_text(tmp_path / "a", "done")
    assert names(tmp_path) == ["a", "b"]


def test_the_partial_file_of_a_living_writer_stays(tmp_path: Path):
    with open_atomic(tmp_path / "a") as file:
        file.write(b"first")
        write_text(tmp_path / "a", "second")
    assert (tmp_path / "a").read_text() == "first"
    assert names(tmp_path) == ["a"]
