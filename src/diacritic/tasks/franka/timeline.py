"""An episode as a list of steps: its phase, where the expert goes, what the gripper does and what is displayed.

Steps with the same target and gripper form a segment, whatever their phases: the arm moves along it in equal parts, so
it is under way while cues are shown and while it waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

SECONDS = 0.1  # one decision
PHASES = ("home", "to_scan", "scan", "gap1", "grasp", "gap2", "place", "done")
# (target, gripper closed) → the class on which an action depends that leads there
_DECIDED = {("side", False): "side", ("over", False): "side", ("above", True): "slot", ("low", True): "slot"}


@dataclass(frozen=True)
class Step:
    """One decision: the observation that precedes the action, and where the expert's action leads."""

    phase: str
    target: str
    """The name of the point at which the segment ends."""
    closing: bool = False
    """Whether the action closes the gripper."""
    probe: str | None = None
    """The hidden variable on the display while this observation is taken."""
    bit: int | None = None
    """Which bit of it is displayed; none: the whole number."""

    @property
    def decides(self) -> str | None:
        """The class on which the action depends."""
        return _DECIDED.get((self.target, self.closing))


def segments(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """Of each step: its number in its segment, from 1, and the length of the segment."""
    runs = [len(list(run)) for _, run in groupby(steps, key=lambda step: (step.target, step.closing))]
    return [(k, length) for length in runs for k in range(1, length + 1)]


def approach() -> list[Step]:
    """To the home point and on to the scan pose above the object."""
    return [Step("home", "home"), *[Step("to_scan", "hover")] * 3]


def serial(phase: str, target: str, probe: str, bits: int, closing: bool = False) -> list[Step]:
    """One bit of a number at each step, the lowest first."""
    return [Step(phase, target, closing, probe, bit) for bit in range(bits)]


def grasp() -> list[Step]:
    """Ten steps: out to the side that the class demands, over the object, down, close, and up again."""
    moves = [("side", False), ("over", False), ("down", False), ("down", True), ("hover", True)]
    return [Step("grasp", target, closing) for target, closing in moves for _ in range(2)]


def place() -> list[Step]:
    """Nine steps: to the slot that the class demands, down, open, up again, and the end."""
    moves = [*[("above", True)] * 3, *[("low", True)] * 2, ("low", False), *[("up", False)] * 2]
    return [*(Step("place", target, closing) for target, closing in moves), Step("done", "up")]


def weigh(hold: int) -> list[Step]:
    """Grip, lift, hold, put back, release and rise: the arm feels what nothing displays."""
    moves = [("down", False), ("down", True), ("hover", True), ("back", True), ("back", False), ("hover", False)]
    steps = dict.fromkeys(moves, 2) | {("hover", True): 2 + hold}
    return [Step("scan", target, closing) for (target, closing), count in steps.items() for _ in range(count)]
