"""The scene for people: the same bodies in daylight, with numbered slots, soft shadows and a panel that shows the cue.

It has its own model, so that nothing of it reaches the frames that a policy sees.
"""

import weakref
from functools import cache
from typing import Any

import numpy as np

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.mj import mj
from diacritic.tasks.franka.pixels import STATE, renderer

BLUE, ORANGE = (0.34, 0.71, 0.91, 1.0), (0.84, 0.37, 0.0, 1.0)  # slots in turn, as codes that stand for them are drawn
_TABLE, _CUBE, _OTHER, _INK = (
    (0.93, 0.92, 0.89, 1.0),
    (0.35, 0.10, 0.22, 1.0),
    (0.62, 0.64, 0.66, 1.0),
    "0.1 0.1 0.12 1",
)
_LIT, _DARK = (1.0, 0.80, 0.25, 1.0), (0.23, 0.25, 0.28, 1.0)
_PAD, _THIN = 0.052, 0.0008  # metres
_SEGMENTS = {
    "a": (0, 1),
    "b": (0.5, 0.5),
    "c": (0.5, -0.5),
    "d": (0, -1),
    "e": (-0.5, -0.5),
    "f": (-0.5, 0.5),
    "g": (0, 0),
}
_DIGITS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")


class FilmCamera:
    """One renderer of one task's scene, with the lights on."""

    def __init__(self, physical: bool, slots: int, height: int, width: int) -> None:
        self._model = _model(physical, slots)
        self._data = mj.MjData(self._model)
        self._lamps = {name: self._model.geom(f"lamp {name}").id for name in _SEGMENTS}
        self._renderer = renderer(self._model, height, width)
        self.size = height, width
        self.close = weakref.finalize(self, self._renderer.close)

    def frame(self, state: np.ndarray, shown: int) -> np.ndarray:
        """The picture of one state; the panel shows a digit, or nothing below 0."""
        lit = _DIGITS[shown % 10] if shown >= 0 else ""
        for name, lamp in self._lamps.items():
            self._model.geom_rgba[lamp] = _LIT if name in lit else _DARK
        mj.mj_setState(self._model, self._data, state, STATE)
        mj.mj_kinematics(self._model, self._data)
        mj.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data, "film")
        return self._renderer.render()


def _model(physical: bool, slots: int) -> Any:
    """A model of its own, which may be written to."""
    model = mj.MjModel.from_xml_string(_document(physical, slots))
    model.vis.global_.offwidth, model.vis.global_.offheight = 1280, 720
    model.vis.quality.shadowsize, model.vis.quality.offsamples = 2048, 4
    model.vis.headlight.ambient[:], model.vis.headlight.diffuse[:] = 0.38, 0.25
    for name, colour in (("table", _TABLE), ("object", _CUBE)):
        model.geom(name).rgba[:] = colour
    model.geom_rgba[model.body("distractor").geomadr[0]] = _OTHER
    return model


@cache
def _document(physical: bool, slots: int) -> str:
    more = _light() + _panel() + "".join(_slot(k, x, y) for k, (x, y) in enumerate(scene.SLOTS[:slots]))
    return (
        scene.document(physical, pads=0)
        .replace("</worldbody>", f"{more}</worldbody>")
        .replace('rgb1="0.80 0.84 0.88" rgb2="0.80 0.84 0.88"', 'rgb1="0.90 0.92 0.95" rgb2="0.90 0.92 0.95"')
    )


def _light() -> str:
    """A camera on the arm, and three lamps close together, whose shadows overlap at the edges."""
    lamps = "".join(
        f'<light pos="{x} {y} 2.2" dir="{0.45 - x} {-y} -2.2" directional="false" castshadow="true" cutoff="70" '
        'diffuse="0.2 0.2 0.2" specular="0.05 0.05 0.05"/>'
        for x, y in ((1.00, -0.66), (0.95, -0.60), (0.90, -0.54))
    )
    return f'{lamps}<camera name="film" pos="1.76 0 1.03" fovy="41" xyaxes="0 1 0 -0.5 0 0.866"/>'


def _slot(number: int, x: float, y: float) -> str:
    colour = " ".join(map(str, ORANGE if number % 2 else BLUE))
    pad = f'<geom type="cylinder" pos="{x:.5f} {y:.5f} {_THIN}" size="{_PAD} {_THIN}" rgba="{colour}"/>'
    # beside the pad, where the cube does not cover it; read from +x
    digit = _digit(_DIGITS[number], 0.022, 0.0055, f'rgba="{_INK}"')
    away = 0.095 if y > 0 else -0.095
    return f'{pad}<body pos="{x:.5f} {y + away:.5f} {_THIN}" xyaxes="0 1 0 -1 0 0">{digit}</body>'


def _panel() -> str:
    """Upright behind the table, turned to the camera."""
    lamps = "".join(_digit(name, 0.06, 0.012, f'name="lamp {name}"') for name in _SEGMENTS)
    return f"""<body pos="-0.10 0.46 0.30" xyaxes="0 1 0 0 0 1">
      <geom type="box" size="0.11 0.16 0.012" pos="0 0 -0.014" rgba="0.10 0.11 0.13 1"/>{lamps}
      <geom type="box" size="0.012 0.16 0.008" pos="0 -0.3 -0.016" rgba="0.4 0.42 0.45 1"/></body>"""


def _digit(lit: str, half: float, thick: float, look: str) -> str:
    """Segments of a digit in the plane of a body, `half` as wide as an upright stroke is long."""
    parts = []
    for name in lit:
        x, y = _SEGMENTS[name]
        flat = x == 0
        size = (half - thick, thick) if flat else (thick, half - thick)
        parts.append(
            f'<geom type="box" pos="{2 * half * x:.4f} {2 * half * y:.4f} 0" '
            f'size="{size[0]:.4f} {size[1]:.4f} {_THIN}" {look}/>'
        )
    return "".join(parts)
