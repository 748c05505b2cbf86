"""Does a policy use the frames that its data need? It is shown those of another episode, and its action is watched."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from diacritic.measure.audit_task import AuditTask
from diacritic.measure.flags import CORRECT
from diacritic.measure.scripted_policy import ScriptedPolicy
from diacritic.measure.verdict import Control
from diacritic.need.aligned import RECENT
from diacritic.need.answer import Need
from diacritic.need.decisions import Decision
from diacritic.need.ridge import Floats, Ints
from diacritic.need.text import frames_shown, ranges

PAIRS = 48  # of episodes, of each decision
CHANGED = 0.9  # of the pairs, in which exchanged frames must change the decision


@dataclass(frozen=True)
class FrameUse:
    """One decision: the share of pairs of episodes in which frames of the other one change the class of the action."""

    decision: int
    step: int
    frames: tuple[int, ...]
    correct: float  # undisturbed, on the expert's histories
    needed: float  # the frames that show the cue
    recent: float  # the frames just before the step, as far as they are not needed
    others: float  # all other frames of the past

    @property
    def used(self) -> bool:
        return self.correct >= 1 - CORRECT and self.needed >= CHANGED

    def control(self, name: str) -> Control:
        said = f"right in {self.correct:.0%}; frames {ranges(self.frames)} of another episode change {self.needed:.0%}"
        said += f" of the decisions, recent frames {self.recent:.0%}, all others {self.others:.0%}"
        return Control("attribution", f"{name}, D{self.decision}", self.used, said, vars(self))


def frame_uses(scripted: ScriptedPolicy, audit_task: AuditTask, answer: Need, seed: int = 0) -> list[FrameUse]:
    """What the policy makes of the frames that each decision needs; the task is the answer's labelled recording."""
    rng, events = np.random.default_rng(seed), audit_task.episodes.observations
    first = answer.data.episodes - events.shape[1]  # an audit looks at the last episodes
    expert = answer.recording.actions[answer.data.index, answer.data.numbers][:, first:].astype(np.float64)
    return [
        _use(scripted, events, expert[d.steps[0]], d, d.labels[first:], k, rng)
        for k, d in enumerate(answer.remembered, 1)
    ]


def _use(
    scripted: ScriptedPolicy,
    events: Ints,
    expert: Floats,
    decision: Decision,
    labels: Ints,
    number: int,
    rng: np.random.Generator,
) -> FrameUse:
    s = decision.steps[0]
    chosen = rng.permutation(len(labels))[:PAIRS]
    others = np.array([rng.choice(np.flatnonzero(labels != labels[n])) for n in chosen])
    means = np.stack([expert[labels == label].mean(0) for label in np.unique(labels)])

    def classes(frames: Collection[int]) -> Ints:
        """Of every chosen episode the class of the action, where these frames are those of its partner."""
        scripts = [
            tuple(int(events[t, other if t in frames else n]) for t in range(s + 1))
            for n, other in zip(chosen, others, strict=True)
        ]
        actions = np.stack([scripted.action(script) for script in scripts])
        return np.unique(labels)[np.square(actions[:, None] - means).sum(-1).argmin(1)]

    shown = frames_shown(decision)
    recent = [t for t in range(max(0, s - RECENT), s) if t not in shown]
    rest = [t for t in range(s) if t not in (*shown, *recent)]
    before = classes(())
    changed = [float((classes(frames) != before).mean()) for frames in (shown, recent, rest)]
    return FrameUse(number, s + 1, tuple(shown), float((before == labels[chosen]).mean()), *changed)
