"""Cells that differ in numbers share cohorts, every run has one place, and the folder says it all."""

from dataclasses import replace
from pathlib import Path

import pytest
from exchanged import FREE, PLAIN, exported

from certify.errors import UserError
from diacritic.studies.cell import Cell
from diacritic.studies.job_manifest import RUNS, pack, read_placed
from diacritic.studies.tasks import task
from diacritic.training.cohort import Run
from diacritic.training.supervision import FORECASTER_STEPS


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demos")


def test_numbers_share_a_cohort_and_everything_else_does_not(demos: Path):
    numbers = [PLAIN, FREE, replace(PLAIN, rate=1e-3), replace(PLAIN, auxiliary=0.1), replace(PLAIN, first_seed=5)]
    others = [
        replace(PLAIN, learner="join"),
        replace(PLAIN, preset="release"),
        replace(PLAIN, steps=5),
        replace(PLAIN, codes=8),
        replace(PLAIN, demonstrations=20),
        replace(PLAIN, forecaster=7),
        replace(PLAIN, misled=0.5),
    ]
    train_jobs, placed = pack([*numbers, *others], demos)
    assert [len(train_job.runs) for train_job in train_jobs] == [10, *[2] * len(others)]
    assert [train_job.forecaster_steps for train_job in train_jobs[-2:]] == [7, FORECASTER_STEPS]
    by_name = {train_job.name: train_job for train_job in train_jobs}
    for item in placed:
        runs = [by_name[name].runs[k] for name, k in item.positions]
        cell = item.cell
        assert runs == [Run(seed, cell.beta, cell.rate, cell.auxiliary) for seed in cell.run_seeds]


def test_an_order_names_the_runs_that_it_starts_from(demos: Path):
    easy = replace(PLAIN, task=task("two-cues", gap=2, first_gap=1, episodes=40), beta=0.0, seeds=1)
    hard = [replace(PLAIN, after=easy, beta=beta) for beta in (0.0, 0.1)]
    train_jobs, placed = pack([PLAIN, *hard, replace(easy, beta=0.5)], demos)
    former, plain, later = train_jobs
    assert [len(train_job.runs) for train_job in train_jobs] == [3, 2, 4]
    assert [run.beta for run in former.runs] == [0.0, 0.0, 0.5]
    assert [item.cell for item in placed] == [PLAIN, *hard, replace(easy, beta=0.5)]
    assert later.start == tuple((former.name, k) for k in (0, 1, 0, 1))
    assert (plain.start, later.formers) == ((), {former.name})
    assert len(pack([hard[0], replace(hard[0], after=None)], demos)[0]) == 3


def test_studies_that_share_a_cell_share_its_runs_and_gates_share_them_too(demos: Path):
    train_jobs, placed = pack([PLAIN, replace(PLAIN, study="other"), replace(PLAIN, gate="relaxed")], demos)
    assert [len(train_job.runs) for train_job in train_jobs] == [2]
    assert len({item.positions for item in placed}) == 1


def test_large_cohorts_are_cut(demos: Path):
    train_jobs, placed = pack([replace(PLAIN, seeds=RUNS + 3)], demos)
    assert [len(train_job.runs) for train_job in train_jobs] == [RUNS, 3]
    assert placed[0].positions[RUNS] == (train_jobs[1].name, 0)


def test_cohorts_are_as_small_as_they_are_asked_to_be(demos: Path):
    train_jobs, placed = pack([replace(PLAIN, seeds=5)], demos, most=2)
    assert [[run.seed for run in train_job.runs] for train_job in train_jobs] == [[0, 1], [2, 3], [4]]
    assert placed[0].positions[3] == (train_jobs[1].name, 1)
    assert len({train_job.plan_digest for train_job in train_jobs}) == 1  # other runs beside them decide nothing
    with pytest.raises(UserError, match="--cohort: 0 runs are not a cohort"):
        pack([PLAIN], demos, most=0)


def test_the_folder_is_read_as_it_was_written(tmp_path: Path, demos: Path):
    train_jobs, placed = exported([PLAIN, FREE], tmp_path, demos)
    jobs, cells = read_placed(tmp_path)
    assert list(jobs.values()) == train_jobs
    assert cells == placed
    assert sorted(path.suffix for path in (tmp_path / "demos").iterdir()) == [".json", ".npz"]


def test_what_cannot_be_exported_is_named(demos: Path):
    symbolic = Cell("toys", task("reveal"), "plain", "carousel", "full", 0.0, 4)
    with pytest.raises(UserError, match="is a symbolic cell"):
        pack([symbolic], demos)
    with pytest.raises(UserError, match="no learner is called"):
        pack([replace(PLAIN, learner="plan")], demos)
