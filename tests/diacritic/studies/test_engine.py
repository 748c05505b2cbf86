"""Jobs are what the ledgers lack; a runner that is killed at any moment costs nothing but time."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from exchanged import FREE, PLAIN

from diacritic.files.ledger import merge_ledger, read_ledger
from diacritic.studies.cell import Cell
from diacritic.studies.engine import Job, StudySettings, jobs_of, missing_cells, run_here, run_one
from diacritic.studies.tasks import task
from diacritic.training import scheduler, unfinished
from diacritic.training.cohort import Cohort

TOY = Cell("toys", task("gap", gap1=1, gap2=1), "plain", "carousel", "full", 0.0, 4, seeds=2)
LONG = replace(TOY, steps=3000)


def settings(folder: Path) -> StudySettings:
    folders = folder / "results", folder / "work", folder / "demos", folder / "runs"
    return StudySettings(*folders, episodes=0, threads=1, forecaster_steps=2)


def without_time(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{key: value for key, value in row.items() if "seconds" not in key} for row in rows]


def test_both_kinds_run_once_and_only_what_is_missing_runs_again(tmp_path: Path):
    cells, where = [TOY, PLAIN, FREE], settings(tmp_path)
    jobs = jobs_of(cells, where)
    assert [(job.train_job is None, len(job.cells)) for job in jobs] == [(True, 1), (False, 2)]
    said: list[str] = []
    run_here(jobs, where, say=said.append)
    assert len(said) == 3
    assert jobs_of(cells, where) == []
    path = where.results / "tiny.jsonl"
    rows = read_ledger(path)
    path.write_text("".join(line for line in path.read_text().splitlines(True)[1:]))
    (job,) = jobs_of(cells, where)
    assert [len(runs) for _, runs in job.asked] == [1]
    merge_ledger(path, run_one(job, where))
    assert without_time(read_ledger(path)) == without_time(rows)


def test_a_run_of_another_study_counts(tmp_path: Path):
    where = settings(tmp_path)
    run_here(jobs_of([TOY], where), where, say=lambda line: None)
    assert missing_cells([TOY, replace(TOY, study="other")], where.results) == []
    assert missing_cells([replace(TOY, seeds=3), replace(TOY, steps=5)], where.results) == [
        replace(TOY, first_seed=TOY.seeds, seeds=3 - TOY.seeds),
        replace(TOY, steps=5),
    ]


def test_a_missing_seed_is_asked_for_up_to_the_last_one(tmp_path: Path):
    """Seeds of a cell are one stretch: what lies between two that are missing is trained once more."""
    where = settings(tmp_path)
    run_here(jobs_of([replace(TOY, first_seed=1)], where), where, say=lambda line: None)
    assert missing_cells([replace(TOY, seeds=3)], where.results) == [replace(TOY, seeds=1)]
    assert missing_cells([replace(TOY, seeds=5)], where.results) == [replace(TOY, seeds=5)]


def test_cohorts_in_turns_give_the_same_rows(tmp_path: Path):
    cells = [PLAIN, replace(PLAIN, learner="matched")]
    for name, together in (("alone", 1), ("turns", 2)):
        where = replace(settings(tmp_path / name), demos=tmp_path / "demos")
        run_here(jobs_of(cells, where), where, together, say=lambda line: None)
    first, second = (read_ledger(tmp_path / name / "results" / "tiny.jsonl") for name in ("alone", "turns"))
    assert without_time(first) == without_time(second)


KILLED = """
import sys
from pathlib import Path

import pytest
sys.path[:0] = sys.argv[2:]
from diacritic.studies.engine import jobs_of, run_here
from test_engine import LONG, TOY, settings
where = settings(Path(sys.argv[1]))
run_here(jobs_of([TOY, LONG], where), where)
"""


def test_kill_nine_loses_no_row(tmp_path: Path):
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    runner = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), *paths], stdout=subprocess.DEVNULL)
    ledger = tmp_path / "results" / "toys.jsonl"
    while not ledger.exists():
        assert runner.poll() is None
        time.sleep(0.02)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert [row["steps"] for row in read_ledger(ledger)] == [4, 4]
    (job,) = jobs_of([TOY, LONG], settings(tmp_path))
    assert job.cells == [LONG]


def test_a_symbolic_cell_that_was_killed_goes_on_to_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unfinished, "EVERY", 0.0)
    monkeypatch.setattr(scheduler, "CHUNK", 2)
    cells = [replace(TOY, steps=10, preset="release-toy"), replace(TOY, steps=8, beta=0.1)]
    whole, where = settings(tmp_path / "whole"), settings(tmp_path / "killed")
    run_here(jobs_of(cells, whole), whole, 2, say=lambda line: None)
    advance, first = Cohort.advance, list[int]()

    def interrupted(cohort: Cohort, steps: int) -> None:
        if cohort.step >= 4:
            raise KeyboardInterrupt
        advance(cohort, steps)

    monkeypatch.setattr(Cohort, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_here(jobs_of(cells, where), where, 2, say=lambda line: None)
    kept = list((where.work / "unfinished").iterdir())
    assert len(kept) == 2
    tensors, notes = unfinished.read_tensors(kept[0])
    unfinished.write_tensors(kept[0], tensors, notes | {"seconds": "1000.0"})
    monkeypatch.setattr(Cohort, "advance", lambda self, steps: (first.append(self.step), advance(self, steps)))
    run_here(jobs_of(cells, where), where, 2, say=lambda line: None)
    assert first[:2] == [4, 4]
    rows, again = (read_ledger(folder.results / "toys.jsonl") for folder in (whole, where))
    assert without_time(rows) == without_time(again)
    assert sum(row["seconds"] for row in again) > 1000
    assert not list((where.work / "unfinished").iterdir())


def test_a_clock_that_jumps_moves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time, "time", lambda: 0.0)
    first = run_one(Job(((TOY, (0, 1)),)), settings(tmp_path))
    monkeypatch.setattr(time, "time", lambda: -1e9)
    second = run_one(Job(((TOY, (0, 1)),)), settings(tmp_path))
    assert without_time(first) == without_time(second)
    assert all(row["seconds"] >= 0 for row in (*first, *second))
