"""Other sole carriers: a GRU whose state is one code, and codes that are points of a lattice (FSQ, LFQ)."""

import math
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory import sole_carrier
from diacritic.memory.encoders import encode_action, encoders, observe, prior_input
from diacritic.memory.gru import gated
from diacritic.memory.kernels.launch import usable
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.quantise import quantised, straight_through
from diacritic.memory.repeats import Repeats, continued
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import Codebook, State


class CodeMemory(Memory):
    """One hard code persists, and nothing else; encoders see all steps at once, and only the code waits."""

    measured = "code"
    state = "carrier"
    shares = True

    @abstractmethod
    def enter(self, parameters: Parameters, features: Tensor, previous: Tensor) -> Tensor:
        """The part of a step that does not depend on the code."""

    @abstractmethod
    def move(
        self, parameters: Parameters, architecture: Architecture, state: State, entering: Tensor, flow: Flow
    ) -> tuple[Tensor, State]:
        """The proposal, and the state after it is quantised."""

    def moves(
        self, parameters: Parameters, architecture: Architecture, entered: Tensor, steps: int, flow: Flow
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Proposals, embeddings and codes of whole episodes, in rows t·N + n, from what enters at every step."""
        state, moved = self.start(parameters, architecture, entered.shape[1] // steps), []
        for entering in entered.unflatten(1, (steps, -1)).unbind(1):
            proposal, state = self.move(parameters, architecture, state, entering, flow)
            moved.append((proposal, state.embedding, state.code))
        proposal, embedding, code = (torch.cat(part, 1) for part in zip(*moved, strict=True))
        return proposal, embedding, code

    def read(self, parameters: Parameters, proposal: Tensor, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """Proposal and embedding as losses and heads read them."""
        return proposal, embedding

    def step(
        self, parameters: Parameters, architecture: Architecture, state: State, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[State, Record]:
        features = observe(parameters, inputs)
        entering = self.enter(parameters, features, inputs.previous)
        proposal, state = self.move(parameters, architecture, state, entering, flow)
        shown = self.read(parameters, proposal, state.embedding)
        read = prior_input(architecture, inputs, features)
        return state, Record(features, features, *shown, state.code, prior_input=read)

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        rows, steps = episodes.rows(), episodes.observation.shape[-3]
        features = observe(parameters, rows)
        entered = self.enter(parameters, features, rows.previous)
        proposal, embedding, code = self.moves(parameters, architecture, entered, steps, flow)
        shown, read = self.read(parameters, proposal, embedding), prior_input(architecture, rows, features)
        return [Record(features, features, *shown, code, prior_input=read)]

    def unroll_histories(
        self, parameters: Parameters, architecture: Architecture, repeats: Repeats, flow: Flow = PLAYING
    ) -> Record:
        features = observe(parameters, repeats.inputs)
        entered = repeats.levels(self.enter(parameters, features, repeats.inputs.previous))
        state, steps = self.start(parameters, architecture, repeats.counts[0]), []
        for entering, parent in zip(entered, repeats.parents, strict=True):
            before = State(continued(state.embedding, parent), state.code)  # a step does not read the code's number
            proposal, state = self.move(parameters, architecture, before, entering, flow)
            steps.append((proposal, state.embedding, state.code))
        proposal, embedding, code = (torch.cat(part, 1) for part in zip(*steps, strict=True))
        shown, read = self.read(parameters, proposal, embedding), prior_input(architecture, repeats.inputs, features)
        return Record(features, features, *shown, code, prior_input=read)

    def beside_the_code(self, architecture: Architecture) -> tuple[str, ...]:
        return ()

    def finite(self, architecture: Architecture) -> bool:
        return True


@register
class GruCode(Codebook, CodeMemory):
    """C_t = Q(GRU(e_{t−1}, x_t)): the carrier with a gated cell instead of a residual."""

    name = "gru-code"

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        size, features = architecture.code_size, architecture.feature_size
        bound = size**-0.5
        return {
            **encoders(shape, architecture),
            **dense("cell.input", 2 * features, 3 * size),
            "cell.state.weight": Weight((size, 3 * size), scale=bound),
            "cell.state.bias": Weight((3 * size,), scale=bound),
            "codebook": Weight((architecture.codes, size), scale=1 / architecture.codes),
        }

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> State:
        return sole_carrier.begin(parameters, architecture, rows)

    def enter(self, parameters: Parameters, features: Tensor, previous: Tensor) -> Tensor:
        acted = encode_action(parameters, previous).expand_as(features)
        return linear(parameters, "cell.input", torch.cat([features, acted], -1))

    def move(
        self, parameters: Parameters, architecture: Architecture, state: State, entering: Tensor, flow: Flow
    ) -> tuple[Tensor, State]:
        proposal = gated(parameters, state.embedding, entering)
        proposal, embedding, code = quantised(proposal, parameters["codebook"], architecture.bound)
        return proposal, State(embedding, code)

    def moves(
        self, parameters: Parameters, architecture: Architecture, entered: Tensor, steps: int, flow: Flow
    ) -> tuple[Tensor, Tensor, Tensor]:
        if usable(entered):
            from diacritic.memory.kernels import gru_code as kernels

            if kernels.fits(architecture):
                return kernels.follow(parameters, architecture, entered, steps)
        return super().moves(parameters, architecture, entered, steps, flow)


class Lattice(CodeMemory):
    """Codes are the points of a lattice: each of n numbers has a few levels, and there is no codebook to learn."""

    levels: ClassVar[int]

    def numbers(self, architecture: Architecture) -> int:
        """n, with levels^n = K."""
        count = 1
        while self.levels**count < architecture.codes:
            count += 1
        if self.levels**count != architecture.codes:
            raise UserError(
                "architecture.codes", f"{self.name} needs a power of {self.levels}, not {architecture.codes}"
            )
        return count

    def quantised(self, proposal: Tensor) -> tuple[Tensor, Tensor]:
        """The nearest point, straight-through, and the level of each number, from 0."""
        raise NotImplementedError

    def squash(self) -> tuple[float, float, float] | None:
        """Half width, offset and shift of the tanh that is rounded; zeros: a sign. None: kernels do not quantise so."""
        return None

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        numbers = self.numbers(architecture)
        residual = sole_carrier.residual("residual", replace(architecture, code_size=numbers))
        return encoders(shape, architecture) | residual | dense("lattice", numbers, architecture.code_size)

    def points(self, like: Tensor, architecture: Architecture) -> Tensor:
        """The point of every code, [K, n]."""
        stride = self.levels ** torch.arange(self.numbers(architecture), device=like.device)
        level = torch.arange(architecture.codes, device=like.device).unsqueeze(-1) // stride % self.levels
        return self.value(level.to(like.dtype))

    def value(self, level: Tensor) -> Tensor:
        """The number that a level, from 0, stands for."""
        raise NotImplementedError

    def carried(self, parameters: Parameters, architecture: Architecture) -> Tensor:
        out = parameters["residual.out.weight"]
        points = self.points(out, architecture)
        return torch.nn.functional.pad(points, (0, 0, 0, 1)).expand(len(out), -1, -1)  # before the first step: zeros

    def held(self, parameters: Parameters, architecture: Architecture) -> Tensor:
        return linear(parameters, "lattice", self.carried(parameters, architecture)[:, :-1])

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> State:
        out = parameters["residual.out.weight"]
        none = torch.full((len(out), rows), architecture.codes, device=out.device)
        return State(out.new_zeros(len(out), rows, self.numbers(architecture)), none)

    def enter(self, parameters: Parameters, features: Tensor, previous: Tensor) -> Tensor:
        return sole_carrier.drive(parameters, "residual", features, previous)

    def move(
        self, parameters: Parameters, architecture: Architecture, state: State, entering: Tensor, flow: Flow
    ) -> tuple[Tensor, State]:
        carried, read = sole_carrier.carried_on(architecture, state.embedding, flow.gradient)
        point, level = self.quantised(carried + sole_carrier.propose(parameters, "residual", read, entering))
        stride = self.levels ** torch.arange(level.shape[-1], device=level.device)
        return point, State(point, (level * stride).sum(-1))

    def moves(
        self, parameters: Parameters, architecture: Architecture, entered: Tensor, steps: int, flow: Flow
    ) -> tuple[Tensor, Tensor, Tensor]:
        if usable(entered):
            from diacritic.memory.kernels import lattice as kernels

            squash, full = self.squash(), flow.gradient != "carousel"
            if squash is not None and kernels.fits(architecture):
                point, code = kernels.follow(parameters, entered, steps, self.levels, squash, full)
                return point, point, code
        return super().moves(parameters, architecture, entered, steps, flow)

    def read(self, parameters: Parameters, proposal: Tensor, embedding: Tensor) -> tuple[Tensor, Tensor]:
        held = linear(parameters, "lattice", embedding)
        return held, held


@register
class Fsq(Lattice):
    """Finite scalar quantisation (Mentzer et al. 2023) with four levels a number."""

    name = "fsq"
    levels = 4

    def squash(self) -> tuple[float, float, float]:
        half = (self.levels - 1) * (1 + 1e-3) / 2
        offset = 0.5 if self.levels % 2 == 0 else 0.0
        return half, offset, math.atanh(offset / half)

    def quantised(self, proposal: Tensor) -> tuple[Tensor, Tensor]:
        half, offset, shift = self.squash()
        within = torch.tanh(proposal + shift) * half - offset
        level = within.detach().round()
        return straight_through(level, within) / (self.levels // 2), level.long() + self.levels // 2

    def value(self, level: Tensor) -> Tensor:
        return (level - self.levels // 2) / (self.levels // 2)


@register
class Lfq(Lattice):
    """Lookup-free quantisation (Yu et al. 2023): the signs of log₂ K numbers."""

    name = "lfq"
    levels = 2

    def squash(self) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.0

    def quantised(self, proposal: Tensor) -> tuple[Tensor, Tensor]:
        level = (proposal.detach() > 0).long()
        return straight_through(self.value(level.to(proposal.dtype)), proposal), level

    def value(self, level: Tensor) -> Tensor:
        return 2 * level - 1
