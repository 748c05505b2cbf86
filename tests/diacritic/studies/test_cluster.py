"""A real Ray cluster on this machine: the same ledger as here, a worker that is killed, and a head that goes away."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from certify.errors import UserError
from diacritic.studies import cluster
from diacritic.studies.choose import cells_of, studies_named
from diacritic.studies.engine import Setting, jobs_of, run_here
from diacritic.studies.ledger import read_ledger

FEW = "reveal plain carousel"
ENVIRONMENT = {**os.environ, "RAY_gcs_rpc_server_reconnect_timeout_s": "3", "PYTHONWARNINGS": "ignore"}


@contextmanager
def started(folder: Path, only: str) -> Iterator[subprocess.Popen[str]]:
    """Quick toys on a cluster of their own."""
    places = ("--results", str(folder / "results"), "--work", str(folder / "work"), "--device", "cpu")
    words = ("study", "run", "toys", "--only", only, "--quick", *places, "--engine", "ray")
    command = [sys.executable, "-m", "diacritic.cli", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT) as runner:
        try:
            yield runner
        finally:
            runner.kill()


def kill_when_busy(runner: subprocess.Popen[str], *words: str) -> None:
    """Once a worker trains, kill the runner's own processes whose titles have one of the words."""
    until = time.monotonic() + 120
    while time.monotonic() < until and runner.poll() is None:
        found = offspring(runner.pid)
        if any("ray::_first_stage" in title for title in found.values()):
            chosen = [pid for pid, title in found.items() if any(word in title for word in words)]
            for pid in chosen:
                os.kill(pid, signal.SIGKILL)
            assert len(chosen) >= len(words)
            return
        time.sleep(0.02)
    raise AssertionError(f"no worker: {runner.communicate()}")


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
    with started(tmp_path, FEW) as runner:
        kill_when_busy(runner, "ray::_first_stage")
        _, complaint = runner.communicate(timeout=240)
    assert runner.returncode == 0, complaint
    setting = Setting(tmp_path / "here", tmp_path / "work")
    run_here(jobs_of(cells_of(studies_named(["toys"]), FEW, quick=True), setting), setting)
    assert rows(tmp_path / "results") == rows(tmp_path / "here")
    assert len(rows(tmp_path / "here")) == 12


def test_a_head_that_goes_away_is_one_line(tmp_path: Path):
    with started(tmp_path, "") as runner:
        kill_when_busy(runner, "gcs_server", "raylet/raylet")
        _, complaint = runner.communicate(timeout=120)
    assert runner.returncode == 2, complaint
    assert "diacritic: ray: the cluster went away" in complaint.splitlines()[-1]


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path):
    with pytest.raises(UserError, match=r"no Ray cluster answers at '127\.0\.0\.1:9'"):
        cluster.run_on_ray([], Setting(tmp_path, tmp_path), "127.0.0.1:9")


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"diacritic\[cluster\]"):
        cluster.run_on_ray([], Setting(tmp_path, tmp_path))
