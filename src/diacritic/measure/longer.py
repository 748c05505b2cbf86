"""Longer than trained: the wait of a symbolic task is lengthened, and the trained policies play on as they are."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from diacritic.memory.act import act
from diacritic.memory.kinds import memory_of
from diacritic.memory.protocol import Inputs
from diacritic.memory.vector import LinearMemory, entered
from diacritic.training.cohort import Cohort
from diacritic.training.data import Data
from diacritic.training.reference import whole_episodes

STEPPED = 10_000
"""Steps of a wait that are really taken; beyond them the state must have come back to one that it had before."""


def wait_of(data: Data) -> int | None:
    """The last step (from 0) of the longest stretch whose steps look alike in every episode, three of them at least."""
    index = torch.stack([data.observation_index, data.previous_index])
    alike = (index[:, 1:] == index[:, :-1]).all(-1).all(0) & (data.target[1:] == data.target[:-1]).flatten(1).all(1)
    best, end, length = 2, None, 1
    for t, same in enumerate(alike.tolist(), 1):
        length = length + 1 if same else 1
        if length > best:
            best, end = length, t
    return end


@torch.no_grad()
def longer(cohort: Cohort, lengths: Sequence[int]) -> dict[int, list[float | None]]:
    """The success of every run in episodes of so many steps; none where the memory has an end, or does not settle."""
    data, memory = cohort.data, memory_of(cohort.plan.carrier)
    wait = wait_of(data)
    if wait is None or memory.state == "history":
        return {}
    return _Played(cohort, whole_episodes(data), wait).successes(sorted(n for n in lengths if n >= data.horizon))


@dataclass
class _Played:
    """A cohort at the end of the wait, and on from there."""

    cohort: Cohort
    episodes: Inputs
    wait: int

    def successes(self, lengths: Sequence[int]) -> dict[int, list[float | None]]:
        parameters, data = self.cohort.parameters, self.cohort.data
        state = memory_of(self.cohort.plan.carrier).start(parameters, self.cohort.plan.carrier, data.episodes)
        right = torch.ones(len(self.cohort.plan.runs), data.episodes, dtype=torch.bool, device=data.weight.device)
        for t in range(self.wait + 1):
            state, right = self.step(state, right, t)
        more = [length - data.horizon for length in lengths]
        reached = self.wait_on(state, right, more)
        return {length: self.finish(*reached[extra]) for length, extra in zip(lengths, more, strict=True)}

    def step(self, state: Any, right: Tensor, t: int) -> tuple[Any, Tensor]:
        """One step, and which episodes are right up to it."""
        carrier, parameters = self.cohort.plan.carrier, self.cohort.parameters
        state, record = memory_of(carrier).step(parameters, carrier, state, self.episodes.at(t))
        chosen = act(parameters, carrier, record).argmax(-1)
        law = self.cohort.data.target[t].expand(len(chosen), -1, -1)
        return state, right & (law.gather(-1, chosen.unsqueeze(-1)).squeeze(-1) > 0)

    def wait_on(self, state: Any, right: Tensor, more: Sequence[int]) -> dict[int, tuple[Any, Tensor, Tensor]]:
        """After so many further steps of the wait: the state, which episodes are right, and of which runs it is known.

        A state that comes back (Brent's search, bit by bit) is known for ever; so is a linear cell.
        """
        runs = len(right)
        certain, at = torch.ones(runs, dtype=torch.bool), torch.zeros(runs, dtype=torch.int64)
        first, reached = state, {0: (state, right, certain)}
        anchor, period, taken = state, torch.zeros(runs, dtype=torch.int64), 0
        while taken < min(max(more, default=0), STEPPED) and not period.all():
            state, right = self.step(state, right, self.wait)
            taken += 1
            if taken in more:
                reached[taken] = state, right, certain
            period = torch.where((period == 0) & _same(state, anchor), taken - at, period)
            if taken & (taken - 1) == 0:  # a power of two
                anchor, at = _where(period > 0, anchor, state), torch.where(period > 0, at, taken)
        for extra in more:
            if extra not in reached:
                far, sure = self._returned(anchor, right, (extra - at) % period.clamp(min=1)), period > 0
                jumped = self._jumped(first, extra)
                state_then = far if jumped is None else _where(sure, far, jumped)
                reached[extra] = state_then, right, sure if jumped is None else certain
        return reached

    def _returned(self, state: Any, right: Tensor, steps: Tensor) -> Any:
        for k in range(int(steps.max())):
            state = _where(steps > k, self.step(state, right, self.wait)[0], state)
        return state

    def _jumped(self, state: Any, steps: int) -> Any:
        """A linear cell after so many steps of one input."""
        memory = memory_of(self.cohort.plan.carrier)
        if not isinstance(memory, LinearMemory):
            return None
        _, x = entered(self.cohort.parameters, self.episodes.at(self.wait))
        return memory.after(self.cohort.parameters, state, x, steps)

    def finish(self, state: Any, right: Tensor, certain: Tensor) -> list[float | None]:
        for t in range(self.wait + 1, self.cohort.data.horizon):
            state, right = self.step(state, right, t)
        success = (right.double() * self.cohort.data.weight.double()).sum(-1)
        return [value if sure else None for value, sure in zip(success.tolist(), certain.tolist(), strict=True)]


def _parts(state: Any) -> dict[str, Tensor]:
    if isinstance(state, Tensor):
        return {"": state}
    return {item.name: part for item in fields(state) if isinstance(part := getattr(state, item.name), Tensor)}


def _same(one: Any, other: Any) -> Tensor:
    """Of which runs two states are equal, bit by bit."""
    theirs = _parts(other)
    return torch.stack([(part == theirs[name]).flatten(1).all(1) for name, part in _parts(one).items()]).all(0)


def _where(runs: Tensor, one: Any, other: Any) -> Any:
    """The one state for some runs, the other for the rest."""
    theirs = _parts(other)
    chosen = {
        name: torch.where(runs.view(-1, *[1] * (part.dim() - 1)), part, theirs[name])
        for name, part in _parts(one).items()
    }
    return chosen[""] if isinstance(one, Tensor) else replace(one, **chosen)
