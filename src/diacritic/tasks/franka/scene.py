"""The scene as MJCF: a Panda of primitive shapes on published kinematics, a table, slots, and one object.

Lengths are metres, masses kilograms, angles radians. The arm compensates its own weight, as the real one does, and its
position servos are soft: what it carries, and only that, makes it sag.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from diacritic.tasks.franka.mj import mj

TIMESTEP = 0.005
OBJECT_HALF = 0.025  # half an edge of the cubes, which rest with their centre at this height
TABLE_CENTRE, TABLE_HALF = (0.45, 0.0, -0.02), (0.40, 0.75, 0.02)
SPAWN = (0.55, 0.0)  # where the object stands before jitter
SLOTS = np.array([(0.40, 0.32), (0.40, -0.32), (0.65, 0.32), (0.65, -0.32)])
SLOTS = np.concatenate([SLOTS, SLOTS * (1, 0.11 / 0.32)])  # a task uses the first 2, 4 or 8
_PADS = 4  # so many are drawn
DISTRACTORS = np.array([(0.30, 0.20), (0.30, -0.20), (0.72, 0.10), (0.72, -0.10)])
_INERTIA = 0.1  # share of the links' published masses that the servos feel: the controller compensates the rest
FINGER_OPEN = 0.04  # commanded displacement of each finger
FINGER_CLOSED = {False: 0.0265, True: 0.0}  # just short of an attached object, or closed on a free one
HOME = (0.0, -0.30, 0.0, -2.20, 0.0, 1.90, 0.785398163)


class Joint(NamedTuple):
    """One revolute joint of the arm with the link that it moves."""

    offset: tuple[float, float, float]  # of this frame in the previous one: a and d of the Denavit–Hartenberg table
    twist: float  # about x, in quarter turns
    low: float
    high: float
    torque: float
    mass: float
    stiffness: float
    damping: float
    shape: str  # MJCF geom of the link


def _capsule(radius: float, *ends: float) -> str:
    return f'type="capsule" size="{radius}" fromto="{" ".join(map(str, ends))}"'


PANDA = (
    Joint((0, 0, 0.333), 0, -2.8973, 2.8973, 87, 4.970684, 800, 36, _capsule(0.07, 0, 0, -0.19, 0, 0, 0)),
    Joint((0, 0, 0), -1, -1.7628, 1.7628, 87, 0.646926, 300, 28, _capsule(0.065, 0, -0.12, 0, 0, 0, 0)),
    Joint((0, -0.316, 0), 1, -2.8973, 2.8973, 87, 3.228604, 600, 26, _capsule(0.06, 0, 0, -0.14, 0.06, 0, 0)),
    Joint((0.0825, 0, 0), 1, -3.0718, -0.0698, 87, 3.587895, 340, 19, _capsule(0.06, 0, 0, 0, -0.08, 0.1, 0)),
    Joint((-0.0825, 0.384, 0), -1, -2.8973, 2.8973, 12, 1.225946, 400, 11, _capsule(0.05, 0, 0, -0.24, 0, 0.02, 0)),
    Joint((0, 0, 0), 1, -0.0175, 3.7525, 12, 1.666555, 400, 9, _capsule(0.05, 0, 0, 0, 0.08, 0, 0)),
    Joint((0.088, 0, 0), 1, -2.8973, 2.8973, 12, 0.735522, 400, 8, _capsule(0.04, 0, 0, 0, 0, 0, 0.08)),
)
LOW, HIGH = np.array([joint.low for joint in PANDA]), np.array([joint.high for joint in PANDA])
FLANGE, TOOL = 0.107, 0.1034  # from the last joint to the flange, and on to the point between the finger tips
HAND_MASS, FINGER_MASS = 0.73, 0.015


@lru_cache
def model(physical: bool) -> Any:
    """The compiled scene; shared, so never written to. `physical`: a free object with contacts, else a posed one."""
    return mj.MjModel.from_xml_string(document(physical))


def document(physical: bool, pads: int = _PADS) -> str:
    """The scene as text, with so many slots drawn."""
    flags = "" if physical else '<flag contact="disable"/>'
    return f"""<mujoco model="panda">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{TIMESTEP}" integrator="implicitfast" cone="elliptic" impratio="50" iterations="30">
    {flags}</option>
  <visual><global offwidth="640" offheight="480"/><quality shadowsize="0" offsamples="0"/>
    <headlight ambient="0.45 0.45 0.45" diffuse="0.5 0.5 0.5" specular="0 0 0"/></visual>
  <asset><texture type="skybox" builtin="flat" rgb1="0.80 0.84 0.88" rgb2="0.80 0.84 0.88"
    width="4" height="24"/></asset>
  <default><geom contype="0" conaffinity="0" density="0" rgba="0.85 0.86 0.88 1"/></default>
  <worldbody>
    <camera name="table" pos="1.55 1.25 0.95" fovy="47" xyaxes="-0.7657 0.6432 0 -0.3025 -0.3601 0.8825"/>
    <geom name="table" type="box" pos="{_text(TABLE_CENTRE)}" size="{_text(TABLE_HALF)}" rgba="0.55 0.42 0.30 1"
          contype="1" conaffinity="1" friction="0.9 0.01 0.001"/>
    {_slots(pads)}{_object(physical)}{_distractor()}
    <geom {_capsule(0.07, 0, 0, 0.03, 0, 0, 0.12)}/>
    {_arm()}
  </worldbody>
  <actuator>{_servos()}
    <position joint="finger1" kp="2500" kv="100" ctrlrange="0 0.045" forcerange="-70 70"/>
    <position joint="finger2" kp="2500" kv="100" ctrlrange="0 0.045" forcerange="-70 70"/>
  </actuator>
  <sensor><framepos objtype="site" objname="tool"/><framequat objtype="site" objname="tool"/></sensor>
