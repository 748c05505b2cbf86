"""A short history: which recent frames and actions help where no older frame is needed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from diacritic.need.aligned import HALF_LIVES, RECENT
from diacritic.need.decisions import LEVEL, Decision
from diacritic.need.screen import Open

HELPS = 0.1  # nats by which recent frames must help
NEARLY = 0.9  # of what all of the recent past gives, that one part of it must give to be enough
PARTS = {
    "velocity": f"{RECENT + 1} frames",
    "actions": f"the last {RECENT} actions",
    "filter": f"averages of frames (half-life of at most {max(HALF_LIVES)})",
}


@dataclass(frozen=True)
class Short:
    """Parts of the recent past that help, at how many steps, and by how many nats at most."""

    parts: tuple[str, ...]
    steps: int
    gain: float

    @property
    def stack(self) -> int:
        """Contiguous frames with the present one."""
        return RECENT + 1 if "velocity" in self.parts else 1

    def __str__(self) -> str:
        *first, last = [PARTS[name] for name in self.parts]
        return f"{', '.join(first)} and {last}" if first else last


def helped_steps(steps: Sequence[Open]) -> tuple[Open, ...]:
    """Steps at which recent frames or actions help."""
    return tuple(step for step in steps if step.p < LEVEL and step.gains.recent > HELPS)


def short_history(helped: Sequence[Open], decisions: Sequence[Decision]) -> Short | None:
    """The parts that suffice at helped steps and for decisions that recent frames tell; None where nothing helps."""
    gains = [{name: getattr(step.gains, name) / step.gains.recent for name in PARTS} for step in helped]
    often = Counter(name for each in gains for name in PARTS if each[name] >= NEARLY)
    used: set[str] = set()
    for each in gains:
        enough = sorted((name for name in PARTS if each[name] >= NEARLY), key=lambda name: -often[name])
        used |= set(enough[:1] or sorted(PARTS, key=lambda name, each=each: -each[name])[:2])
    told = {step for decision in decisions if decision.kind == "short" for step in decision.steps}
    used |= {"velocity", "actions"} if told else set()
    if not used:
        return None
    gain = max((step.gains.recent for step in helped), default=0.0)
    return Short(tuple(name for name in PARTS if name in used), len(told | {step.step for step in helped}), gain)
