"""Continuous recurrent memories: one vector persists; the action head reads g_o(O_t) and a readout of the vector."""

from abc import abstractmethod

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action, encoders, observe
from diacritic.memory.kernels.launch import usable
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record
from diacritic.memory.repeats import Repeats, continued
from diacritic.memory.shape import Architecture, Shape


class VectorMemory(Memory):
    """A cell that moves a vector: x_t = W (g_o(O_t), g_a(A_{t−1})), s_t = cell(s_{t−1}, x_t)."""

    shares = True

    def size(self, architecture: Architecture) -> int:
        """Numbers that persist."""
        return architecture.state_size

    def entering(self, architecture: Architecture) -> int:
        """Numbers of x_t."""
        return architecture.state_size

    @abstractmethod
    def cell(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        """The parameters of the cell itself."""

    @abstractmethod
    def advance(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        """s_t."""

    def readout(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        """What the action head reads of the state, [runs, rows, d]."""
        return linear(parameters, "memory.out", state)

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return {
            **encoders(shape, architecture),
            **dense("memory.in", 2 * architecture.feature_size, self.entering(architecture)),
            **self.cell(shape, architecture),
            **dense("memory.out", self.size(architecture), architecture.code_size),
        }

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> Tensor:
        into = parameters["memory.in.weight"]
        return into.new_zeros(len(into), rows, self.size(architecture))

    def step(
        self, parameters: Parameters, architecture: Architecture, state: Tensor, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[Tensor, Record]:
        features, x = entered(parameters, inputs)
        state = self.advance(parameters, state, x)
        return state, record(features, self.readout(parameters, state, x))

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        features, x = entered(parameters, episodes.rows())
        return [record(features, self.readouts(parameters, architecture, x, episodes.observation.shape[-3]))]

    def readouts(self, parameters: Parameters, architecture: Architecture, x: Tensor, steps: int) -> Tensor:
        """What the action head reads at every step of whole episodes, in rows t·N + n."""
        states = self.states(parameters, architecture, x.unflatten(1, (steps, -1)))
        return self.readout(parameters, states.flatten(1, 2), x)

    def unroll_histories(
        self, parameters: Parameters, architecture: Architecture, repeats: Repeats, flow: Flow = PLAYING
    ) -> Record:
        features, x = entered(parameters, repeats.inputs)
        states = self.history_states(parameters, architecture, x, repeats)
        return record(features, self.readout(parameters, states, repeats.histories(x)))

    def history_states(self, parameters: Parameters, architecture: Architecture, x: Tensor, repeats: Repeats) -> Tensor:
        """Of every distinct history, from x of the distinct inputs."""
        state, states = self.start(parameters, architecture, repeats.counts[0]), []
        for entering, parent in zip(repeats.levels(x), repeats.parents, strict=True):
            state = self.advance(parameters, continued(state, parent), entering)
            states.append(state)
        return torch.cat(states, 1)

    def states(self, parameters: Parameters, architecture: Architecture, x: Tensor) -> Tensor:
        """Of every step, from x [runs, T, N, ·]: encoders and readout see all steps at once, only the cell waits."""
        state, states = self.start(parameters, architecture, x.shape[2]), []
        for entering in x.unbind(1):
            state = self.advance(parameters, state, entering)
            states.append(state)
        return torch.stack(states, 1)


class LinearMemory(VectorMemory):
    """A cell whose state enters linearly, s_t = a_t s_{t−1} + b_t by element: whole episodes are one scan."""

    @abstractmethod
    def gates(self, parameters: Parameters, x: Tensor) -> tuple[Tensor, Tensor]:
        """(a_t, b_t) of every row, real or complex."""

    def advance(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        kept, new = self.gates(parameters, x)
        return as_real(kept * as_complex(state) + new) if new.is_complex() else kept * state + new

    def after(self, parameters: Parameters, state: Tensor, x: Tensor, steps: int) -> Tensor:
        """The state after so many steps of one input, by doubling: log₂ steps products."""
        kept, new = self._every(parameters, x)
        begun = as_complex(state) if new.is_complex() else state
        moved, power, added = (part.to(torch.complex128) for part in (begun, kept, new))
        while steps:
            if steps & 1:
                moved = power * moved + added
            power, added, steps = power * power, power * added + added, steps >> 1
        return (as_real(moved) if begun.is_complex() else moved.real).to(state.dtype)

    def states(self, parameters: Parameters, architecture: Architecture, x: Tensor) -> Tensor:
        kept, new = (part.unflatten(1, x.shape[1:3]) for part in self._every(parameters, x.flatten(1, 2)))
        states = scan(kept, new)
        return as_real(states) if states.is_complex() else states

    def history_states(self, parameters: Parameters, architecture: Architecture, x: Tensor, repeats: Repeats) -> Tensor:
        kept, new = (repeats.steps(part) for part in self._every(parameters, x))
        states = repeats.pick(scan(kept, new))
        return as_real(states) if states.is_complex() else states

    def _every(self, parameters: Parameters, x: Tensor) -> tuple[Tensor, Tensor]:
        kept, new = self.gates(parameters, x)
        return kept.expand_as(new), new


def entered(parameters: Parameters, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """g_o(O_t), and x_t."""
    features = observe(parameters, inputs)
    acted = encode_action(parameters, inputs.previous)
    return features, linear(parameters, "memory.in", torch.cat([features, acted.expand_as(features)], -1))


def record(features: Tensor, readout: Tensor, actions: Tensor | None = None) -> Record:
    """The record of a memory without a code."""
    no_code = torch.zeros(readout.shape[:2], dtype=torch.long, device=readout.device)
    return Record(features, features, readout, readout, no_code, actions=actions)


def scan(kept: Tensor, new: Tensor) -> Tensor:
    """s_t = a_t s_{t−1} + b_t from s_0 = 0 for [runs, T, N, ·]: by kernels, or by doubling in log₂ T passes."""
    if usable(new.real):
        from diacritic.memory.kernels.linear_scan import LinearScan

        return LinearScan.apply(kept, new)
    reach = 1
    while reach < new.shape[1]:
        later = new[:, reach:] + kept[:, reach:] * new[:, :-reach]
        new = torch.cat([new[:, :reach], later], 1)
        kept = torch.cat([kept[:, :reach], kept[:, reach:] * kept[:, :-reach]], 1)
        reach *= 2
    return new


def as_complex(state: Tensor) -> Tensor:
    """Real and imaginary halves as complex numbers."""
    real, imaginary = state.chunk(2, -1)
    return torch.complex(real, imaginary)


def as_real(state: Tensor) -> Tensor:
    return torch.cat([state.real, state.imag], -1)
