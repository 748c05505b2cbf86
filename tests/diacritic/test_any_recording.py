"""From somebody's arrays to a verdict and a page, for a recording of no registered task."""

from pathlib import Path

import numpy as np
import pytest

import diacritic as dia
from certify.errors import UserError
from diacritic.commands.train import Train
from diacritic.demos.lerobot import export_lerobot
from diacritic.files.arrays import write_npz

EPISODES, STEPS = 64, 8


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    """Two cues of one bit at steps 1 and 2, asked for at steps 5 and 8."""
    first, second = np.arange(EPISODES) % 2, np.arange(EPISODES) // 2 % 2
    symbols = np.stack([first, 2 + second, *(np.full(EPISODES, 4 + k) for k in range(STEPS - 2))])
    choices = np.zeros((STEPS, EPISODES), int)
    choices[4], choices[7] = 1 + first, 3 + second
    noise = np.random.default_rng(0).normal(scale=0.01, size=(STEPS, EPISODES, 10))
    seen = np.eye(10)[symbols] + noise
    return {"observations": seen, "actions": np.eye(5)[choices], "symbols": symbols, "choices": choices}


def test_from_arrays_to_a_page(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    write_npz(tmp_path / "mine.npz", **arrays)
    demos = dia.load(tmp_path / "mine.npz")
    need = dia.requirement(demos)
    assert [step.rate for step in need.steps] == [0, 1, 2, 2, 2, 1, 1, 1]
    runs = dia.train(demos, seeds=2, steps=3, device="cpu", out=tmp_path / "runs")
    assert [run.manifest.task for run in runs] == ["mine", "mine"]
    for verdicts in (dia.measure(runs, need), dia.measure(tmp_path / "runs", task=str(tmp_path / "mine"))):
        assert [verdict.subject.task for verdict in verdicts] == ["mine", "mine"]
        assert [*verdicts[0].profile.windows] == ["steps 2–8"]
        names = [control.name for control in verdicts[0].controls]
        assert "decision errors" in names
        assert "closed loop" not in names
    page = dia.report(need, demos, runs, out=tmp_path / "page.html", film=False)
    assert (tmp_path / "page.html").exists()
    assert page.left_out == []
    with pytest.raises(UserError, match="this recording has no simulator: register a task to roll out"):
        dia.rollout(runs)
    write_npz(tmp_path / "other.npz", **arrays)
    with pytest.raises(UserError, match="learned 'mine', not 'other'; give that recording"):
        dia.measure(runs, task=str(tmp_path / "other"))


def test_integers_alone_are_learned_from(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    write_npz(tmp_path / "words.npz", observations=arrays["symbols"], actions=arrays["choices"])
    runs = dia.train(str(tmp_path / "words"), learner="join", seeds=1, steps=2, device="cpu", out=tmp_path / "r")
    assert len(runs) == 1
    assert runs.evaluations[0] is not None


def test_recordings_that_cannot_be_judged(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    for name, meaning in (("symbols", "what counts as seen"), ("choices", "what the expert did")):
        write_npz(tmp_path / "bare.npz", **{key: value for key, value in arrays.items() if key != name})
        demos = dia.load(tmp_path / "bare.npz")
        for refused in (dia.requirement, dia.train):
            with pytest.raises(UserError, match=rf"bare: has no {name} \({meaning}\)"):
                refused(demos)


def test_episodes_of_unequal_length_are_learned_from(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    """What stands beyond the end of an episode teaches nothing, and nothing is required there."""
    mask = np.ones((STEPS, EPISODES), bool)
    mask[5:, ::3] = False
    weights, profiles = [], []
    for k in range(2):
        given = {key: value.copy() for key, value in arrays.items()}
        if k:
            given["observations"][~mask], given["actions"][~mask] = 7.0, -3.0
            given["symbols"][~mask], given["choices"][~mask] = 1, 2
        write_npz(tmp_path / f"uneven{k}.npz", **given, mask=mask)
        demos = dia.load(tmp_path / f"uneven{k}.npz")
        need = [step.rate for step in dia.requirement(demos).steps]
        assert need[-1] == pytest.approx(mask[-1].mean(), abs=0.02)  # one bit, of the episodes that last so long
        runs = dia.train(demos, seeds=1, steps=3, device="cpu", out=tmp_path / f"r{k}")
        weights.append(dia.load_run(runs.paths[0]).weights)
        verdict = dia.measure(runs)[0]
        profiles.append(verdict.profile)
        with pytest.raises(UserError, match="--learner: plain\\+bfs learns from later steps and needs episodes of one"):
            dia.train(demos, learner="plain+bfs", seeds=1, steps=1, device="cpu", out=tmp_path / "no")
        assert verdict.profile.required == pytest.approx(need, abs=0.05)  # of the held-out episodes
    assert profiles[0] == profiles[1]
    for name, value in weights[0].items():
        assert np.allclose(value.numpy(), weights[1][name].numpy(), atol=1e-6), name


def test_the_command_and_the_page_take_what_the_package_takes(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    write_npz(tmp_path / "mine.npz", **arrays)
    folder = export_lerobot(dia.load(tmp_path / "mine"), tmp_path / "robot")
    page = dia.report(str(tmp_path / "mine.npz"), str(folder), out=tmp_path / "page.html", film=False)
    assert [demos.digest for demos in page.recordings] == [dia.load(tmp_path / "mine").digest] * 2
    with pytest.raises(UserError, match="a recording brings its own parameters"):
        Train(str(folder), ("bits=2",)).run()
