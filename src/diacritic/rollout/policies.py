"""S trained policies as one player: raw observations in, actions in the robot's units out, memory kept between."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.act import act
from diacritic.memory.encoders import symbols_read
from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Parameters
from diacritic.memory.pixels import camera_of
from diacritic.memory.protocol import Inputs
from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture
from diacritic.tasks.protocol import Floats, Frames, Ints


class Player(Protocol):
    """S policies, each in E episodes, in lockstep."""

    runs: int
    pixels: bool
    """Whether they see camera frames, with the camera channels of the task beside them."""

    def begin(self, episodes: int) -> None:
        """Forget everything: new episodes begin."""
        ...

    def step(
        self, seen: Floats, previous: Floats | None, symbols: Ints | None, frames: Frames | None
    ) -> tuple[Ints, Floats]:
        """Codes [S, E] and actions [S, E, A] from observations [S, E, ·], the previous actions (none at first),
        the symbols Ō_t [S, E] and the camera frames [S, E, 64, 64, 3] where there are any."""
        ...


class Policies:
    """Stacked parameters of S runs; `scale` is shared, or stacked by `stack_scales`."""

    def __init__(self, parameters: Parameters, architecture: Architecture, scale: Scale) -> None:
        self.parameters = {name: value.detach().cpu() for name, value in parameters.items()}
        self.architecture, self.scale, self.memory = architecture, scale, memory_of(architecture)
        self.runs = len(next(iter(parameters.values())))
        self.pixels = camera_of(parameters) is not None
        self._state: Any = None

    def begin(self, episodes: int) -> None:
        """The memory before the first observation; a scaffold has been taken down by now."""
        self._state = self.memory.start(self.parameters, self.architecture, episodes)

    @torch.inference_mode()
    def step(
        self, seen: Floats, previous: Floats | None, symbols: Ints | None = None, frames: Frames | None = None
    ) -> tuple[Ints, Floats]:
        """One step of every policy in every episode."""
        observation = self.scale.see(torch.from_numpy(np.ascontiguousarray(seen, np.float32)))
        size = self.scale.action_mean.shape[-1]
        if previous is None:  # in training, too, it is zero in standardised units
            before = torch.zeros(*seen.shape[:2], size)
        else:
            before = self.scale.shrink(torch.from_numpy(np.ascontiguousarray(previous, np.float32)))
        inputs = Inputs(observation, before, self._one_hot(symbols), None if frames is None else _pictures(frames))
        self._state, record = self.memory.step(self.parameters, self.architecture, self._state, inputs)
        actions = act(self.parameters, self.architecture, record)
        return record.code.numpy(), self.scale.act(actions).numpy()

    def _one_hot(self, symbols: Ints | None) -> Tensor | None:
        """Ō_t for the controls that read it; a symbol that was never recorded is a row of zeros."""
        if self.architecture.side != "symbol":
            return None
        if symbols is None:
            raise UserError("binner", "this control reads the symbol Ō_t; give the binner of its recording")
        number = symbols_read(self.parameters)
        seen = torch.from_numpy(np.where((symbols >= 0) & (symbols < number), symbols, number)).long()
        return torch.nn.functional.one_hot(seen, number + 1)[..., :number].float()


def _pictures(frames: Frames) -> Tensor:
    """Camera frames [S, E, 64, 64, 3]; without the axis of runs where all see the same ones in memory."""
    same = len(frames) == 1 or frames.strides[0] == 0
    return torch.from_numpy(np.array(frames[0]) if same else np.ascontiguousarray(frames))


class RunPolicy:
    """One run with its state made explicit, as interventions need it: states have no axis of runs."""

    def __init__(self, architecture: Architecture, weights: Mapping[str, Tensor]) -> None:
        self.architecture, self.memory = architecture, memory_of(architecture)
        self.parameters = {name: value[None] for name, value in weights.items()}

    def begin(self, batch: int) -> Any:
        """The memory before the first observation of `batch` episodes."""
        return each_tensor(self.memory.start(self.parameters, self.architecture, batch), lambda value: value[0])

    def step(self, state: Any, observation: Any, previous_action: Tensor) -> tuple[Any, Tensor, Tensor]:
        """The new state, the code [batch] and the action; what is seen besides numbers comes as `Inputs`."""
        seen = observation if isinstance(observation, Inputs) else Inputs(observation, previous_action, observation)
        symbol = seen.symbol if self.architecture.side == "symbol" else None
        inputs = replace(seen, previous=previous_action, symbol=symbol)
        stacked = each_tensor(state, lambda value: value[None])
        after, record = self.memory.step(self.parameters, self.architecture, stacked, inputs)
        action = act(self.parameters, self.architecture, record)[0]
        return each_tensor(after, lambda value: value[0]), record.code[0], action


def each_tensor(state: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A state with every tensor of it changed."""
    if isinstance(state, Tensor):
        return change(state)
    held = {field.name: getattr(state, field.name) for field in fields(state)}
    return replace(state, **{name: change(value) for name, value in held.items() if value is not None})


def stack_scales(scales: Sequence[Scale]) -> Scale:
    """The scales of S runs as one that a row of each run reads through."""
    names = [field.name for field in fields(Scale)]
    return Scale(*(torch.stack([getattr(scale, name) for scale in scales]).unsqueeze(1) for name in names))
