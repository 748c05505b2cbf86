"""The Memory protocol: what a policy carries from one step to the next, behind one interface.

A kind of memory is one file: its parameters, the state before the first step, and one step. `register` makes it known;
an `Architecture` chooses it by name. The fast engines of training compute the plain code alone; every other kind trains
step by step as it is defined here, or by an `unroll` of its own.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.layers import Parameters, Weight
from diacritic.memory.shape import Architecture, Shape

if TYPE_CHECKING:
    from diacritic.memory.repeats import Repeats


@dataclass(frozen=True)
class Inputs:
    """One step's inputs, [runs or nothing, rows, ·]; `previous` is zero before the first action."""

    observation: Tensor
    previous: Tensor
    symbol: Tensor | None = None  # one-hot Ō_t
    frame: Tensor | None = None  # camera image
    noise: Tensor | None = None  # standard normal, for the Gaussian bottleneck in training

    def at(self, t: int) -> "Inputs":
        """Step t of whole episodes, whose inputs are [T, rows, ·] or [runs, T, rows, ·]; their noise is the latter."""
        observation, previous = self.observation.select(-3, t), self.previous.select(-3, t)
        symbol = None if self.symbol is None else self.symbol.select(-3, t)
        frame = None if self.frame is None else self.frame.select(-5, t)
        return Inputs(observation, previous, symbol, frame, None if self.noise is None else self.noise[:, t])

    def rows(self) -> "Inputs":
        """All steps of whole episodes at once, in rows t·N + n."""
        symbol = None if self.symbol is None else self.symbol.flatten(-3, -2)
        frame = None if self.frame is None else self.frame.flatten(-5, -4)
        return Inputs(self.observation.flatten(-3, -2), self.previous.flatten(-3, -2), symbol, frame)


@dataclass(frozen=True)
class Record:
    """What one step leaves for the heads and the losses."""

    features: Tensor  # g_o(O_t)
    side: Tensor  # what transition and prior read: g_o(O_t), or g_s(Ō_t)
    proposal: Tensor  # ẽ_t
    embedding: Tensor  # e_t, straight-through: what the action head reads beside the features
    code: Tensor  # C_t; 0 where there is no code
    identification: "Record | None" = None
    bits: Tensor | None = None  # KL bound of the Gaussian bottleneck, in nats, [runs, rows]
    actions: Tensor | None = None  # of a memory with an action head of its own, [runs, rows, A]
    prior_input: Tensor | None = None  # what the prior reads, where that is not `side`
    observation: Tensor | None = None  # O_t itself, for a controller that reads it


@dataclass(frozen=True)
class Flow:
    """How a pass in training differs from playing: where gradients stop, and what is being annealed."""

    gradient: str = "full"
    """`carousel` stops the gradient where the code enters f."""
    strength: Tensor | float = 1.0
    """α, the weight of the continuous path."""


PLAYING = Flow()


class Memory(ABC):
    """A kind of memory. Methods work on S stacked runs; parameters have a leading axis of runs."""

    name: ClassVar[str]
    measured: ClassVar[Literal["code", "readout", "bound", "state"]] = "state"
    """What a rate is measured of: the code that is carried, a code that only reads a larger memory, the KL bound of a
    bottleneck, or nothing but the state, by decoding."""
    state: ClassVar[Literal["carrier", "vector", "history"]] = "vector"
    """What persists: `sole_carrier.State`, one tensor [runs, rows, ·], or something that grows with the episode."""
    acts: ClassVar[bool] = False
    """Whether it has an action head of its own; otherwise a head reads (g_o(O_t), e_t)."""
    noisy: ClassVar[bool] = False
    """Whether training draws noise for every step."""
    shares: ClassVar[bool] = False
    """Whether `unroll_histories` computes what several episodes share only once."""
    window: ClassVar[int | None] = None
    """How many steps it sees, where it forgets all earlier ones: histories that end alike are then one."""

    @abstractmethod
    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        """Every parameter that the memory itself needs; heads add their own."""

    @abstractmethod
    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> Any:
        """The state before the first observation of so many episodes, as a trained policy has it."""

    @abstractmethod
    def step(
        self, parameters: Parameters, architecture: Architecture, state: Any, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[Any, Record]:
        """One step of all episodes."""

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        """Whole episodes from their first step (see `Inputs.at`): records whose rows, end to end, are t·N + n."""
        state = self.start(parameters, architecture, episodes.observation.shape[-2])
        return self.follow(parameters, architecture, state, episodes, flow)

    def follow(
        self, parameters: Parameters, architecture: Architecture, state: Any, episodes: Inputs, flow: Flow
    ) -> list[Record]:
        """Step after step from a state."""
        records = []
        for t in range(episodes.observation.shape[-3]):
            state, record = self.step(parameters, architecture, state, episodes.at(t), flow)
            records.append(record)
        return records

    def unroll_histories(
        self, parameters: Parameters, architecture: Architecture, repeats: "Repeats", flow: Flow = PLAYING
    ) -> Record:
        """The same once for every distinct history; what depends on the inputs alone once for each of these."""
        raise NotImplementedError(f"{self.name} computes every step of every episode")

    def lowered(self, parameters: Parameters, precision: torch.dtype) -> Parameters:
        """The parameters of a training pass in a lower precision, where the memory allows one."""
        return parameters

    def codebooks(self, architecture: Architecture) -> dict[str, int]:
        """Prefixes of the codebooks whose codes are paid for, with their sizes; the first is usually ''."""
        return {}

    def beside_the_code(self, architecture: Architecture) -> tuple[str, ...]:
        """What persists other than one code, in words; nothing in a sole carrier."""
        return (f"its memory is {self.name!r}, not a code",)

    def carried(self, parameters: Parameters, architecture: Architecture) -> Tensor:
        """Of a finite memory: what a step may start from, [runs, K + 1, ·]: each code's state, then the first state."""
        raise NotImplementedError(f"{self.name} is not a finite memory")

    def held(self, parameters: Parameters, architecture: Architecture) -> Tensor:
        """Of a finite memory: what heads read of each code, [runs, K, d]."""
        raise NotImplementedError(f"{self.name} is not a finite memory")

    def annealed(self, architecture: Architecture) -> bool:
        """Whether a continuous path into it is taken down in the course of training."""
        return False

    def finite(self, architecture: Architecture) -> bool:
        """Whether a run is a finite machine on a symbolic task: one code decides all that it does later."""
        return False

    def fast(self, architecture: Architecture) -> bool:
        """Whether the fast engines of training compute it."""
        return False


MEMORIES: dict[str, Memory] = {}
"""By name, as `Architecture.memory` says it."""
M = TypeVar("M", bound=Memory)


def register(kind: type[M]) -> type[M]:
    """Make a kind of memory known by its name; a decorator for its class."""
    if kind.name in MEMORIES and type(MEMORIES[kind.name]) is not kind:
        raise UserError("memory", f"{kind.name!r} is registered already; choose another name")
    MEMORIES[kind.name] = kind()
    return kind
