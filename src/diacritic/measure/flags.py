"""The audit's flags: a policy decides correctly, yet its memory looks too small. What this says, and what not.

Flag A was fixed before any run was audited; B and B′ were found afterwards and are exploratory.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from certify.errors import UserError

CORRECT = 0.05  # class error at the first place step, below which a policy counts as correct
LOW_RATE = 0.9  # bits in the second gap, where one bit is required

Name = Literal["A", "B", "B′"]
NAMES: tuple[Name, ...] = ("A", "B", "B′")
RULES: dict[Name, str] = {
    "A": "correct at the first place step with a second-gap rate below 0.9 bit (fixed in advance)",
    "B": "correct at the first place step while the full gate fails (exploratory)",
    "B′": "correct at the first place step while the second gap's memory fails (exploratory)",
}
CAVEATS = (
    "A flag is an alarm, not a proof of a leak: correct allows 5 % of errors, and a uniform binary class with a "
    "symmetric 4 % error has H(G|C) = 0.242 bit and S_G = 0.758, which fails the gate without any leak.",
    "Without a flag nothing is proved: a code may keep other content at a high rate (A stays silent), or copy a "
    "visible leak into itself (B′ stays silent); the flags do not grow with the leak.",
    "Only a probe of the raw observations tests whether they reveal a class that the symbol does not credit.",
)


@dataclass(frozen=True)
class Evidence:
    """What is known of one run, all on held-out episodes."""

    class_error: float  # share of wrong classes at the first place step
    second_gap_rate: float  # mean Ĥ(C_t|Ō_t), bits
    full_gate: bool
    second_gap: bool  # S_Γ > 0.9 wherever the second gap requires memory

    def __post_init__(self) -> None:
        if not 0 <= self.class_error <= 1:
            raise UserError("class_error", f"{self.class_error} is not a share of episodes")

    @property
    def flags(self) -> tuple[Name, ...]:
        """The flags that are raised; an incorrect run raises none."""
        raised = {"A": self.second_gap_rate < LOW_RATE, "B": not self.full_gate, "B′": not self.second_gap}
        return tuple(name for name in NAMES if self.class_error < CORRECT and raised[name])


def class_error(actions: ArrayLike, expert: ArrayLike, label: ArrayLike) -> float:
    """Share of episodes whose action [N, A] at a decision lies nearest to the expert's mean of another class."""
    done, shown, classes = np.asarray(actions, np.float64), np.asarray(expert, np.float64), np.asarray(label)
    if done.shape != shown.shape or done.ndim != 2 or classes.shape != done.shape[:1]:
        raise UserError("actions", f"shape {done.shape} beside {shown.shape} of the expert and {classes.shape} labels")
    kinds = np.unique(classes)
    means = np.stack([shown[classes == value].mean(0) for value in kinds])
    nearest = np.square(done[:, None] - means).sum(-1).argmin(1)
    return float((kinds[nearest] != classes).mean())
