"""The sole-carrier cell: C_t = Q(e_{t−1} + f(e_{t−1}, g_o(O_t), g_a(A_{t−1}))), step by step, for S stacked runs.

This file is the definition. The engines compute the same thing faster and are checked against it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action, encoders, observe, prior_input, side_information
from diacritic.memory.layers import Parameters, Weight, dense, gru_cell, hidden_layers, linear, reader
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.quantise import code_vectors, quantised
from diacritic.memory.shape import Architecture, Shape


@dataclass(frozen=True)
class State:
    """What persists from one step to the next."""

    embedding: Tensor  # e_{t−1}, [runs, rows, d]
    code: Tensor  # C_{t−1}, [runs, rows]; K before the first step
    hidden: Tensor | None = None  # the continuous path of scaffold and bypass
    identification: Tensor | None = None  # the second carrier's e_{t−1}

    def each(self, change: Callable[[Tensor], Tensor]) -> "State":
        """All that it holds, changed."""
        return replace(self, **{name: change(value) for name, value in vars(self).items() if value is not None})


def weights(shape: Shape, architecture: Architecture) -> dict[str, Weight]:
    """Every parameter that the memory itself needs; heads add their own."""
    features, d = architecture.feature_size, architecture.code_size
    layers = encoders(shape, architecture) | residual("residual", architecture)
    layers["codebook"] = Weight((architecture.codes, d), scale=1 / architecture.codes)
    if architecture.path != "none":
        size = architecture.path_size or architecture.width
        layers |= dense("path.input", 2 * features, 3 * size) | dense("path.state", size, 3 * size)
        layers |= dense("path.out", size, d)
    if architecture.identification:
        layers |= residual("identification", architecture)
        codes = architecture.identification
        layers["identification.codebook"] = Weight((codes, d), scale=1 / codes)
    return layers


def residual(name: str, architecture: Architecture) -> dict[str, Weight]:
    """f: hidden layers on (e_{t−1}, g_o(O_t), g_a(A_{t−1})), the first of them in three parts."""
    features, d, width = architecture.feature_size, architecture.code_size, architecture.width
    layers = reader(name, features, d, width, d, architecture.residual_layers, more=features)
    layers[f"{name}.action.weight"] = Weight((features, width), scale=(2 * features + d) ** -0.5)
    return layers


def drive(parameters: Parameters, name: str, side: Tensor, previous: Tensor) -> Tensor:
    """The part of f's first layer that does not depend on the code: W_o g_o(O_t) + W_a g_a(A_{t−1}) + b."""
    acted = encode_action(parameters, previous)
    return linear(parameters, f"{name}.observation", side) + linear(parameters, f"{name}.action", acted)


def last_hidden(parameters: Parameters, name: str, embedding: Tensor, driven: Tensor) -> Tensor:
    """The last hidden layer of f(e, ·) from the code's vector and the driven part."""
    return hidden_layers(parameters, name, driven + linear(parameters, f"{name}.code", embedding))[-1]


def propose(parameters: Parameters, name: str, embedding: Tensor, driven: Tensor) -> Tensor:
    """f(e, ·)."""
    return linear(parameters, f"{name}.out", last_hidden(parameters, name, embedding, driven))


def begin(parameters: Parameters, architecture: Architecture, rows: int) -> State:
    """e₀ and no code yet."""
    codebook = parameters["codebook"]
    none = torch.full((len(codebook), rows), architecture.codes, device=codebook.device)
    path = architecture.path_size or architecture.width
    hidden = codebook.new_zeros(len(codebook), rows, path) if architecture.path != "none" else None
    second = first_vector(parameters, architecture, "identification.codebook") if architecture.identification else None
    first = first_vector(parameters, architecture).expand(-1, rows, -1)
    return State(first, none, hidden, None if second is None else second.expand(-1, rows, -1))


def first_vector(parameters: Parameters, architecture: Architecture, name: str = "codebook") -> Tensor:
    """e₀ of every run, [runs, 1, d]: zero, or the vector of code 0 with its gradient."""
    first = parameters[name][:, :1]
    return torch.zeros_like(first) if architecture.start == "zero" else code_vectors(first, architecture.bound)


def carried_vectors(parameters: Parameters, architecture: Architecture) -> Tensor:
    """The vectors that a step may start from, [runs, K + 1, d]: those of the codes, and e₀ as the last."""
    vectors = code_vectors(parameters["codebook"], architecture.bound)
    return torch.cat([vectors, first_vector(parameters, architecture)], 1)


