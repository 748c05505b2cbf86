"""Whatever OpenGL is asked for, MuJoCo imports."""

import os
import subprocess
import sys

import pytest

from diacritic.tasks.franka import mj


def chosen(monkeypatch: pytest.MonkeyPatch, libraries: set[str], **environment: str) -> str | None:
    monkeypatch.setattr(mj, "find_library", lambda name: name if name in libraries else None)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("MUJOCO_GL", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    mj._choose_opengl()
    return os.environ.get("MUJOCO_GL")


@pytest.mark.parametrize(
    ("libraries", "environment", "expected"),
    [
        ({"EGL", "OSMesa"}, {}, "egl"),
        ({"OSMesa"}, {}, "osmesa"),
        (set(), {}, "disable"),
        (set(), {"MUJOCO_GL": "egl"}, "disable"),
        ({"EGL"}, {"MUJOCO_GL": "osmesa"}, "disable"),
        ({"EGL"}, {"MUJOCO_GL": "glfw"}, "glfw"),
        ({"EGL"}, {"DISPLAY": ":0"}, None),
    ],
)
def test_choice(monkeypatch: pytest.MonkeyPatch, libraries: set[str], environment: dict, expected: str | None) -> None:
    assert chosen(monkeypatch, libraries, **environment) == expected


def test_states_need_no_opengl_and_frames_say_so() -> None:
    script = (
        "from diacritic.tasks.franka.env import FrankaEnv\n"
        "env = FrankaEnv(render_mode='rgb_array'); print(env.reset(seed=0)[0].shape)\n"
        "try:\n    env.render()\nexcept RuntimeError as error:\n    print(error)"
    )
    environment = os.environ | {"MUJOCO_GL": "disable", "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    shape, message = done.stdout.splitlines()
    assert shape == "(27,)"
    assert "libegl1" in message
    assert "libosmesa6" in message


def test_missing_package_names_the_extra() -> None:
    script = (
        "import sys; sys.modules['mujoco'] = None\n"
        "import diacritic.tasks\n"
        "try:\n    import diacritic.tasks.franka.env\nexcept ValueError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "needs mujoco; install the extra 'robot'", done.stderr
