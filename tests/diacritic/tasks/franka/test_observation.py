"""The layout, the display, the noise and the injected leak."""

from dataclasses import replace

import numpy as np
import pytest

from diacritic.tasks.franka.layout import LAYOUT, NOISE, SLICES, WIDTH
from diacritic.tasks.franka.observation import draw_noise, sense, symbols
from diacritic.tasks.franka.tasks import Readout, TwoCues, make_task
from diacritic.tasks.franka.timeline import PHASES


def latents_of(n: int, **given: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.zeros(n, int) for name in ("theta", "hover", "mass", "distractor")} | given


def test_layout_covers_27_numbers_once() -> None:
    covered = np.zeros(WIDTH, int)
    for part in SLICES.values():
        covered[part] += 1
    assert WIDTH == 27
    assert (covered == 1).all()
    assert [SLICES[field.name].stop - SLICES[field.name].start for field in LAYOUT] == [field.width for field in LAYOUT]


@pytest.mark.parametrize("modes", [8, 32, 512])
def test_binary_display_names_every_mode(modes: int) -> None:
    task = Readout(modes=modes)
    theta = np.arange(modes)
    display = symbols(task, 3, latents_of(modes, theta=theta))[:, SLICES["display"]]
    bits = int(np.log2(modes))
    np.testing.assert_array_equal((display[:, :bits] > 0) @ (1 << np.arange(bits)), theta)
    assert set(np.unique(display[:, :bits])) == {-1.0, 1.0}
    assert (display[:, bits:] == 0).all()


def test_display_is_dark_outside_the_scan() -> None:
    task = TwoCues()
    for t in range(task.horizon + 1):
        shown = symbols(task, t, latents_of(4, theta=np.arange(4)))[:, SLICES["display"]]
        assert shown.any() == (t in task.phase_steps("scan"))
        assert task.displayed(t, latents_of(4, theta=np.arange(4))).tolist() == (
            [0, 1, 2, 3] if t in task.phase_steps("scan") else [-1] * 4
        )


def test_analog_display_uses_one_noisy_channel() -> None:
    task = Readout(modes=8, analog=True)
    display = symbols(task, 3, latents_of(8, theta=np.arange(8)))[:, SLICES["display"]]
    np.testing.assert_allclose(display[:, 0], np.linspace(-1, 1, 8))
    assert (display[:, 1:] == 0).all()
    first = SLICES["display"].start
    assert draw_noise(task, np.random.default_rng(0))[:, first].std() == pytest.approx(NOISE, rel=0.5)
    assert (draw_noise(Readout(modes=8), np.random.default_rng(0))[:, first] == 0).all()


def test_phase_and_distractor() -> None:
    task = TwoCues()
    for t, step in enumerate(task.steps):
        seen = symbols(task, t, latents_of(4, distractor=np.arange(4)))
        assert PHASES[int(seen[0, SLICES["phase"]].argmax())] == step.phase
        assert seen[:, SLICES["phase"]].sum() == 4
        expected = np.linspace(-1, 1, 4) if step.phase == "gap2" else np.zeros(4)
        np.testing.assert_allclose(seen[:, SLICES["distractor"]][:, 0], expected)


def test_leak_moves_only_the_in_hand_height_in_the_second_gap() -> None:
    clean, leaky = TwoCues(), TwoCues(leak=4.0)
    latents = latents_of(4, theta=np.arange(4))
    for t in range(clean.horizon):
        shift = symbols(leaky, t, latents) - symbols(clean, t, latents)
        height = SLICES["object position"].stop - 1
        slot = clean.choices(latents)["slot"]
        expected = np.where(slot == 1, 0.004, -0.004) if t in clean.windows["gap2"] else np.zeros(4)
        np.testing.assert_allclose(shift[:, height], expected)
        assert (np.delete(shift, height, axis=1) == 0).all()


def test_leak_of_four_classes_is_graded() -> None:
    task = TwoCues(classes=4, leak=6.0)
    theta = 4 * np.arange(4)
    shift = symbols(task, task.windows["gap2"][0], latents_of(4, theta=theta))[:, SLICES["object position"].stop - 1]
    np.testing.assert_allclose(shift, [-0.006, -0.002, 0.002, 0.006])


def test_noise_is_two_millimetres_on_lengths_and_nothing_on_symbols() -> None:
    task = TwoCues(gap=200)
    noise = draw_noise(task, np.random.default_rng(1))
    for name in ("tool position", "object position", "gripper"):
        assert noise[:, SLICES[name]].std() == pytest.approx(0.002, rel=0.15)
    for name in ("display", "phase"):
        assert (noise[:, SLICES[name]] == 0).all()
    assert (draw_noise(replace(task, no_noise=True), np.random.default_rng(1)) == 0).all()


def test_sensed_object_is_relative_to_the_tool() -> None:
    tool, position = np.array([[0.4, 0.1, 0.3]]), np.array([[0.5, 0.1, 0.02]])
    seen = sense(tool, np.full((1, 3), 0.7), np.array([0.078]), position, np.array([0.2]))
    np.testing.assert_allclose(seen[0, :11], [0.4, 0.1, 0.3, 0.7, 0.7, 0.7, 0.078, 0.1, 0, -0.28, 0.2])
    assert (seen[0, 11:] == 0).all()
    fallen = sense(tool, np.zeros((1, 3)), np.zeros(1), np.array([[0.5, 0.1, -400.0]]), np.zeros(1))
    np.testing.assert_allclose(fallen[0, SLICES["object position"]], [0.1, 0.0, -1.0])


def test_hidden_mass_displays_mass_then_slot() -> None:
    task = make_task("hidden-mass", modes=8)
    latents = {"mass": np.array([5]), "slot": np.array([2]), "hover": np.array([0]), "distractor": np.array([0])}
    shown = {int(task.displayed(t, latents)[0]) for t in task.phase_steps("scan")}
    late = [t for t in task.windows["gap2"] if task.displayed(t, latents)[0] >= 0]
    assert shown == {5}
    assert {int(task.displayed(t, latents)[0]) for t in late} == {2}
