"""Decisions: classes of action that the frame of their step hides, and the cues that an earlier frame showed."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from diacritic.need.aligned import Aligned
from diacritic.need.classes import entropy, majority, one_hot, same
from diacritic.need.cues import combined, deciding_cues
from diacritic.need.frame import Frame
from diacritic.need.past import dependence
from diacritic.need.ridge import Ints
from diacritic.need.visibility import HIDDEN, SHOWN, Visibility, look, usable

LEVEL = 0.01  # family-wise over steps
FEWEST = 0.05  # of episodes, in each of several classes that were merged
TOGETHER = 12  # frames that may show a cue together
HALF = 0.5  # share of H(D) that an earlier frame must tell, and of that, what recent ones may
CERTAIN = 0.95  # share of H(D) that an earlier frame must show where the present hints at it
NEARLY = 0.9  # of episodes, in which a frame and the action agree: the rest are the expert's errors

Kind = Literal["cue", "partly", "short", "open"]


@dataclass
class Cue:
    """A labelling of episodes that must be remembered, and its sight in every frame."""

    labels: Ints
    sights: list[Visibility]
    whole: tuple[int, ...] = ()
    """Frames that count as showing it: the last of several, or the step of a choice of the expert's own."""

    def shown(self, before: int) -> list[int]:
        """The earlier frames that show it."""
        return sorted({t for t in range(before) if self.sights[t].shows_all} | {t for t in self.whole if t < before})

    def names(self, t: int) -> Ints:
        """Class → what frame t shows of it; all zero where it shows nothing."""
        return np.arange(int(self.labels.max()) + 1) if t in self.whole else self.sights[t].blocks


@dataclass
class Decision:
    """`cue`: hidden now, shown before. `partly`: shown before in part. `short`: recent frames and actions tell it.
    `open`: nothing that was recorded tells it."""

    steps: list[int]
    labels: Ints
    p: float
    kind: Kind
    cues: list[Cue] = field(default_factory=list)
    told: float = 0.0  # share of H(D) that the best earlier frame, or all cues together, tell

    @property
    def needs_memory(self) -> bool:
        return self.kind in ("cue", "partly")


