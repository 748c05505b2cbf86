"""The requirement of anything that has one: a finite model, a recording, a task, or a policy's demonstrations."""

import numpy as np

from certify import Answer, Model, certify
from certify.sources.recordings import from_recordings
from diacritic.demos.drawn import Drawn
from diacritic.demos.requirement import certify_recording, coin_tosses, laws_of
from diacritic.files.demos import Demos
from diacritic.tasks.named import model_in_one_word
from diacritic.tasks.protocol import Task
from diacritic.tasks.registry import find, is_simulated


def requirement(subject: Demos | Drawn | Model | Task | str, seconds: float = 60.0) -> Answer:
    """How many bits a policy must carry at each step, proved; `.certificate()` is the evidence.

    Of a recording, its own episodes are certified. Of a task with its own physics, what it is designed to show and to
    ask, every hidden configuration once. A word names a task, a zoo instance with parameters, or a model file.
    """
    if isinstance(subject, str):
        subject = find(subject) if is_simulated(subject) else model_in_one_word(subject)
    if isinstance(subject, Demos):
        return certify_recording(subject)
    if isinstance(subject, Drawn):
        subject = subject.model
    return certify(subject if isinstance(subject, Model) else designed_model(subject), seconds=seconds)


def designed_model(task: Task) -> Model:
    """The finite model of a task by design: every configuration of its hidden values once."""
    sizes = list(task.latents.values())
    grid = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), np.int64)
    latents = dict(zip(task.latents, grid, strict=True))
    shown, shown_names = task.symbolic_observations(latents)
    done, done_names = task.symbolic_actions(latents)
    episodes = [
        [(shown_names[o], done_names[a]) for o, a in zip(symbols, actions, strict=True)]
        for symbols, actions in zip(shown.T.tolist(), done.T.tolist(), strict=True)
    ]
    drawn = coin_tosses({name: latents[name] for name in task.convention.coins}, done, done_names)
    return from_recordings(episodes, laws=laws_of(episodes, drawn), name=task.name).model
