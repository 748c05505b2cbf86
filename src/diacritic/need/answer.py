"""`need`: must a policy remember, what, from when, and how many bits? From raw demonstrations alone."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from certify.errors import UserError
from certify.progress import track
from diacritic.files.demos import Demos
from diacritic.files.need import Kind
from diacritic.need.aligned import Aligned
from diacritic.need.alignment import align
from diacritic.need.decisions import Decision
from diacritic.need.keep import Keep, frames_to_keep
from diacritic.need.power import exchanged, power
from diacritic.need.quality import FEWEST, sound_episodes
from diacritic.need.ridge import TOLERANCE
from diacritic.need.screen import Graded, Open, Screen
from diacritic.need.short import Short, helped_steps, short_history
from diacritic.need.symbols import Symbols, induced_symbols
from diacritic.need.witnesses import Witness, witnesses

PLANTS, WIDTH = 16, 3.0  # planted cues, and how far each lies to either side, in standard deviations
WEAK = 0.5  # power below which no evidence says nothing


@dataclass(frozen=True, eq=False)
class Need:
    """The answer, never more certain than the data."""

    recording: Demos
    data: Aligned
    notes: tuple[str, ...]
    decisions: tuple[Decision, ...]
    graded: tuple[Graded, ...]
    open: tuple[Open, ...]
    bits: tuple[float, ...]  # required before each step; all 0 where no memory is needed
    keep: Keep
    found_in_exchanged: int
    power: float | None
    symbols: Symbols
    witnesses: tuple[Witness, ...]
    seed: int

    @cached_property
    def helped(self) -> tuple[Open, ...]:
        """Steps at which recent frames or actions help."""
        return helped_steps(self.open)

    @cached_property
    def short(self) -> Short | None:
        """The recent past that helps, if any does."""
        return short_history(self.helped, self.decisions)

    @property
    def remembered(self) -> list[Decision]:
        """Decisions that need memory."""
        return [decision for decision in self.decisions if decision.needs_memory]

    @property
    def kind(self) -> Kind:
        if self.remembered or self.graded:
            return "memory needed"
        if self.reason:
            return "cannot tell"
        return "short history is enough" if self.short else "no evidence of need"

    def labelled(self, original: Demos | None = None) -> Demos:
        """The examined episodes on their clock, with what was found as symbols and choices.

        So `requirement`, `train`, `measure`, `audit` and `report` take it as any other recording. `original` is the
        recording without the columns of an embedding, which a policy would not have.
        """
        recording = original or self.recording
        seen, acted, frames = recording.observations, recording.actions, recording.frames
        rows = (self.data.index, self.data.numbers)
        return Demos(
            self.recording.task,
            seen[rows],
            acted[rows],
            symbols=self.symbols.observations,
            symbol_names=self.symbols.observation_names,
            choices=self.symbols.choices,
            choice_names=self.symbols.choice_names,
            latents={f"D{k}": d.labels.astype(np.int32) for k, d in enumerate(self.remembered, 1)},
            frames=None if frames is None else frames[rows],
        )

    def __str__(self) -> str:
        from diacritic.need.text import lines

        return "\n".join(lines(self))

    @property
    def reason(self) -> str:
        """Why nothing can be said, and what to record; empty where something can."""
        if self.data.episodes < FEWEST:
            return f"{self.data.episodes} episodes are too few; record at least {4 * FEWEST}"
        unexplained = [decision for decision in self.decisions if decision.kind == "open"]
        if unexplained:
            steps = ", ".join(str(decision.steps[0] + 1) for decision in unexplained[:5])
            said = f"the expert chooses between classes at step {steps}, and nothing recorded says why"
            return f"{said}; record what it knew, or a consistent expert"
        if self.power is not None and self.power < WEAK:
            return f"a planted cue would be found in {self.power:.0%} only; record more episodes"
        return ""


def need(
    recording: Demos | str,
    *,
    align_by: str = "auto",
    tolerance: float = TOLERANCE,
    plants: int = PLANTS,
    seed: int = 0,
) -> Need:
    """How much memory a recording asks for; equal seeds give equal answers.

    `tolerance` is the error that does not matter, as a share of each action channel's spread; `plants` is the number of
    cues that are planted to measure power.
    """
    if isinstance(recording, str):
        from diacritic.demos.readers import load

        recording = load(recording)
    if not 0 < tolerance < 1:
        raise UserError("--tolerance", f"{tolerance} is not between 0 and 1")
    kept, notes = sound_episodes(recording)
    demos = replace(recording, frames=None).take(kept)
    data = align(demos, align_by, tolerance, seed)
    data = replace(data, numbers=kept[data.numbers])
    if data.episodes < FEWEST:
        screen = Screen(data, seed)
    else:
        screen = Screen(data, seed).run(track(range(data.steps), "what the present leaves open"))
    decisions = [decision for decision in screen.decisions if decision.needs_memory]
    symbols = induced_symbols(decisions, data.steps, data.episodes)
    bits, states = (0.0,) * data.steps, 1
    if decisions:
        answer = symbols.certify(seconds=20.0)
        bits = tuple(step.upper for step in answer.steps)
        states = max(step.states or 1 for step in answer.steps)
    detected_share = None
    if plants and data.episodes >= FEWEST:
        detected_share = power(data, track(range(plants), "planting cues"), WIDTH, seed)
    return Need(
        recording=recording,
        data=data,
        notes=tuple(notes),
        decisions=tuple(screen.decisions),
        graded=tuple(screen.graded),
        open=tuple(screen.open),
        bits=bits,
        keep=frames_to_keep(decisions, states),
        found_in_exchanged=exchanged(data, decisions, np.random.default_rng(seed)),
        power=detected_share,
        symbols=symbols,
        witnesses=tuple(witnesses(data, decisions)),
        seed=seed,
    )
