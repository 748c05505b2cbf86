"""Runs on disk: named by their configuration, believed only if whole, and a start for others."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from certify.errors import UserError
from certify.zoo import build
from diacritic.memory.module import Carrier
from diacritic.memory.saved import load_run
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.runs import save_runs, stacked_runs
from diacritic.training.symbolic import from_model

KNOWN = {"kind": "symbolic", "task": "gap gap1=1 gap2=1"}


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    plan = Plan(learner("plain"), preset("carousel"), (Run(0), Run(1)), 3)
    made = Cohort(plan, from_model(build("gap", gap1=1, gap2=1)))
    made.advance(3)
    return made


def test_a_run_comes_back_as_it_was(cohort: Cohort, tmp_path: Path):
    paths = save_runs(cohort, tmp_path, [KNOWN | {"sufficient": False}, KNOWN | {"sufficient": True}])
    assert len({path.name for path in paths}) == 2
    for k, path in enumerate(paths):
        run = load_run(path)
        assert run.manifest.sufficient is bool(k)
        assert run.manifest.seed == k
        Carrier(run.shape, run.architecture, run.weights)
        for name, value in run.weights.items():
            assert torch.equal(value, cohort.parameters[name][k])
        with np.load(path / "codes.npz", allow_pickle=False) as arrays:
            assert arrays["codes"].shape == (cohort.data.horizon, cohort.data.episodes)
        assert not list(path.glob("*partial*"))


def test_the_name_follows_the_configuration(cohort: Cohort, tmp_path: Path):
    again = save_runs(cohort, tmp_path / "a", [KNOWN, KNOWN])
    assert [p.name for p in save_runs(cohort, tmp_path / "b", [KNOWN, KNOWN])] == [p.name for p in again]
    other = Cohort(replace(cohort.plan, steps=4), cohort.given)
    assert not {p.name for p in save_runs(other, tmp_path / "c", [KNOWN, KNOWN])} & {p.name for p in again}


def test_a_damaged_run_is_refused(cohort: Cohort, tmp_path: Path):
    path = save_runs(cohort, tmp_path, [KNOWN, KNOWN])[0]
    weights = (path / "weights.safetensors").read_bytes()
    (path / "weights.safetensors").write_bytes(weights[:-10])
    with pytest.raises(UserError, match="does not match the run's manifest"):
        load_run(path)
    (path / "weights.safetensors").write_bytes(weights)
    (path / "run.json").write_text((path / "run.json").read_text()[:40])
    with pytest.raises(UserError, match="not JSON"):
        load_run(path)
    (path / "run.json").unlink()
    with pytest.raises(UserError, match=r"half-written run without run\.json"):
        load_run(path)


def test_warm_starts_take_the_weights_and_refuse_other_sizes(cohort: Cohort, tmp_path: Path):
    paths = save_runs(cohort, tmp_path, [KNOWN, KNOWN])
    longer = from_model(build("gap", gap1=1, gap2=4))
    begun = stacked_runs(paths, cohort.plan, longer)
    assert all(torch.equal(begun[name], value) for name, value in cohort.parameters.items())
    with pytest.raises(UserError, match="one for each"):
        stacked_runs(paths[:1], cohort.plan, longer)
    with pytest.raises(UserError, match="warm starts keep the sizes"):
        stacked_runs(paths, cohort.plan, from_model(build("passive-t-maze", L=2)))
