"""Two runners, one folder; and a disk that is full."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from report_inputs import ledger_row

from certify.errors import UserError
from diacritic.files.ledger import merge_ledger, read_ledger
from diacritic.files.lock import disk_faults, locked

HOLD = "import sys, time; from pathlib import Path; from diacritic.files.lock import locked\n"
HOLD += "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"


def test_a_second_runner_is_told_and_a_killed_one_lets_go(tmp_path: Path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "held"
    with pytest.raises(UserError, match="another runner is at work"), locked(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with locked(tmp_path):
        assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass


def test_an_error_inside_is_not_taken_for_a_lock(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        _ = 1 / 0


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    row = ledger_row("a", 0, True)
    path = tmp_path / "x.jsonl"
    merge_ledger(path, [row])

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UserError, match="No space left on device; free some space"):
        merge_ledger(path, [{**row, "seed": 1}])
    assert [r["seed"] for r in read_ledger(path)] == [0]
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_while_copying_is_one_line_too():
    with pytest.raises(UserError, match="no space is left"), disk_faults():
        raise OSError(errno.ENOSPC, "No space left on device")


def test_other_faults_pass():
    with pytest.raises(PermissionError), disk_faults():
        raise PermissionError(errno.EACCES, "no")
