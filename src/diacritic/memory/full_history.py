"""Full history: a causal Transformer that sees every observation and action so far, and a policy that reads it by code.

One position stands for one step: a token of the observation beside a token of the previous action (d floats each).
Nothing is forgotten, so what a policy carries grows with the episode; the compact carrier is measured against this.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from diacritic.memory.encoders import encode_action, encoders, observe
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.quantise import bounded, code_vectors, look_up, nearest, straight_through
from diacritic.memory.shape import Architecture, Shape

HEADS, LAYERS = 4, 2


def weights(shape: Shape, architecture: Architecture) -> dict[str, Weight]:
    """The encoder: g_o and g_a, a token of each, learned positions up to the horizon, and the blocks.

    Normalisations have no gain of their own, since the layer that follows has one; blocks have no biases, each of
    which would cost two more passes over memory.
    """
    width, token = architecture.width, architecture.code_size
    if width % HEADS:
        raise ValueError(f"transformer width {width}: must be a multiple of the {HEADS} heads")
    encoder = {
        **encoders(shape, architecture),
        **dense("token.observation", architecture.feature_size, token),
        **dense("token.previous", architecture.feature_size, token),
        **dense("token.join", 2 * token, width),
        "positions": Weight((shape.horizon, width), "normal", 0.02),
    }
    for k in range(LAYERS):
        for layer, inputs, outputs in (("attention", 1, 3), ("mix", 1, 1), ("expand", 1, 4), ("contract", 4, 1)):
            encoder |= dense(f"block{k}.{layer}", inputs * width, outputs * width, bias=False)
    return encoder


def memory_weights(shape: Shape, architecture: Architecture) -> dict[str, Weight]:
    """The encoder, the state before quantisation and its codes; the action head `act` comes with imitation."""
    codes, d = architecture.codes, architecture.code_size
    return {
        **weights(shape, architecture),
        **dense("state", architecture.width, d),
        "codebook": Weight((codes, d), scale=1 / codes),
    }


def lowered(parameters: Parameters, dtype: torch.dtype) -> dict[str, Tensor]:
    """The parameters in a lower precision for the matrix products; codes stay as they are, so that ties stay exact."""
    return {name: value if name == "codebook" else value.to(dtype) for name, value in parameters.items()}


def encode(parameters: Parameters, observations: Tensor, previous: Tensor, frames: Tensor | None = None) -> Tensor:
    """An embedding of every prefix H_t, [runs, T, N, width].

    `observations` [T, N, ·] and `previous` actions [T, N, ·] may have a leading axis of runs; so may the camera's
    `frames` [T, N, 64, 64, 3].
    """
    _, history = _look(parameters, observations, previous, frames)
    return transform(parameters, history).transpose(1, 2)


def remember(
    parameters: Parameters,
    observations: Tensor,
    previous: Tensor,
    frames: Tensor | None = None,
    bound: str = "none",
) -> Record:
    """The memory of every prefix, in rows t·N + n: the state before quantisation and its nearest code."""
    features, history = _look(parameters, observations, previous, frames)
    state = linear(parameters, "state", transform(parameters, history).flatten(1, 2))
    state = state.unflatten(1, history.shape[1:3]).transpose(1, 2).flatten(1, 2)
    return _record(parameters, features, state, bound)


def tokens(parameters: Parameters, features: Tensor, previous: Tensor) -> Tensor:
    """What one step leaves behind, [runs, rows, 2 d]: d floats of the observation, d of the action before it."""
    acted = encode_action(parameters, previous)
    return torch.cat(
        [linear(parameters, "token.observation", features), linear(parameters, "token.previous", acted)], -1
    )


def transform(parameters: Parameters, history: Tensor) -> Tensor:
    """Tokens [runs, N, T, 2 d] of whole prefixes to embeddings [runs, N, T, width]; none sees a later one."""
    x = _enter(parameters, history, 0)
    for k in range(LAYERS):
        x, _ = _block(parameters, f"block{k}", x)
    return _norm(x)


@dataclass(frozen=True)
class History:
    """The memory without a cache: the tokens [runs, N, t, 2 d] of all steps so far, encoded again at each step."""

    kept: Tensor

    def extend(self, parameters: Parameters, token: Tensor) -> tuple["History", Tensor]:
        grown = torch.cat([self.kept, token.unsqueeze(2)], 2)
        return History(grown), transform(parameters, grown)[:, :, -1]

    def footprint(self) -> int:
        """Bytes that one episode carries: 64 (T − 1) floats on the way into step T."""
        return self.kept.shape[2] * self.kept.shape[3] * self.kept.element_size()


@dataclass(frozen=True)
class Cache:
    """The memory with a cache: keys and values [runs · N, heads, t, width / heads] of every block."""

    kept: tuple[tuple[Tensor, Tensor], ...]

    def extend(self, parameters: Parameters, token: Tensor) -> tuple["Cache", Tensor]:
        x = _enter(parameters, token.unsqueeze(2), self.kept[0][0].shape[2])
        grown = []
        for k, past in enumerate(self.kept):
            x, pair = _block(parameters, f"block{k}", x, past)
            grown.append(pair)
        return Cache(tuple(grown)), _norm(x)[:, :, 0]

    def footprint(self) -> int:
        """Bytes that one episode carries: two floats per layer, step and unit of width."""
        return sum(part[0].numel() * part.element_size() for pair in self.kept for part in pair)


def start(parameters: Parameters, episodes: int, cache: bool = True) -> History | Cache:
    """The empty memory."""
    join = parameters["token.join.weight"]
    runs, floats, width = join.shape
    if not cache:
        return History(join.new_zeros(runs, episodes, 0, floats))
    empty = join.new_zeros(runs * episodes, HEADS, 0, width // HEADS)
    return Cache(((empty, empty),) * LAYERS)


def step(
    parameters: Parameters,
    memory: History | Cache,
    observation: Tensor,
    previous: Tensor,
    frame: Tensor | None = None,
    bound: str = "none",
) -> tuple[History | Cache, Record]:
    """One step of all episodes: the grown memory, and the record that the action head reads.

    `observation` [N, ·] and the `previous` action [N, ·] (zeros at first) may have a leading axis of runs.
    """
    features = observe(parameters, Inputs(observation, previous, frame=frame))
    memory, top = memory.extend(parameters, tokens(parameters, features, previous))
    return memory, _record(parameters, features, linear(parameters, "state", top), bound)


@register
class FullHistory(Memory):
    """Everything that was seen and done; its state is quantised for the readout alone."""

    name = "history"
    measured = "readout"
    state = "history"

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return memory_weights(shape, architecture)

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> History | Cache:
        return start(parameters, rows)

    def step(
        self,
        parameters: Parameters,
        architecture: Architecture,
        state: History | Cache,
        inputs: Inputs,
        flow: Flow = PLAYING,
    ) -> tuple[History | Cache, Record]:
        return step(parameters, state, inputs.observation, inputs.previous, inputs.frame, architecture.bound)

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        return [remember(parameters, episodes.observation, episodes.previous, episodes.frame, architecture.bound)]

    def lowered(self, parameters: Parameters, precision: torch.dtype) -> Parameters:
        return lowered(parameters, precision)


def _look(
    parameters: Parameters, observations: Tensor, previous: Tensor, frames: Tensor | None
) -> tuple[Tensor, Tensor]:
    """g_o(O_t) in rows t·N + n, and the tokens episode by episode, [runs, N, T, 2 d]."""
    steps_and_episodes = observations.shape[-3:-1]
    rows = previous.flatten(-3, -2)
    frame = None if frames is None else frames.flatten(-5, -4)
    features = observe(parameters, Inputs(observations.flatten(-3, -2), rows, frame=frame))
    return features, tokens(parameters, features, rows).unflatten(1, steps_and_episodes).transpose(1, 2)


def _record(parameters: Parameters, features: Tensor, state: Tensor, bound: str) -> Record:
    codebook = code_vectors(parameters["codebook"], bound)
    proposal = bounded(state.to(codebook.dtype), bound)
    code = nearest(proposal.detach(), codebook.detach())
    return Record(features, features, proposal, straight_through(look_up(codebook, code), proposal), code)


def _enter(parameters: Parameters, history: Tensor, first: int) -> Tensor:
    positions = parameters["positions"]
    last = first + history.shape[2]
    if last > positions.shape[1]:
        raise ValueError(
            f"transformer: step {last} is beyond its {positions.shape[1]} positions; give a longer horizon"
        )
    x = linear(parameters, "token.join", history.flatten(1, 2)).view(*history.shape[:3], -1)
    return x + positions[:, None, first:last]


def _block(
    parameters: Parameters, name: str, x: Tensor, past: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """x + attention(norm x), then x + MLP(norm x), for x [runs, N, T, width]; after a past, T = 1."""
    runs, episodes, steps, width = x.shape
    x = x.flatten(1, 2)
    parts = linear(parameters, f"{name}.attention", _norm(x))
    parts = parts.view(runs * episodes, steps, 3, HEADS, width // HEADS)
    mixed, kept = _attend(parts, past)
    x = x + linear(parameters, f"{name}.mix", mixed.reshape(x.shape))
    hidden = torch.relu(linear(parameters, f"{name}.expand", _norm(x)))
    x = x + linear(parameters, f"{name}.contract", hidden)
    return x.view(runs, episodes, steps, width), kept


def _attend(parts: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Attention of [rows, T, 3, heads, ·] to itself and the past: the mixture, [rows, T, heads, ·]; keys and values."""
    query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
    if parts.is_cuda and parts.requires_grad and past is None:
        from diacritic.memory import short_attention

        if short_attention.fits(parts):
            return short_attention.attend(parts), (key, value)
    if past is not None:
        key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
    mixed = F.scaled_dot_product_attention(query, key, value, is_causal=past is None)
    return mixed.transpose(1, 2), (key, value)


def _norm(x: Tensor) -> Tensor:
    """Zero mean and unit variance over the width."""
    if (
        x.is_cuda and x.requires_grad
    ):  # in training on CUDA, PyTorch's own kernel is many times slower on rows this short
        return _fused_norm()(x.flatten(0, -2)).view(x.shape)
    return _plain_norm(x)


def _plain_norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


@cache
def _fused_norm() -> Callable[[Tensor], Tensor]:
    return torch.compile(_plain_norm)
