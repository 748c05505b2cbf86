"""A study trains its cells, judges every run exactly, and writes rows that say what ran."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from certify import certify
from diacritic.files.ledger import REQUIRED, read_ledger
from diacritic.measure.evaluate import EpisodeTrace
from diacritic.measure.trace import symbolic_traces
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.studies.cell import Cell
from diacritic.studies.collect import enter
from diacritic.studies.symbolic import judge, run_cells, start
from diacritic.studies.tasks import model_of, task
from diacritic.training.kl_bound import kl_profile
from diacritic.training.scheduler import Part, round_robin

TINY = Cell("toys", task("gap", gap1=1, gap2=1), "plain", "carousel", "full", 0.0, 4, seeds=2)


def test_the_certified_machine_passes_every_gate_at_the_required_rate():
    instance = task("gap", gap1=1, gap2=2)
    machine = from_certified(certify(model_of(instance)).machine, model_of(instance))
    for gate in ("full", "external", "t-maze"):
        row = judge(instance, gate, machine)
        assert row["sufficient"]
        assert row["success"] == pytest.approx(1)
        assert row["rate"] == pytest.approx(row["requirement"])
        assert all(abs(bits) < 1e-9 for bits in row["conditional_surplus"].values())
        assert all(abs(content["nuisance"]) < 1e-9 for content in row["information"].values())


def test_a_memoryless_machine_fails():
    instance = task("gap", gap1=1, gap2=1)
    good = from_certified(certify(model_of(instance)).machine, model_of(instance))
    row = judge(instance, "full", CodeMachine(np.zeros_like(good.move), good.act))
    assert not row["sufficient"]
    assert row["rate"]["first gap"] == 0


def test_a_policy_watched_on_episodes_succeeds_where_every_action_is_right():
    instance = task("passive-t-maze", L=2)
    right = np.array([[True, True], [True, True], [True, False]])
    codes, seen = np.array([[0, 1], [0, 1], [0, 1]]), np.array([[0, 1], [2, 2], [3, 3]])
    row = judge(instance, "external", EpisodeTrace(codes, right, seen, np.array([0.5, 0.5])))
    assert row["success"] == 0.5
    assert not row["sufficient"]
    assert row["rate"]["corridor"] == pytest.approx(1.0)


def test_a_gaussian_bottleneck_is_bounded_step_by_step_in_every_window():
    """Two untrained runs: the row's mean over a window is that of the profile over its steps."""
    cell = replace(TINY, learner="gaussian", preset="release-toy")
    cohort = start(cell, "cpu")
    rows = [judge(cell.task, "full", trace) for trace in symbolic_traces(cohort, model_of(cell.task))]
    for key, sampled in (("kl_bits", True), ("kl_bits_at_means", False)):
        profiles = kl_profile(cohort.trace(sampled=sampled))
        assert profiles is not None
        for profile, row in zip(profiles, rows, strict=True):
            assert row[key].keys() == row["rate"].keys()
            assert row[key]["first gap"] == pytest.approx(np.mean(profile[2:5]), abs=1e-6)
            assert row[key]["second gap"] == pytest.approx(np.mean(profile[5:]), abs=1e-6)
            assert row[key]["first gap"] > 0
    assert all(row["kl_bits"] != row["kl_bits_at_means"] for row in rows)
    machine, *_ = symbolic_traces(start(TINY, "cpu"), model_of(TINY.task))
    assert "kl_bits" not in judge(TINY.task, "full", machine)


def test_running_a_study_writes_and_replaces_rows(tmp_path: Path):
    cells = [TINY, replace(TINY, learner="bypass", preset="release-toy", rate=3e-3)]
    for _, rows in run_cells(cells, "cpu", 2):
        enter(rows, [], tmp_path, print)
    enter(next(run_cells([TINY]))[1], [], tmp_path, print)
    rows = read_ledger(tmp_path / "toys.jsonl")
    assert len(rows) == 4
    assert all(set(REQUIRED) <= set(row) for row in rows)
    assert {row["seed"] for row in rows} == {0, 1}
    assert rows[0]["demos_sha256"] == model_of(TINY.task).digest


def test_seeds_with_demonstrations_of_their_own_train_apart():
    cell = replace(TINY, demonstrations=30)
    own = replace(cell, own_demonstrations=True)
    assert own.digest != cell.digest
    assert Cell.from_dict(own.to_dict()) == own
    judged = list(run_cells([own, cell]))
    assert [[row["seed"] for row in rows] for _, rows in judged] == [[0], [1], [0, 1]]
    assert [row["configuration"] for _, rows in judged for row in rows] == [own.digest] * 2 + [cell.digest] * 2
    first, second = (start(part, "cpu").given for part, _ in judged[:2])
    shared = start(cell, "cpu").given
    assert torch.equal(first.weight, shared.weight)
    assert not torch.equal(second.weight, shared.weight)


def test_training_together_is_training_alone():
    together = [start(TINY, "cpu"), start(replace(TINY, beta=0.1), "cpu")]
    for end in (2, TINY.steps):
        trained = round_robin(iter([Part(cohort, end) for cohort in together]), 2)
        assert [part.cohort.step for part in trained] == [end, end]
    alone = start(TINY, "cpu")
    alone.advance(TINY.steps)
    for name, value in alone.parameters.items():
        assert torch.equal(value, together[0].parameters[name])
