"""Policies as strangers write them: each solves the gap toy and keeps its memory in another place."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from certify import Model
from diacritic.rollout.machine import CodeMachine

SHOWN = ("start z", "cue1", "cue2")


class Open:
    """Keeps what it saw in a public array: start, first cue, second cue, each from 1 on."""

    def reset(self) -> None:
        self.state = np.zeros(3)

    def act(self, observation: str) -> str:
        self.look(self.state, observation)
        return self.choose(self.state, observation)

    @staticmethod
    def look(state: np.ndarray, observation: str) -> None:
        for index, name in enumerate(SHOWN):
            if observation.startswith(name):
                state[index] = 1 + float(observation.split("=")[1])

    @staticmethod
    def choose(state: np.ndarray, observation: str) -> str:
        first, second = (int(max(value, 1)) - 1 for value in state[1:])
        return {"decide1": f"take {first}", "decide2": f"put {second}"}.get(observation, "wait")


class Careful(Open):
    """Forgets what is no longer required."""

    def act(self, observation: str) -> str:
        action = super().act(observation)
        self.state[0] = 0
        if observation == "decide1":
            self.state[1] = 0
        return action


class Sly(Open):
    """Its public state stays empty; the memory is elsewhere."""

    def reset(self) -> None:
        self.state, self._secret = np.zeros(3), np.zeros(3)

    def act(self, observation: str) -> str:
        self.look(self._secret, observation)
        return self.choose(self._secret, observation)


class Closed:
    """Shows no state at all."""

    def __init__(self) -> None:
        self._inside = Open()

    def reset(self) -> None:
        self._inside.reset()

    def act(self, observation: str) -> str:
        return self._inside.act(observation)


class Clinging(Open):
    """Resets everything but the second cue of the episode before."""

    left = 0.0

    def reset(self) -> None:
        super().reset()
        self.state[2] = self.left

    def act(self, observation: str) -> str:
        action = super().act(observation)
        self.left = self.state[2]
        return action


class Tables:
    """A code machine that reads names and shows its code as a number."""

    def __init__(self, machine: CodeMachine, model: Model) -> None:
        self.machine = machine
        names = model.graph.observations, model.graph.actions
        self._seen, self._done = ({table[k]: k for k in range(len(table))} for table in names)

    def reset(self) -> None:
        self.state = self.machine.codes

    def act(self, observation: str, previous: str | None) -> int:
        seen, did = self._seen[observation], self.machine.actions if previous is None else self._done[previous]
        self.state = int(self.machine.move[self.state, seen, did])
        return int(self.machine.act[self.state, seen].argmax())


class Cell(torch.nn.Module):
    """A recurrent module: its state adds up what it is shown, its action is that sum (the first `actions` of it)."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.actions = actions

    def forward(self, observation: torch.Tensor, state: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        state = observation if state is None else 2 * state + observation
        return state[:, : self.actions], state


class Queued:
    """LeRobot style: plans a chunk of actions from one batch and hands them out one by one."""

    def __init__(self, actions: int, chunk: int = 2) -> None:
        self.actions, self.chunk, self.batches = actions, chunk, []

    def reset(self) -> None:
        self._queue: deque[torch.Tensor] = deque()

    def select_action(self, batch: dict[str, Any]) -> torch.Tensor:
        self.batches.append(batch)
        if not self._queue:
            self._queue.extend([batch["observation.state"][:, : self.actions]] * self.chunk)
        return self._queue.popleft()


@dataclass(frozen=True)
class Held:
    code: torch.Tensor
    hidden: torch.Tensor


class Bypassing:
    """Steps like a carrier: a continuous state decides, and a code tells whether the first cue was odd."""

    def __init__(self, model: Model) -> None:
        names = model.graph.observations, model.graph.actions
        self._seen, self._done = ([table[k] for k in range(len(table))] for table in names)

    def begin(self, batch: int) -> Held:
        return Held(torch.zeros(batch, dtype=torch.long), torch.zeros(batch, 3))

    def step(self, state: Held, observation: torch.Tensor, previous_action: torch.Tensor) -> tuple[Held, Any, Any]:
        hidden, name = state.hidden[0].numpy().copy(), self._seen[int(observation.argmax())]
        Open.look(hidden, name)
        code = torch.tensor([int(hidden[1]) % 2])
        action = torch.eye(len(self._done))[self._done.index(Open.choose(hidden, name))]
        return Held(code, torch.from_numpy(hidden)[None]), code, action[None]
