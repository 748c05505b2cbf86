"""The probe of single frames: which frames it reads, and that it would find the class there."""

from dataclasses import replace

import numpy as np
import pytest

from diacritic.demos import pixel_probe
from diacritic.demos.record import record
from diacritic.files.demos import Demos
from diacritic.studies.cell import Cell
from diacritic.studies.recordings import recording_name
from diacritic.tasks.registry import make as make_task
from reproduction.catalogue import pixels
from reproduction.paper import Paper
from reproduction.verdicts import Range

EPISODES = 32


@pytest.fixture(scope="module")
def noise() -> Demos:
    """A short recording whose frames show nothing at all."""
    demos, _ = record(make_task("two-cues", gap=2), EPISODES, 0)
    frames = np.random.default_rng(0).integers(0, 30, (demos.steps, EPISODES, 64, 64, 3), np.uint8)
    return replace(demos, frames=frames)


def painted(demos: Demos, step: int) -> Demos:
    """The same, with the class of the place in one frame."""
    assert demos.frames is not None
    frames = demos.frames.copy()
    frames[step, demos.latents["slot"] == 1, 20:40] += 200
    return replace(demos, frames=frames)


def nearest_mean(train: np.ndarray, labels: np.ndarray, test: np.ndarray, **_: int) -> np.ndarray:
    """A quick probe: the class whose mean frame is nearest."""
    means = np.stack([train[labels == label].mean(0) for label in np.unique(labels)])
    away = ((test[:, None] - means[None]) ** 2).sum((2, 3, 4))
    return np.unique(labels)[away.argmin(1)]


def test_a_class_that_one_frame_shows_is_found(monkeypatch: pytest.MonkeyPatch, noise: Demos):
    monkeypatch.setattr(pixel_probe, "frame_probe", nearest_mean)
    phases = [noise.convention.phases[k] for k in noise.phase[:, 0]]
    clean = pixels.accuracies(noise, "slot")
    assert clean.high < 0.8
    for step in (phases.index("gap2"), phases.index("place") - 1, phases.index("place")):
        actual = pixels.accuracies(painted(noise, step), "slot")
        assert actual.high == 1, step
        assert actual.low < 0.8
    assert pixels.accuracies(painted(noise, noise.steps - 1), "slot") == clean  # the class may be seen there


def test_the_recording_of_the_long_gap_is_probed(monkeypatch: pytest.MonkeyPatch, noise: Demos):
    asked: list[str] = []

    def recorded(cell: Cell) -> Demos:
        asked.append(recording_name(cell))
        return noise

    monkeypatch.setattr(pixels, "recording", recorded)
    monkeypatch.setattr(pixels, "accuracies", lambda demos, variable: Range(*[0.01 * len(variable)] * 2))
    probes = [figure for figure in pixels.STUDY.figures if figure.block == "pixels.probe"]
    actual = [probe.measured() for probe in probes if probe.measured is not None]
    assert actual == [Range(0.04, 0.04), Range(0.05, 0.05), Range(0.04, 0.04)]
    assert asked == ["two-cues-gap20-v2-pixels-576-s0"] * 3


def test_cells_have_the_settings_of_the_release():
    """release.md: N = 448 of 512 at gap 6; β = 0.002 for plain training and its scaffold there, else 0.001."""
    assert {(cell.preset, cell.demonstrations, cell.steps, cell.codes) for cell in pixels.CELLS} == {
        ("release", 448, 10_000, 16)
    }
    gaps = {cell: dict(cell.task.parameters)["gap"] for cell in pixels.CELLS}
    doubled = {(gaps[cell], cell.learner) for cell in pixels.CELLS if cell.beta == 2e-3}
    assert doubled == {(6, "plain"), (6, "scaffold")}
    seeds = {cell.learner: cell.seeds for cell in pixels.CELLS if gaps[cell] == 20}
    assert {cell.beta for cell in pixels.CELLS if gaps[cell] == 20} == {1e-3}
    assert seeds.pop("event-agnostic-kept") == 8
    assert set(seeds.values()) == {16}
    assert set(seeds) == {"plain", "task-informed", "event-agnostic", "event-agnostic-40"}


def test_the_two_studies_of_plain_training_at_gap_6_are_compared_apart():
    """The mean success of one cannot come from the policies of the other."""
    plain = [cell for cell in pixels.CELLS if cell.learner == "plain" and dict(cell.task.parameters)["gap"] == 6]
    told = {cell.beta: cell.reference for cell in plain}
    assert {beta: (one.block, one.sufficient, one.success) for beta, one in told.items() if isinstance(one, Paper)} == {
        1e-3: ("table.pxgeneric", (2, 8), 0.17),
        2e-3: ("pixels.plain", (2, 8), None),
    }
