"""Who may know what, when: an episode as a list of steps, each with its phase, the expert's move and what is shown.

A move leads to a point on the straight segment between two anchors. Which hidden class an action depends on, and which
class the pose shows, follows from the share of each anchor in the two points that the action joins.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

MACRO_SECONDS = 0.5  # one decision
PHASES = ("approach", "scan", "gap1", "grasp", "gap2", "place")
# the anchors whose position is a hidden choice, and the class that chooses
CHOICES = {"side": "side", "above": "slot", "down": "slot"}
_SEEN = {"side": 0.5, "slot": 1 / 3}  # shares at which neighbouring classes lie more than 5 cm apart


@dataclass(frozen=True)
class Step:
    """One macro step: the observation that precedes the action, and the action of the expert."""

    phase: str
    start: str
    """Anchor where the segment begins."""
    end: str
    """Anchor where it ends."""
    share: float
    """How far along the segment the action leads, 0 to 1."""
    closing: bool = False
    """Whether the action closes the gripper."""
    probe: str | None = None
    """The hidden variable on the display while this observation is taken."""
    shows: tuple[str, ...] = ()
    """Classes that pose or load show in this observation, by design."""
    decides: str | None = None
    """The class on which the action depends."""

    def weight(self, choice: str) -> float:
        """Share of the anchors of one class in the point that the action leads to."""
        parts = ((self.start, 1 - self.share), (self.end, self.share))
        return sum(part for anchor, part in parts if CHOICES.get(anchor) == choice)


def along(phase: str, start: str, end: str, count: int, closing: bool = False) -> list[Step]:
    """`count` equal moves from one anchor to another."""
    return [Step(phase, start, end, k / count, closing) for k in range(1, count + 1)]


def wait(phase: str, anchor: str, count: int, closing: bool = False) -> list[Step]:
    """`count` steps at an anchor; with another `closing` than before, the gripper moves."""
    return [Step(phase, anchor, anchor, 1.0, closing)] * count


def approach() -> list[Step]:
    """Three steps from the home pose to the hover."""
    return along("approach", "home", "hover", 3)


def grasp() -> list[Step]:
    """Ten steps: out to the side that the class demands, over the object, down, close, and up again."""
    return [
        *along("grasp", "hover", "side", 2),
        *along("grasp", "side", "over", 2),
        *along("grasp", "over", "grip", 2),
        *wait("grasp", "grip", 1, closing=True),
        *along("grasp", "grip", "carry", 3, closing=True),
    ]


def place() -> list[Step]:
    """Nine steps: to the slot that the class demands, down, open, and up again."""
    return [
        *along("place", "carry", "above", 3, closing=True),
        *along("place", "above", "down", 2, closing=True),
        *wait("place", "down", 1),
        *along("place", "down", "above", 3),
    ]


def weigh(hold: int) -> list[Step]:
    """Grip, lift, hold, put back, release and retreat: the arm feels what nothing displays."""
    return [
        *along("scan", "hover", "over", 1),
        *along("scan", "over", "grip", 2),
        *wait("scan", "grip", 1, closing=True),
        *along("scan", "grip", "carry", 2, closing=True),
        *wait("scan", "carry", hold, closing=True),
        *along("scan", "carry", "grip", 2, closing=True),
        *wait("scan", "grip", 1),
        *along("scan", "grip", "hover", 2),
    ]


def annotate(steps: list[Step], load_shows: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """Fill in what each action depends on and what each observation shows; `load_shows`: classes seen as sag."""
    return tuple(_annotated(steps, load_shows))


def _annotated(steps: list[Step], load_shows: tuple[str, ...]) -> Iterator[Step]:
    before = Step(steps[0].phase, "home", "home", 1.0)
    for step in steps:
        decided = [choice for choice in _SEEN if abs(step.weight(choice) - before.weight(choice)) > 1e-9]
        shown = [choice for choice, least in _SEEN.items() if before.weight(choice) > least - 1e-9]
        lifted = before.closing and "carry" in (before.start, before.end) and _off_ground(before)
        aloft = lifted or (before.closing and (before.start, before.end) == ("above", "down") and before.share < 1)
        yield replace(step, decides=decided[0] if decided else None, shows=(*shown, *(load_shows if aloft else ())))
        before = step


def _off_ground(step: Step) -> bool:
    return not (step.end == "grip" and step.share == 1)
