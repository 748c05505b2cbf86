"""The sole-carrier cell: C_t = Q(e_{t−1} + f(e_{t−1}, g_o(O_t), g_a(A_{t−1}))), step by step, for S stacked runs.

This file is the definition. The engines compute the same thing faster and are checked against it.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory import continuous_path
from diacritic.memory.layers import Parameters, Weight, dense, linear, reader
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.quantise import look_up, nearest, straight_through
from diacritic.memory.shape import Architecture, Shape


@dataclass(frozen=True)
class State:
    """What persists from one step to the next."""

    embedding: Tensor  # e_{t−1}, [runs, rows, d]
    code: Tensor  # C_{t−1}, [runs, rows]; K before the first step
    hidden: Tensor | None = None  # the continuous path of scaffold and bypass
    identification: Tensor | None = None  # the second carrier's e_{t−1}


def weights(shape: Shape, architecture: Architecture) -> dict[str, Weight]:
    """Every parameter that the memory itself needs; heads add their own."""
    width, d = architecture.width, architecture.code_size
    layers = encoders(shape, architecture) | residual("residual", width, d)
    layers["codebook"] = Weight((architecture.codes, d), scale=1 / architecture.codes)
    if architecture.path != "none":
        layers |= continuous_path.weights(width, d)
    if architecture.identification:
        layers |= residual("identification", width, d)
        codes = architecture.identification
        layers["identification.codebook"] = Weight((codes, d), scale=1 / codes)
    return layers


def encoders(shape: Shape, architecture: Architecture) -> dict[str, Weight]:
    """g_o, g_a, and g_s for the symbols of the matched-side-information controls."""
    width = architecture.width
    layers = dense("observe.first", shape.observation, width) | dense("observe.second", width, width)
    layers |= dense("previous", shape.action, width)
    if shape.frames:
        from diacritic.memory.pixels import weights as pixel_weights

        layers |= pixel_weights(width)
    return layers | dense("symbol", shape.symbols, width) if architecture.side == "symbol" else layers


def residual(name: str, width: int, d: int) -> dict[str, Weight]:
    """f: one hidden layer on (e_{t−1}, g_o(O_t), g_a(A_{t−1})), its first layer in three parts."""
    bound = (2 * width + d) ** -0.5
    layers = reader(name, width, d, width, d)
    layers[f"{name}.action.weight"] = Weight((width, width), scale=bound)
    for part in ("observation.weight", "observation.bias", "code.weight"):
        layers[f"{name}.{part}"] = Weight(layers[f"{name}.{part}"].shape, scale=bound)
    return layers


def observe(parameters: Parameters, inputs: Inputs) -> Tensor:
    """g_o(O_t): two layers, and the camera's features where there is a camera."""
    first = linear(parameters, "observe.first", inputs.observation)
    if inputs.frame is not None:
        from diacritic.memory.pixels import features

        first = first + features(parameters, inputs.frame)
    return torch.relu(linear(parameters, "observe.second", torch.relu(first)))


def side_information(parameters: Parameters, inputs: Inputs, features: Tensor) -> Tensor:
    """What the transition and the prior read."""
    if "symbol.weight" not in parameters:
        return features
    if inputs.symbol is None:
        raise UserError("symbol", "this control reads the symbol Ō_t; give it with every observation")
    return torch.relu(linear(parameters, "symbol", inputs.symbol))


def drive(parameters: Parameters, name: str, side: Tensor, previous: Tensor) -> Tensor:
    """The part of f's first layer that does not depend on the code: W_o g_o(O_t) + W_a g_a(A_{t−1}) + b."""
    acted = torch.relu(linear(parameters, "previous", previous))
    return linear(parameters, f"{name}.observation", side) + linear(parameters, f"{name}.action", acted)


def propose(parameters: Parameters, name: str, embedding: Tensor, driven: Tensor) -> Tensor:
    """f(e, ·) from the code's vector and the driven part."""
    return linear(parameters, f"{name}.out", torch.relu(driven + linear(parameters, f"{name}.code", embedding)))


def begin(parameters: Parameters, architecture: Architecture, rows: int) -> State:
    """e₀ = 0 and no code yet."""
    codebook = parameters["codebook"]
    zero = codebook.new_zeros(len(codebook), rows, architecture.code_size)
    none = torch.full((len(codebook), rows), architecture.codes, device=codebook.device)
    hidden = codebook.new_zeros(len(codebook), rows, architecture.width) if architecture.path != "none" else None
    return State(zero, none, hidden, zero if architecture.identification else None)


def step(
    parameters: Parameters,
    architecture: Architecture,
    state: State,
    inputs: Inputs,
    gradient: str = "full",
    strength: Tensor | float = 1.0,
) -> tuple[State, Record]:
    """One step. `strength` is α, the weight of the continuous path; it is 0 when a scaffold has been taken down."""
    features, side, proposal, hidden = proposed(parameters, architecture, state, inputs, gradient, strength)
    code = nearest(proposal, parameters["codebook"])
    embedding = straight_through(look_up(parameters["codebook"], code), proposal)
    second = None
    if state.identification is not None:
        second = _identify(parameters, architecture, state.identification, side, inputs.previous, gradient)
    record = Record(features, side, proposal, embedding, code, second)
    return State(embedding, code, hidden, None if second is None else second.embedding), record


def proposed(
    parameters: Parameters,
    architecture: Architecture,
    state: State,
    inputs: Inputs,
    gradient: str,
    strength: Tensor | float,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Features g_o(O_t), side information, the proposal ẽ_t and the new state of the continuous path."""
    features = observe(parameters, inputs)
    side = side_information(parameters, inputs, features)
    carried = state.embedding if architecture.persistent else torch.zeros_like(state.embedding)
    driven = drive(parameters, "residual", side, inputs.previous)
    # The carousel stops the gradient where the code enters f: error flows back along the residual path alone.
    entering = carried.detach() if gradient == "carousel" else carried
    proposal = carried + propose(parameters, "residual", entering, driven)
    hidden = None
    if architecture.path != "none" and state.hidden is not None:
        hidden = continuous_path.advance(parameters, state.hidden, side, inputs.previous)
        proposal = proposal + strength * linear(parameters, "path.out", hidden)
    return features, side, torch.tanh(proposal) if architecture.bound == "tanh" else proposal, hidden


def _identify(
    parameters: Parameters, architecture: Architecture, embedding: Tensor, side: Tensor, previous: Tensor, gradient: str
) -> Record:
    """The second carrier's step: the same cell with its own residual and codebook on the shared encoders."""
    if architecture.detached:
        side, parameters = side.detach(), {**parameters, "previous.weight": parameters["previous.weight"].detach()}
        parameters["previous.bias"] = parameters["previous.bias"].detach()
    driven = drive(parameters, "identification", side, previous)
    carried = embedding if architecture.persistent else torch.zeros_like(embedding)
    entering = carried.detach() if gradient == "carousel" else carried
    proposal = carried + propose(parameters, "identification", entering, driven)
    proposal = torch.tanh(proposal) if architecture.bound == "tanh" else proposal
    code = nearest(proposal, parameters["identification.codebook"])
    after = straight_through(look_up(parameters["identification.codebook"], code), proposal)
    return Record(side, side, proposal, after, code)


@register
class Code(Memory):
    """One hard code; with a continuous path or a second carrier beside it where the architecture says so."""

    name = "code"
    measured = "code"
    state = "carrier"

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
        standing = begin(parameters, architecture, episodes.observation.shape[1])  # with its scaffold
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
        return architecture.path == "none" and not architecture.identification
