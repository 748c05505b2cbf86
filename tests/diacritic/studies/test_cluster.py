"""A real Ray cluster on this machine: the same ledger as here, a worker that is killed, and a head that goes away.

Workers are preempted from within (`preempted.py`), so that nothing depends on how long Ray takes to start.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import preempted
import pytest

from certify.errors import UserError
from diacritic.files.ledger import read_ledger
from diacritic.studies import cluster, symbolic
from diacritic.studies.choose import cells_of, load_studies
from diacritic.studies.engine import StudySettings, jobs_of, run_here

STUDY = """
from diacritic.studies import Study, task
from preempted import Preempted

CELLS = [Preempted("toys", task("gap", gap2=gap), "plain", "carousel", "full", 0.03, 20, seeds=2) for gap in (1, 2, 3)]
STUDY = Study("toys", "Toys", cells=tuple(CELLS))
"""


def declared(folder: Path) -> Path:
    file = folder / "study.py"
    file.write_text(STUDY, encoding="utf-8")
    return file


@contextmanager
def started(folder: Path, action: str) -> Iterator[subprocess.Popen[str]]:
    """Toys on a cluster of their own, whose first worker is preempted."""
    paths = os.pathsep.join([str(Path(preempted.__file__).parent), *sys.path])
    environment = {**os.environ, "RAY_gcs_rpc_server_reconnect_timeout_s": "3", "PYTHONWARNINGS": "ignore"}
    environment |= {"PYTHONPATH": paths, preempted.MARK: str(folder / "mark"), preempted.ACTION: action}
    options = ("--results", str(folder / "results"), "--work", str(folder / "work"), "--device", "cpu")
    words = ("study", "run", "--studies", str(declared(folder)), *options, "--engine", "ray")
    command = [sys.executable, "-m", "diacritic.cli", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as runner:
        try:
            yield runner
        finally:
            runner.kill()


def offspring(ancestor: int) -> dict[int, str]:
    """Processes that descend from one, with their titles."""
    listed = subprocess.check_output(["ps", "-eww", "-o", "pid=,ppid=,args="], text=True).splitlines()
    rows = {int(pid): (int(parent), title) for pid, parent, title in (line.split(None, 2) for line in listed)}

    def descends(pid: int) -> bool:
        while pid in rows and pid != ancestor:
            pid = rows[pid][0]
        return pid == ancestor

    return {pid: title for pid, (_, title) in rows.items() if pid != ancestor and descends(pid)}


def rows(folder: Path) -> list[dict[str, object]]:
    return [{**row, "seconds": 0} for row in read_ledger(folder / "toys.jsonl")]


def test_a_killed_worker_costs_nothing_but_time_and_the_ledger_is_that_of_the_local_engine(tmp_path: Path):
    settings = StudySettings(tmp_path / "here", tmp_path / "work")
    studies = load_studies(declared(tmp_path))
    states = [symbolic._kept_at(cell, settings.work) for cell in cells_of(list(studies.values()))]
    for path in states:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"of a worker that was killed while it wrote")
    with started(tmp_path, "kill") as runner:
        _, complaint = runner.communicate()
    assert runner.returncode == 0, complaint
    assert (tmp_path / "mark").exists(), "no worker was started, and none killed"
    assert not any(path.exists() for path in states)
    run_here(jobs_of(cells_of(list(studies.values())), settings), settings)
    assert rows(tmp_path / "results") == rows(tmp_path / "here")
    assert len(rows(tmp_path / "here")) == 6


def test_a_head_that_goes_away_is_one_line(tmp_path: Path):
    with started(tmp_path, "wait") as runner:
        while runner.poll() is None and not (tmp_path / "mark").exists():
            time.sleep(0.05)
        assert runner.poll() is None, f"ended before a worker was started: {runner.communicate()}"
        words = "gcs_server", "raylet/raylet"
        head = [pid for pid, title in offspring(runner.pid).items() if any(word in title for word in words)]
        assert len(head) >= 2
        for pid in head:
            os.kill(pid, signal.SIGKILL)
        _, complaint = runner.communicate()
    assert runner.returncode == 2, complaint
    assert "diacritic: ray: the cluster went away" in complaint.splitlines()[-1]


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path):
    with pytest.raises(UserError, match=r"no Ray cluster answers at '127\.0\.0\.1:9'"):
        cluster.run_on_ray([], StudySettings(tmp_path, tmp_path), "127.0.0.1:9")


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"diacritic\[cluster\]"):
        cluster.run_on_ray([], StudySettings(tmp_path, tmp_path))
