"""The layout, the display, the noise and the injected leak."""

from dataclasses import replace

import numpy as np
import pytest

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.layout import LAYOUT, SLICES, WIDE, WIDTH, executable
from diacritic.tasks.franka.observation import draw_noise, sense, symbols
from diacritic.tasks.franka.quaternions import FLIPPED, UPRIGHT
from diacritic.tasks.franka.tasks import Readout, TwoCues, make_task
from diacritic.tasks.franka.timeline import PHASES

HEIGHT = SLICES["object position"].stop - 1


def latents_of(n: int, **given: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.zeros(n, int) for name in ("theta", "hover", "distractor")} | given


def test_layout_is_the_released_one() -> None:
    starts = {field.name: SLICES[field.name].start for field in LAYOUT}
    assert list(starts.values()) == [0, 3, 7, 8, 11, 15, 17, 19, 27]
    assert (WIDTH, WIDE, HEIGHT) == (27, 36, 10)
    assert len(make_task("two-cues").channels) == 27
    assert len(make_task("readout-2").channels) == 36
    assert len(make_task("two-cues").camera_channels) == 11


@pytest.mark.parametrize("modes", [8, 32, 512])
def test_parallel_display_names_every_mode(modes: int) -> None:
    task, theta = Readout(modes=modes), np.arange(modes)
    seen = symbols(task, 4, latents_of(modes, theta=theta))
    display = seen[:, SLICES["display"]]
    np.testing.assert_array_equal(display @ (1 << np.arange(9)), theta)
    assert set(np.unique(display)) == {0.0, 1.0}
    np.testing.assert_array_equal(seen[:, SLICES["probe"]], [[1, 0]] * modes)


def test_serial_display_is_lit_in_the_scan_alone() -> None:
    task = TwoCues()
    for t in range(task.horizon + 1):
        seen = symbols(task, t, latents_of(4, theta=np.arange(4)))[:, SLICES["probe"]]
        bits = {4: [0, 1, 0, 1], 5: [0, 0, 1, 1]}.get(t, [0] * 4)
        np.testing.assert_array_equal(seen, np.column_stack([np.full(4, float(t in (4, 5))), bits]))


def test_analog_display_is_one_value() -> None:
    seen = symbols(Readout(modes=8, analog=True), 4, latents_of(8, theta=np.arange(8)))
    np.testing.assert_allclose(seen[:, SLICES["probe"].start + 1], np.linspace(0, 1, 8))
    assert (seen[:, SLICES["display"]] == 0).all()


def test_phase() -> None:
    task = TwoCues()
    for t, step in enumerate(task.steps):
        seen = symbols(task, t, latents_of(2))
        assert PHASES[int(seen[0, SLICES["phase"]].argmax())] == step.phase
        assert seen[:, SLICES["phase"]].sum() == 2


def test_leak_moves_only_the_in_hand_height_in_the_second_gap() -> None:
    clean, leaky = TwoCues(), TwoCues(leak=4.0)
    latents = latents_of(4, theta=np.arange(4))
    for t in range(clean.horizon):
        shift = symbols(leaky, t, latents) - symbols(clean, t, latents)
        slot = clean.choices(latents)["slot"]
        expected = np.where(slot == 1, 0.004, -0.004) if t in clean.windows["gap2"] else np.zeros(4)
        np.testing.assert_allclose(shift[:, HEIGHT], expected)
        assert (np.delete(shift, HEIGHT, axis=1) == 0).all()


def test_noise_is_that_of_the_table_and_nothing_on_symbols() -> None:
    task = TwoCues(gap=400)
    noise = draw_noise(task, np.random.default_rng(1))
    for field in LAYOUT[:-1]:
        assert noise[:, SLICES[field.name]].std() == pytest.approx(field.noise, rel=0.15)
    assert (draw_noise(replace(task, no_noise=True), np.random.default_rng(1)) == 0).all()


def test_the_object_is_sensed_in_the_frame_of_the_tool() -> None:
    tool = np.array([[0.4, 0.1, 0.3]]), FLIPPED[None]
    thing = np.array([[0.5, 0.13, 0.02]]), UPRIGHT[None]
    latents = latents_of(1, distractor=np.array([2]))
    seen = sense(TwoCues(), latents, tool, np.array([0.078]), thing)[0]
    np.testing.assert_allclose(seen[:8], [0.4, 0.1, 0.3, 0, 1, 0, 0, 0.078])
    np.testing.assert_allclose(seen[8:17], [0.1, -0.03, 0.28, 0, 1, 0, 0, *scene.DISTRACTORS[2]], atol=1e-12)
    assert (seen[17:] == 0).all()
    fallen = sense(TwoCues(), latents, tool, np.zeros(1), (np.array([[0.5, 0.1, -400.0]]), UPRIGHT[None]))
    np.testing.assert_allclose(fallen[0, SLICES["object position"]], [0.1, 0.0, 1.0], atol=1e-12)


def test_executable_actions_are_finite_with_a_gripper_of_zero_or_one() -> None:
    wanted = np.array([[0.1, -3.0, np.nan, 0.4], [0.0, 0.2, 0.0, 0.6], [0.0, 0.0, np.inf, np.nan]])
    np.testing.assert_allclose(executable(wanted), [[0.1, -1, 0, 0], [0, 0.2, 0, 1], [0, 0, 1, 0]])
