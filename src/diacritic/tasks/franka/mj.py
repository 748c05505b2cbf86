"""MuJoCo as one untyped name (its compiled parts ship without stubs), with an OpenGL that exists or none.

MuJoCo looks for OpenGL while it is imported and fails there if a library is missing; tasks on states need none.
"""

import os
import sys
from ctypes.util import find_library
from typing import Any

from certify.optional import import_optional

_LIBRARIES = {"egl": "EGL", "osmesa": "OSMesa"}


def _choose_opengl() -> None:
    wanted = os.environ.get("MUJOCO_GL", "").lower()
    if not sys.platform.startswith("linux") or (not wanted and os.environ.get("DISPLAY")):
        return
    if wanted in ("", *_LIBRARIES):
        candidates = [wanted] if wanted else list(_LIBRARIES)
        os.environ["MUJOCO_GL"] = next((name for name in candidates if find_library(_LIBRARIES[name])), "disable")


_choose_opengl()

mj: Any = import_optional("mujoco", "robot")
Batch: Any = import_optional("mujoco.batch", "robot").Batch
