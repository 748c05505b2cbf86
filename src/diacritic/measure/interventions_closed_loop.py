"""Attribution by intervention in closed loop: one policy in five variants, in the same episodes of a simulated task.

All variants are alike until step t. There the code of every episode is swapped with that of a partner (same symbol Ō_t,
another class), or everything but the code is, or the code is reset, or it is frozen; then each goes on alone, and
the task says what each decided. What the body or the observation carries stays with the episode, so a
class that is written into the pose shows as a swap that moves nothing and a reset that erases nothing.
"""

from dataclasses import fields, replace

import numpy as np
import torch
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.demos.binner import Binner
from diacritic.measure.gates import task_gate
from diacritic.measure.interventions import CODE, TOLD, Attribution, Effect, Trial
from diacritic.memory.sole_carrier import State
from diacritic.rollout.closed_loop import Loop
from diacritic.rollout.policies import Floats, Ints, Policies, each_tensor
from diacritic.tasks.protocol import Frames, Task

OWN, SWAP, SHUFFLE, RESET, FREEZE = range(5)
VARIANTS = 5
EPISODES = 16


def attribute_closed_loop(
    task: Task, policies: Policies, binner: Binner, episodes: int = EPISODES, seed: int = 0, threads: int = 0
) -> Attribution:
    """Interfere before every decision of one run that its task's gate asks for.

    The others need no memory: what they depend on is shown again before they are made.
    """
    if policies.memory.state != "carrier":
        raise UserError("architecture.memory", f"{policies.architecture.memory!r} has no code to intervene on")
    trials = []
    for name, (decision, *_) in task_gate(task).decisions.items():
        at = moment(task, decision)
        player = Intervened(policies, at, seed)
        batch = task.batch(episodes, seed, VARIANTS, threads)
        hidden = task.draw(episodes, seed)
        player.classes = task.choices(hidden)[name]
        Loop(task, batch, player, hidden, binner).play()
        chosen = batch.decided()[name].reshape(VARIANTS, episodes)
        trials.append(_judged(name, at, decision, chosen, player.partner))
    return Attribution(tuple(trials))


def moment(task: Task, decision: int) -> int:
    """After which step to interfere: midway in the gap before the decision, but not before the last display."""
    waiting = [steps for steps in task.windows.values() if steps.stop <= decision]
    middle = (waiting[-1].start + waiting[-1].stop - 1) // 2 if waiting else decision - 1
    revealed = [t for t in task.reveals if t < decision]
    return max([middle, *revealed[-1:]])


class Intervened(Policies):
    """One run as five policies that differ after step `at`."""

    def __init__(self, policies: Policies, at: int, seed: int = 0) -> None:
        many = {name: value.expand(VARIANTS, *value.shape[1:]) for name, value in policies.parameters.items()}
        super().__init__(many, policies.architecture, policies.scale)
        self.at: int = at
        self.classes: Ints = np.zeros(0, np.int64)
        self.partner: NDArray[np.int64] = np.zeros(0, np.int64)
        self._rng = np.random.default_rng(seed)
        self._t = -1
        self._held: State | None = None

    def begin(self, episodes: int) -> None:
        super().begin(episodes)
        self._t, self._held = -1, None
        self._none: State = self._state

    def step(
        self, seen: Floats, previous: Floats | None, symbols: Ints | None = None, frames: Frames | None = None
    ) -> tuple[Ints, Floats]:
        outputs = super().step(seen, previous, symbols, frames)
        self._t += 1
        if self._t == self.at:
            if symbols is None:
                raise UserError("binner", "partners share a symbol Ō_t; give the binner of the recording")
            self.partner = partners(symbols[OWN], self.classes, self._rng)
            self._interfere()
        if self._held is not None:
            self._put(FREEZE, self._held, CODE)
        return outputs

    def _interfere(self) -> None:
        """Exchange rows of the state; all variants are still alike here."""
        other = torch.from_numpy(self.partner)
        every = tuple(field.name for field in fields(State))
        self._held = each_tensor(self._state, lambda value: value[OWN])
        theirs = each_tensor(self._held, lambda value: value[other])
        self._put(SWAP, theirs, CODE)
        self._put(SHUFFLE, theirs, tuple(name for name in every if name not in CODE))
        self._put(RESET, each_tensor(self._none, lambda value: value[RESET]), CODE)

    def _put(self, variant: int, rows: State, names: tuple[str, ...]) -> None:
        changed = {}
        for name in names:
            old, new = getattr(self._state, name), getattr(rows, name)
            if old is not None and new is not None:
                changed[name] = old.clone()
                changed[name][variant] = new
        self._state = replace(self._state, **changed)


def partners(symbols: Ints, classes: Ints, rng: np.random.Generator) -> NDArray[np.int64]:
    """For each episode another one with the same symbol and another class; itself where there is none."""
    chosen = np.arange(len(symbols))
    for episode in range(len(symbols)):
        fitting = np.flatnonzero((symbols == symbols[episode]) & (classes != classes[episode]))
        if len(fitting):
            chosen[episode] = rng.choice(fitting)
    return chosen


def _judged(name: str, at: int, decision: int, chosen: Ints, partner: NDArray[np.int64]) -> Trial:
    """Effects over the episodes that have a partner from which the unchanged policy tells them apart."""
    own = chosen[OWN]
    told = own != own[partner]
    paired = int((partner != np.arange(len(partner))).sum())
    share = float(told.sum() / paired) if paired else 0.0
    if not share > TOLD:
        return Trial(name, at, decision, paired, False, share)

    def effect(variant: int) -> Effect:
        now = chosen[variant]
        return Effect(float((now == own[partner])[told].mean()), float((now == own)[told].mean()))

    reset = chosen[RESET]
    kept, crossed = reset == own, (reset == own[partner]) & (reset[partner] == own)
    erased = Effect(float(crossed[told].mean()), float((kept & kept[partner])[told].mean()))
    return Trial(name, at, decision, paired, False, share, effect(SWAP), effect(SHUFFLE), erased, effect(FREEZE))
