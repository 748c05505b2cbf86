"""What each frame shows of the cues, and the class of each decision, as symbols; `certify` gives the bits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certify import Answer, Model, certify
from diacritic.need.classes import majority
from diacritic.need.cues import combined
from diacritic.need.decisions import Cue, Decision

Table = NDArray[np.int32]


@dataclass(frozen=True)
class Symbols:
    """Ō_t and the expert's choice at every step of every episode, as indices into names; axes [T, N]."""

    observations: Table
    observation_names: tuple[str, ...]
    choices: Table
    choice_names: tuple[str, ...]

    def certify(self, seconds: float) -> Answer:
        """The requirement of these symbols, proved."""
        model = Model.from_arrays(
            self.observations.T,
            self.choices.T,
            observation_names=self.observation_names,
            action_names=self.choice_names,
        )
        return certify(model, seconds=seconds)


def induced_symbols(decisions: Sequence[Decision], steps: int, episodes: int) -> Symbols:
    """Of each cue what the frame shows, else `?`; of each decision its class at its steps, else nothing."""
    cues: list[Cue] = []
    for decision in decisions:
        cues += [cue for cue in decision.cues if not any(cue is other for other in cues)]
    seen = [[_shown(cues, t, n) for n in range(episodes)] for t in range(steps)]
    done = [[""] * episodes for _ in range(steps)]
    for k, decision in enumerate(decisions, 1):
        told = majority(decision.labels, combined([cue.labels for cue in decision.cues], episodes))
        for t in decision.steps:
            done[t] = [f"{text} D{k}={label}".strip() for text, label in zip(done[t], told.tolist(), strict=True)]
    done = [[text or "-" for text in row] for row in done]
    return Symbols(*_numbered(seen), *_numbered(done))


def _shown(cues: Sequence[Cue], t: int, n: int) -> str:
    parts = []
    for k, cue in enumerate(cues, 1):
        names = cue.names(t)
        parts.append(f"C{k}={names[cue.labels[n]]}" if names.max() else f"C{k}=?")
    return f"{t + 1}: " + " ".join(parts)


def _numbered(rows: list[list[str]]) -> tuple[Table, tuple[str, ...]]:
    names = {name: k for k, name in enumerate(dict.fromkeys(name for row in rows for name in row))}
    return np.array([[names[name] for name in row] for row in rows], np.int32), tuple(names)