def step(
    parameters: Parameters,
    architecture: Architecture,
    state: State,
    inputs: Inputs,
    gradient: str = "full",
    strength: Tensor | float = 1.0,
) -> tuple[State, Record]:
    """One step. `strength` is α, the weight of the continuous path; it is 0 when a scaffold has been taken down."""
    features = observe(parameters, inputs)
    side = side_information(parameters, inputs, features)
    carried, entering = carried_on(architecture, state.embedding, gradient)
    proposal = carried + propose(parameters, "residual", entering, drive(parameters, "residual", side, inputs.previous))
    hidden = None
    if architecture.path != "none" and state.hidden is not None:
        told = torch.cat([side, encode_action(parameters, inputs.previous)], -1)
        hidden = gru_cell(parameters, "path.state", linear(parameters, "path.input", told), state.hidden)
        added = strength * linear(parameters, "path.out", hidden)
        proposal = added if architecture.path == "bypass" and architecture.path_alone else proposal + added
    proposal, embedding, code = quantised(proposal, parameters["codebook"], architecture.bound)
    second = None
    if state.identification is not None:
        second = _identify(parameters, architecture, state.identification, side, inputs, gradient)
    read = prior_input(architecture, inputs, side)
    record = Record(features, side, proposal, embedding, code, second, prior_input=read, observation=inputs.observation)
    return State(embedding, code, hidden, None if second is None else second.embedding), record


def carried_on(architecture: Architecture, embedding: Tensor, gradient: str) -> tuple[Tensor, Tensor]:
    """What the residual is added to, and what enters f: with the carousel error flows along the former alone."""
    carried = embedding if architecture.persistent else torch.zeros_like(embedding)
    return carried, carried.detach() if gradient == "carousel" else carried


def _identify(
    parameters: Parameters, architecture: Architecture, embedding: Tensor, side: Tensor, inputs: Inputs, gradient: str
) -> Record:
    """The second carrier's step: the same cell with its own residual and codebook on the shared encoders."""
    if architecture.detached:
        side = side.detach()
        own = {name: value.detach() for name, value in parameters.items() if name.startswith("previous.")}
        parameters = {**parameters, **own}
    driven = drive(parameters, "identification", side, inputs.previous)
    carried, entering = carried_on(architecture, embedding, gradient)
    proposal = carried + propose(parameters, "identification", entering, driven)
    coded = quantised(proposal, parameters["identification.codebook"], architecture.bound)
    return Record(side, side, *coded, prior_input=prior_input(architecture, inputs, side))


class Codebook(Memory):
    """A memory whose codes are the vectors of a codebook."""

    measured = "code"
    state = "carrier"

    def codebooks(self, architecture: Architecture) -> dict[str, int]:
        return {"": architecture.codes}

    def carried(self, parameters: Parameters, architecture: Architecture) -> Tensor:
        return carried_vectors(parameters, architecture)

    def held(self, parameters: Parameters, architecture: Architecture) -> Tensor:
        return code_vectors(parameters["codebook"], architecture.bound)


@register
class Code(Codebook):
    """One hard code; with a continuous path or a second carrier beside it where the architecture says so."""

    name = "code"

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return weights(shape, architecture)

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> State:
        state = begin(parameters, architecture, rows)
        return replace(state, hidden=None) if self.annealed(architecture) else state  # taken down by now

    def step(
        self, parameters: Parameters, architecture: Architecture, state: State, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[State, Record]:
        return step(parameters, architecture, state, inputs, flow.gradient, flow.strength)

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        standing = begin(parameters, architecture, episodes.observation.shape[-2])  # with its scaffold
        return self.follow(parameters, architecture, standing, episodes, flow)

    def codebooks(self, architecture: Architecture) -> dict[str, int]:
        second = {"identification.": architecture.identification} if architecture.identification else {}
        return {"": architecture.codes, **second}

    def beside_the_code(self, architecture: Architecture) -> tuple[str, ...]:
        bypass = ("a continuous state persists beside the code",) if architecture.path == "bypass" else ()
        return (*bypass, "a second carrier persists beside the code") if architecture.identification else bypass

    def annealed(self, architecture: Architecture) -> bool:
        return architecture.path == "scaffold"

    def finite(self, architecture: Architecture) -> bool:
        return architecture.path != "bypass"  # a second carrier is read, but never acted on

    def fast(self, architecture: Architecture) -> bool:
        return True