class Decisions:
    """The decisions found so far."""

    def __init__(self, data: Aligned, rng: np.random.Generator) -> None:
        self.data, self.rng = data, rng
        self.accepted: list[Decision] = []

    def add(self, s: int, labels: Ints, p: float, hint: float = 0.0) -> None:
        """Explain a hidden choice at step s; one that is explained already gets one more step.

        Where the present hints at it, the past must show it nearly without error, and recent frames must not, to count
        as more than averaging.
        """
        if hint > HIDDEN:
            self._add_hinted(s, labels, p, hint)
            return
        if self._again(s, labels, p < LEVEL):
            return
        decision = self._explained(s, labels, p) if p < LEVEL else self._from_classes(s, labels)
        decision = decision or Decision([s], labels, p, "open")
        if not self._again(s, decision.labels, decision.p < LEVEL):
            self.accepted.append(decision)

    def _add_hinted(self, s: int, labels: Ints, p: float, hint: float) -> None:
        if p >= LEVEL:
            return
        labels, sights = self._cleaned(s, labels)
        best = max((sight.share for sight in sights[:s] if sight.shows_all), default=0.0)
        recent = self._recent_share(s, labels)
        if recent <= SHOWN and self._again(s, labels, True):
            return
        if recent <= SHOWN and best >= CERTAIN and hint <= SHOWN / 2:
            self.accepted.append(Decision([s], labels, p, "cue", [self._cue(labels, sights)], best))
        else:
            self.accepted.append(Decision([s], labels, p, "short", told=recent))

    def _again(self, s: int, labels: Ints, explained: bool) -> bool:
        twin = next((d for d in self.accepted if same(d.labels, labels) and (d.p < LEVEL) == explained), None)
        if twin is not None:
            twin.steps.append(s)
        return twin is not None

    def _explained(self, s: int, labels: Ints, p: float) -> Decision | None:
        """By frames that show it alone, by recent ones, by several cues, or by several frames together."""
        labels, sights = self._cleaned(s, labels)
        own = max((d.steps[-1] for d in self.accepted if d.kind == "open" and same(d.labels, labels)), default=-1)
        if own >= 0 and not any(sight.shows_all for sight in sights[:s]):
            return Decision([s], labels, p, "cue", [self._cue(labels, sights, (own,))], 1.0)
        told = np.unique(np.array([sight.blocks for sight in sights[:s]]).T, axis=0, return_inverse=True)[1].ravel()
        if told.max() + 1 == len(told):
            best = max(sight.share for sight in sights[:s])
            return Decision([s], labels, p, "cue", [self._cue(labels, sights)], best)
        recent = self._recent_share(s, labels)
        if recent > SHOWN:
            return Decision([s], labels, p, "short", told=recent)
        several = self._from_classes(s, labels)
        if several is not None:
            return several
        merged = told[labels]
        if told.max() > 0 and np.bincount(merged).min() >= FEWEST * len(merged):
            # some classes are distinguished and not others: the rest is the expert's own choice
            renewed, p_merged = look(self.data.frames, merged, self.rng), self._p_value(s, merged)
            if p_merged < LEVEL:
                best = max(sight.share for sight in renewed[:s])
                return Decision([s], merged, p_merged, "cue", [self._cue(merged, renewed)], best)
        return self._together(s, labels, p, sights, recent)

    def _p_value(self, s: int, labels: Ints) -> float:
        """Of the past not depending on a class given the present, family-wise over steps."""
        frame, hot, columns = self.data.frames[s], one_hot(labels), self.data.past(s)[0]
        return dependence(hot - frame.predict(hot), columns - frame.predict(columns))[0] * self.data.steps

    def _cleaned(self, s: int, labels: Ints) -> tuple[Ints, list[Visibility]]:
        """Labels and sights; where one frame nearly agrees, its classes replace those of the expert's errors."""
        frames = self.data.frames
        sights = look(frames, labels, self.rng)
        best = max(range(s), key=lambda t: sights[t].share)
        if sights[best].shows_all and sights[best].share > 0.97:
            return labels, sights
        decoded = frames[best].decode([labels])[0]
        classes = int(labels.max()) + 1
        if (decoded == labels).mean() < NEARLY or len(np.unique(decoded)) < classes:
            return labels, sights
        renewed = look(frames, decoded, self.rng)
        better = sum(sight.shows_all for sight in renewed[:s]) >= sum(sight.shows_all for sight in sights[:s])
        return (decoded, renewed) if better and not renewed[s].shows_all else (labels, sights)

    def _cue(self, labels: Ints, sights: list[Visibility], whole: tuple[int, ...] = ()) -> Cue:
        """A cue that another decision has already is taken from there, so that names agree."""
        cues = (cue for decision in self.accepted for cue in decision.cues)
        return next(
            (cue for cue in cues if same(cue.labels, labels) and cue.whole == whole), Cue(labels, sights, whole)
        )

    def _recent_share(self, s: int, labels: Ints) -> float:
        """What the present, the recent frames and actions say of D together."""
        data = self.data
        recent = [*data.recent(s, data.observations), *data.recent(s, data.actions), *data.averages(s)[1:]]
        several = Frame(np.concatenate([data.frames[s].columns, *recent], 1))
        return usable(labels, several.decode([labels])[0]) / entropy(labels)

    def _from_classes(self, s: int, labels: Ints) -> Decision | None:
        """By cues that are classes of single channels, each of which may say nothing alone."""
        data = self.data
        p, cues = deciding_cues(labels, data.candidates(s, present=s), data.steps)
        if not cues:
            return None
        told = majority(labels, combined(cues, len(labels)))
        if (told == labels).mean() < NEARLY:
            return None
        seen = [self._cue(cue, look(data.frames, cue, self.rng)) for cue in cues]
        if any(not cue.shown(s + 1) for cue in seen):
            return None
        if all(cue.sights[s].shows_all for cue in seen):
            return Decision([s], labels, p, "short", told=1.0)
        return Decision([s], told, p, "cue", seen, float((told == labels).mean()))

    def _together(self, s: int, labels: Ints, p: float, sights: list[Visibility], recent: float) -> Decision:
        """By several frames that each tell a part; averaging where the present is one of them."""
        telling = sorted((t for t in range(s) if sights[t].clear), key=lambda t: -sights[t].share)
        best = max((sights[t].share for t in telling), default=0.0)
        if (sights[s].clear and sights[s].share > HIDDEN) or (recent > HIDDEN and recent >= 0.9 * best):
            return Decision([s], labels, p, "short", told=max(recent, best))
        for count in range(2, min(len(telling), TOGETHER) + 1):
            several = Frame(np.concatenate([self.data.seen[t] for t in telling[:count]], 1))
            share = usable(labels, several.decode([labels])[0]) / entropy(labels)
            if share > SHOWN:
                last = max(telling[:count])
                return Decision([s], labels, p, "cue", [self._cue(labels, sights, (last,))], share)
        if best > HALF and recent < HALF * best:
            return Decision([s], labels, p, "partly", [self._cue(labels, sights, (telling[0],))], best)
        return Decision([s], labels, p, "open")
