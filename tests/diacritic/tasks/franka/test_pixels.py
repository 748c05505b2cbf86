"""The crop against a literal twin, the channels, the message without OpenGL, and (with OpenGL) the frames."""

import numpy as np
import pytest
from franka_episodes import expert_episodes

from diacritic.tasks.franka import pixels, scene
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.pixels import Camera, Cameras, states, table_crop
from diacritic.tasks.franka.tasks import TwoCues
from diacritic.tasks.protocol import policy_view


def test_crop_is_the_mean_over_overlapping_pixels() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (128, 128, 3), dtype=np.uint8)
    small = table_crop(frame)
    assert small.shape == (64, 64, 3)
    table = frame[40:112, 16:112].astype(float)
    for i, j in [(0, 0), (0, 1), (31, 40), (63, 63)]:
        total = np.zeros(3)
        for a in range(72):
            for b in range(96):
                rows = max(0.0, min(a + 1, 1.125 * i + 1.125) - max(a, 1.125 * i))
                columns = max(0.0, min(b + 1, 1.5 * j + 1.5) - max(b, 1.5 * j))
                total += rows * columns * table[a, b]
        np.testing.assert_allclose(small[i, j], total / (1.125 * 1.5), atol=0.5001)


def test_crop_is_rounded_as_the_exact_mean_is() -> None:
    """In float64 by the areas; no mean lies half-way between bytes, since 27 parts are an odd number."""
    made = np.random.default_rng(1)
    edges = [np.arange(65) * size / 64 for size in (72, 96)]
    tall, wide = (
        np.maximum(0, np.minimum(edge[1:, None], np.arange(1, size + 1)) - np.maximum(edge[:-1, None], np.arange(size)))
        for edge, size in zip(edges, (72, 96), strict=True)
    )
    for most in (2, 256):
        frame = made.integers(0, most, (128, 128, 3), dtype=np.uint8) * np.uint8(255 // (most - 1))
        mean = np.einsum("ih,hwc,jw->ijc", tall, frame[40:112, 16:112].astype(float), wide) / (1.125 * 1.5)
        np.testing.assert_array_equal(table_crop(frame), np.rint(mean))


def test_the_camera_stands_where_the_release_has_it() -> None:
    model = scene.model(False)
    camera = pixels.mj.mj_name2id(model, int(pixels.mj.mjtObj.mjOBJ_CAMERA), "table")
    data = pixels.mj.MjData(model)
    pixels.mj.mj_kinematics(model, data)
    pixels.mj.mj_camlight(model, data)
    where, turned = np.array([1.55, 1.25, 0.95]), data.cam_xmat[camera].reshape(3, 3)
    np.testing.assert_allclose(data.cam_xpos[camera], where)
    ahead = np.array([0.50, 0.0, 0.08]) - where
    np.testing.assert_allclose(-turned[:, 2], ahead / np.linalg.norm(ahead), atol=1e-4)
    assert turned[2, 0] == pytest.approx(0, abs=1e-4)  # not tilted


def test_channels_hold_gripper_probe_and_phase() -> None:
    seen, frames = np.arange(2 * 27, dtype=np.float32).reshape(2, 27), np.zeros((2, 64, 64, 3), np.uint8)
    assert policy_view(TwoCues(), seen, frames)[0].tolist() == [7, *range(17, 27)]
    assert policy_view(TwoCues(), seen, None) is seen


def test_missing_opengl_names_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ImportError("no EGL")

    monkeypatch.setattr(pixels.mj, "Renderer", broken)
    with pytest.raises(RuntimeError, match=r"libegl1 or libosmesa6") as refused:
        Camera(False)
    assert "\n" not in str(refused.value)
    assert FrankaBatch(TwoCues(), 1).reset().shape == (1, 27)


@pytest.mark.system
def test_frames_are_taken_before_the_step_unless_late() -> None:
    """At the first place step the class is in no frame, and in every late frame."""
    shots = {}
    for late in (False, True):
        task = TwoCues(gap=1, first_gap=1, jitter=0.0, late_frame=late)
        core = FrankaBatch(task, 2)
        shots[late] = expert_episodes(core, {"theta": [0, 2], "hover": 0, "distractor": 0}, pixels=True).frames
        core.close()
    slot = task.decisions["slot"]
    assert shots[False].shape == (task.horizon, 2, 64, 64, 3)
    assert np.array_equal(shots[False][slot, 0], shots[False][slot, 1])
    assert not np.array_equal(shots[True][slot, 0], shots[True][slot, 1])
    assert np.array_equal(shots[True][:-1], shots[False][1:])


@pytest.mark.system
def test_processes_see_the_same() -> None:
    core = FrankaBatch(TwoCues(gap=1, first_gap=1), 3)
    core.reset()
    alone, several = Cameras(core), Cameras(core, processes=2)
    try:
        assert np.array_equal(alone.frames(core), several.frames(core))
    finally:
        several.close()


@pytest.mark.system
def test_object_is_in_the_picture() -> None:
    core = FrankaBatch(TwoCues(jitter=0.0), 1)
    core.reset()
    picture = Camera(False).frame(states(core)[0]).astype(int)
    red = (picture[..., 0] > 120) & (picture[..., 1] < 80) & (picture[..., 2] < 80)
    assert 20 < red.sum() < 600