</mujoco>"""


def _text(values: tuple[float, ...]) -> str:
    return " ".join(map(str, values))


def _slots(pads: int) -> str:
    return "".join(
        f'<geom type="cylinder" pos="{x:.5f} {y:.5f} 0.0005" size="0.035 0.0005" rgba="0.25 0.55 0.35 1"/>'
        for x, y in SLOTS[:pads]
    )


def _object(physical: bool) -> str:
    free, mocap = ('<freejoint name="object"/>', "") if physical else ("", 'mocap="true"')
    return f"""<body name="object" pos="{SPAWN[0]} {SPAWN[1]} {OBJECT_HALF}" {mocap}>{free}
      <geom name="object" type="box" size="{_text((OBJECT_HALF,) * 3)}" mass="1" rgba="0.80 0.20 0.15 1" contype="3"
            conaffinity="3" friction="0.9 0.01 0.001"/></body>"""


def _distractor() -> str:
    return f"""<body name="distractor" mocap="true"><geom type="box" size="{_text((OBJECT_HALF,) * 3)}"
      rgba="0.20 0.30 0.75 1"/></body>"""


def _arm() -> str:
    """Bodies nested from the base to the hand; q=0 is the published zero pose."""
    opening, closing = [], []
    for k, joint in enumerate(PANDA, 1):
        half = 0.25 * np.pi * joint.twist
        opening.append(
            f'<body name="link{k}" pos="{_text(joint.offset)}" quat="{np.cos(half):.9f} {np.sin(half):.9f} 0 0" '
            f'gravcomp="1"><joint name="joint{k}" axis="0 0 1" range="{joint.low} {joint.high}" armature="0.05"/>'
            f'<geom {joint.shape} mass="{_INERTIA * joint.mass:.6f}"/>'
        )
        closing.append("</body>")
    return "".join(opening) + _hand() + "".join(closing)


def _hand() -> str:
    half = -np.pi / 8
    finger = """<body name="finger{k}" pos="0 0 0.0584" quat="{quat}" gravcomp="1">
        <joint name="finger{k}" type="slide" axis="0 1 0" range="0 0.045" armature="1"/>
        <geom type="box" pos="0 0.0105 0.0285" size="0.01 0.0075 0.0285" mass="{mass}" rgba="0.25 0.25 0.28 1"/>
        {pads}</body>"""
    # two points on each finger hold the object in every direction, and are cheaper than faces
    pads = "".join(
        f'<geom type="sphere" pos="{x} 0.006 0.045" size="0.006" rgba="0.25 0.25 0.28 1" contype="2" conaffinity="2" '
        'condim="3" friction="1.5 0.05 0.001" priority="1" solimp="0.99 0.999 0.001" solref="0.01 1"/>'
        for x in (-0.008, 0.008)
    )
    turns = {1: "1 0 0 0", 2: "0 0 0 1"}
    fingers = "".join(finger.format(k=k, quat=quat, mass=FINGER_MASS, pads=pads) for k, quat in turns.items())
    return f"""<body name="hand" pos="0 0 {FLANGE}" quat="{np.cos(half):.9f} 0 0 {np.sin(half):.9f}" gravcomp="1">
      <geom type="box" pos="0 0 0.03" size="0.03 0.1 0.03" mass="{_INERTIA * HAND_MASS:.6f}"/>
      <site name="tool" pos="0 0 {TOOL}" size="0.005" rgba="0 0 0 0"/>{fingers}</body>"""


def _servos() -> str:
    return "".join(
        f'<position joint="joint{k}" kp="{j.stiffness}" kv="{j.damping}" ctrlrange="{j.low} {j.high}" '
        f'forcerange="{-j.torque} {j.torque}"/>'
        for k, j in enumerate(PANDA, 1)
    )
