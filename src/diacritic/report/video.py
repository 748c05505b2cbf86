"""Films of a simulated task: the scene in motion, what is required, and the code that a policy carries."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from certify.progress import track, working
from diacritic.demos.binner import Binner
from diacritic.report.design import Design
from diacritic.report.film_panel import Format, Frame, Now, Story, compose
from diacritic.report.takes import Colours, Take, one_take, swapped_takes
from diacritic.rollout.policies import Player, Policies
from diacritic.tasks.protocol import Batch, Task

FULL, SMALL = Format(), Format(360, 640, 10)  # to show, and to put into a report
STEP, WAIT, CUE, DECISION, CHANGE, END = 0.3, 0.07, 0.5, 0.8, 2.2, 1.8  # seconds
LONG = 6  # steps of a wait that is shown fast


@dataclass(frozen=True)
class Film:
    """All frames, and the second at which each step begins."""

    frames: Sequence[Frame]
    times: Sequence[float]
    rate: int


def film(
    task: Task,
    player: Player | None = None,
    binner: Binner | None = None,
    latents: Mapping[str, Any] | None = None,
    seed: int = 0,
    form: Format = FULL,
) -> Film:
    """One episode of the expert, or of a player with one policy."""
    with working("playing"):
        colours = Colours() if player is None else Colours.of(task, player, binner, seed)
    batch = task.batch(1, seed, threads=1)
    try:
        takes = one_take(task, batch, player, binner, latents)
        return _film(batch, takes, Story(task, Design.of(task), colours), form, None)
    finally:
        batch.close()


def swap_film(
    task: Task,
    policies: Policies,
    binner: Binner | None = None,
    latents: Mapping[str, Any] | None = None,
    seed: int = 0,
    form: Format = FULL,
) -> Film:
    """The same episode twice: left the memory is intact, right one code is swapped during the wait."""
    with working("playing"):
        colours = Colours.of(task, policies, binner, seed)
        batch, takes, at = swapped_takes(task, policies, binner, latents, seed)
    try:
        return _film(batch, takes, Story(task, Design.of(task), colours), form, at)
    finally:
        batch.close()


def _film(batch: Batch, takes: Sequence[Take], story: Story, form: Format, changed: int | None) -> Film:
    counts = schedule(story, takes, form, changed)
    frames = list(_frames(batch, takes, story, form, counts, changed))
    frames += [frames[-1]] * (form.frames(END) - 1)
    times = [count / form.rate for count in accumulate([0, *counts[:-1]])]
    return Film(frames, times, form.rate)


def schedule(story: Story, takes: Sequence[Take], form: Format, changed: int | None) -> list[int]:
    """Frames of every step: cues, decisions and the change are held, long waits pass quickly."""
    task = story.task
    waits = {t for steps in task.windows.values() if len(steps) > LONG for t in steps}
    seconds = []
    for t in range(task.horizon):
        cue = any(take.shown[t] >= 0 for take in takes)
        seconds.append(
            CHANGE if t == changed else DECISION if _decides(story, t) else CUE if cue else WAIT if t in waits else STEP
        )
    return [form.frames(each) for each in seconds]


def _frames(
    batch: Batch, takes: Sequence[Take], story: Story, form: Format, counts: Sequence[int], changed: int | None
) -> Iterator[Frame]:
    """Poses between two steps are mixed; a step that is held moves during its last part alone."""
    usual = form.frames(STEP)
    wide = form.width // len(takes) // 2 * 2
    gap = 0 if len(takes) == 1 else max(2, form.width // 320)

    def shoot(t: int, share: float) -> list[Frame]:
        poses = [(1 - share) * take.poses[t] + share * take.poses[t + 1] for take in takes]
        shown = [int(take.shown[t]) for take in takes]
        return [batch.picture(form.scene, wide - gap, *each) for each in zip(poses, shown, strict=True)]

    for t, count in track(list(enumerate(counts)), "filming"):
        moving, pictures = min(count, usual), shoot(t, 0.0)
        notes, bright = _notes(story, takes, t, changed), _decides(story, t)
        for k in range(count):
            late = k - (count - moving)
            pictures = shoot(t, late / moving) if late > 0 else pictures
            yield compose(form, pictures, takes, Now(t, (k + 1) / count, notes, bright), story)
    last = len(counts) - 1
    yield compose(form, shoot(last, 1.0), takes, Now(last, 1.0, [take.ending for take in takes]), story)


def _decides(story: Story, t: int) -> bool:
    """Whether a decision begins at a step."""
    decides = story.design.decides
    return decides[t] is not None and (t == 0 or decides[t - 1] != decides[t])


def _notes(story: Story, takes: Sequence[Take], t: int, changed: int | None) -> list[str]:
    """What is said of every take at a step."""
    waits = next((steps for steps in story.task.windows.values() if t in steps and len(steps) > LONG), None)
    decided = story.design.decides[t]
    notes = []
    for k, take in enumerate(takes):
        after = changed is not None and k > 0 and t >= changed
        if after and (t == changed or waits):
            notes.append("We changed one code.")
        elif decided:
            notes.append(f"decides the {decided}")
        elif take.shown[t] >= 0:
            notes.append(f"the cue shows {take.shown[t]}")
        elif waits:
            notes.append(f"{len(waits)} steps, nothing to see")
        else:
            notes.append(story.task.phases[t].replace("_", " "))
    return notes
