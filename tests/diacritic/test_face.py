"""The public face: a dozen names that lead from a task to a report, light until they are used."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import diacritic as dia
from certify import Answer, Model
from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.recorded_run import Effort

LITTLE = {"seeds": 2, "steps": 5, "codes": 4, "device": "cpu"}


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = "import sys, diacritic; print([n for n in ('torch', 'mujoco', 'numpy', 'rich') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_name_is_there_and_described() -> None:
    assert dir(dia) == sorted(dia.__all__)
    for name in dia.__all__:
        assert callable(getattr(dia, name)), name
        assert getattr(dia, name).__doc__, name
    with pytest.raises(AttributeError, match="has no attribute 'measur'"):
        dia.measur  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def test_a_model_from_start_to_end(tmp_path: Path) -> None:
    task = dia.task("memory-chain", bits=1, delay=2)
    need = dia.requirement(task)
    runs = dia.train(task, out=tmp_path / "runs", **LITTLE)
    assert (len(runs), len(runs.paths)) == (2, 2)
    assert runs[1].manifest.seed == 1
    assert dia.load_run(runs.paths[0]).manifest.task == need.model.name
    measured = dia.measure(runs, need)
    assert len(measured) == 2
    assert f"{measured.sufficient}/2 sufficient" in str(measured)
    page = tmp_path / "report.html"
    dia.report(need, runs, out=page)
    assert "memory-chain" in page.read_text(encoding="utf-8")


def test_drawn_demonstrations_of_a_model(tmp_path: Path) -> None:
    demos = dia.record(build("memory-chain", bits=1, delay=2), episodes=16)
    assert isinstance(dia.requirement(demos), Answer)
    runs = dia.train(demos, out=tmp_path, **LITTLE)
    assert runs[0].manifest.N == 16


def test_a_simulated_task_from_start_to_end(tmp_path: Path) -> None:
    task = dia.task("two-cues", gap=1, first_gap=1)
    demos = dia.record(task, episodes=40, threads=1)
    need = dia.requirement(demos)
    assert 1.9 < max(step.upper for step in need.steps) <= 2  # the strata of 40 episodes are not quite even
    runs = dia.train(demos, out=tmp_path / "runs", **LITTLE)
    measured = dia.measure(runs, need, effort=Effort(episodes=0, interventions=0))
    assert [verdict.subject.seed for verdict in measured] == [0, 1]
    (played,) = dia.rollout(runs, episodes=4, threads=1)
    assert set(played.summary()) == set(runs.paths)


def test_a_recording_of_bare_arrays_is_loaded(tmp_path: Path) -> None:
    cue = np.array([0, 1] * 4)
    np.savez(tmp_path / "mine.npz", observations=np.stack([cue, 0 * cue]), actions=np.stack([0 * cue, cue]))
    need = dia.requirement(dia.load(tmp_path / "mine.npz"))
    assert [step.rate for step in need.steps] == [0, 1]


def test_the_design_of_a_task_requires_what_its_recording_does() -> None:
    task = dia.task("two-cues", gap=1, first_gap=1)
    assert max(step.upper for step in dia.requirement(task).steps) == 2


def test_what_cannot_be_is_one_line(tmp_path: Path) -> None:
    chain = build("memory-chain", bits=1, delay=2)
    with pytest.raises(UserError, match="--seeds: must be at least 1"):
        dia.train(chain, seeds=0, out=tmp_path)
    step = {"obs": "o", "action_law": {"a": "1"}, "action": "a"}
    short = Model.from_episodes({"horizon": 1, "episodes": [{"weight": "1", "steps": [step]}]})
    with pytest.raises(UserError, match="task: has one step"):
        dia.train(short, out=tmp_path)
    runs = dia.train(chain, out=tmp_path, **LITTLE)
    with pytest.raises(UserError, match="need: is the requirement of another task"):
        dia.measure(runs, dia.requirement("gap"))
    with pytest.raises(UserError, match="holds 2 runs; give one of them"):
        dia.export(runs, tmp_path / "machine.json")
