"""Full history: a causal Transformer that sees every observation and action so far, and a policy that reads it by code.

One position stands for one step: a token of the observation beside a token of the previous action (d floats each).
Nothing is forgotten, so what a policy carries grows with the episode; the compact carrier is measured against this.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from diacritic.memory.encoders import encode_action, encoders, observe, prior_input
from diacritic.memory.layers import Parameters, Weight, dense, linear, product
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.quantise import quantised
from diacritic.memory.repeats import Repeats
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import record

HEADS, LAYERS = 4, 2


def weights(shape: Shape, architecture: Architecture) -> dict[str, Weight]:
    """The encoder: g_o and g_a, a token of each, learned positions up to the horizon, and the blocks.

    In `pre` blocks normalisations have no gain of their own, since the layer that follows has one, and layers no
    biases, each of which would cost two more passes over memory. `post` blocks are PyTorch's, and g_o and g_a are
    their tokens.
    """
    width, features = architecture.width, architecture.feature_size
    if width % HEADS:
        raise ValueError(f"transformer width {width}: must be a multiple of the {HEADS} heads")
    post, encoder = architecture.blocks == "post", encoders(shape, architecture)
    token = features if post else architecture.code_size
    if not post:
        encoder |= dense("token.observation", features, token) | dense("token.previous", features, token)
    encoder |= dense("token.join", 2 * token, width)
    encoder["positions"] = Weight((shape.horizon, width), "zero" if post else "normal", 0.02)
    for k in range(LAYERS):
        encoder |= _post_weights(f"block{k}", width) if post else _pre_weights(f"block{k}", width)
    return encoder


def _pre_weights(name: str, width: int) -> dict[str, Weight]:
    sizes = (("attention", 1, 3), ("mix", 1, 1), ("expand", 1, 4), ("contract", 4, 1))
    layers = [dense(f"{name}.{layer}", n * width, outputs * width, bias=False) for layer, n, outputs in sizes]
    return {key: weight for layer in layers for key, weight in layer.items()}


def _post_weights(name: str, width: int) -> dict[str, Weight]:
    """As PyTorch's encoder layer starts."""
    layers = dense(f"{name}.expand", width, 2 * width) | dense(f"{name}.contract", 2 * width, width)
    layers |= dense(f"{name}.attention", width, 3 * width) | dense(f"{name}.mix", width, width)
    layers[f"{name}.attention.weight"] = Weight((width, 3 * width), scale=(1.5 / width) ** 0.5)
    for layer in ("attention", "mix", "norm1", "norm2"):
        layers[f"{name}.{layer}.bias"] = Weight((3 * width if layer == "attention" else width,), "zero")
    return layers | {f"{name}.{norm}.gain": Weight((width,), "one") for norm in ("norm1", "norm2")}


def encode(parameters: Parameters, observations: Tensor, previous: Tensor, frames: Tensor | None = None) -> Tensor:
    """An embedding of every prefix H_t, [runs, T, N, width].

    `observations` [T, N, ·] and `previous` actions [T, N, ·] may have a leading axis of runs; so may the camera's
    `frames` [T, N, 64, 64, 3].
    """
    _, history = _look(parameters, observations, previous, frames)
    return transform(parameters, history).transpose(1, 2)


def tokens(parameters: Parameters, features: Tensor, previous: Tensor) -> Tensor:
    """What one step leaves behind, [runs, rows, 2 d]: d floats of the observation, d of the action before it."""
    acted = encode_action(parameters, previous)
    if "token.previous.weight" not in parameters:
        return torch.cat([features, acted], -1)
    return torch.cat(
        [linear(parameters, "token.observation", features), linear(parameters, "token.previous", acted)], -1
    )


def transform(parameters: Parameters, history: Tensor) -> Tensor:
    """Tokens [runs, N, T, 2 d] of whole prefixes to embeddings [runs, N, T, width]; none sees a later one."""
    x = _enter(parameters, history, 0)
    for k in range(LAYERS):
        x, _ = _block(parameters, f"block{k}", x)
    return _leave(parameters, x)


@dataclass(frozen=True)
class Cache:
    """Keys and values [runs · N, heads, t, width / heads] of every block."""

    kept: tuple[tuple[Tensor, Tensor], ...]

    def extend(self, parameters: Parameters, token: Tensor) -> tuple["Cache", Tensor]:
        x = _enter(parameters, token.unsqueeze(2), self.kept[0][0].shape[2])
        grown = []
        for k, past in enumerate(self.kept):
            x, pair = _block(parameters, f"block{k}", x, past)
            grown.append(pair)
        return Cache(tuple(grown)), _leave(parameters, x)[:, :, 0]


@register
class FullHistory(Memory):
    """Everything that was seen and done; its state is quantised for the readout alone."""

    name = "history"
    measured = "readout"
    state = "history"
    shares = True

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        codes, d = architecture.codes, architecture.code_size
        state = dense("state", architecture.width, d) | {"codebook": Weight((codes, d), scale=1 / codes)}
        return weights(shape, architecture) | state

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> Cache:
        join = parameters["token.join.weight"]
        empty = join.new_zeros(len(join) * rows, HEADS, 0, join.shape[-1] // HEADS)
        return Cache(((empty, empty),) * LAYERS)

    def step(
        self, parameters: Parameters, architecture: Architecture, state: Cache, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[Cache, Record]:
        features = observe(parameters, inputs)
        state, top = state.extend(parameters, tokens(parameters, features, inputs.previous))
        return state, _record(parameters, architecture, inputs, features, linear(parameters, "state", top))

    def unroll(
        self, parameters: Parameters, architecture: Architecture, episodes: Inputs, flow: Flow = PLAYING
    ) -> list[Record]:
        features, history = _look(parameters, episodes.observation, episodes.previous, episodes.frame)
        state = linear(parameters, "state", transform(parameters, history).flatten(1, 2))
        state = state.unflatten(1, history.shape[1:3]).transpose(1, 2).flatten(1, 2)
        rows = replace(episodes, observation=episodes.observation.flatten(-3, -2))
        return [_record(parameters, architecture, rows, features, state)]

    def unroll_histories(
        self, parameters: Parameters, architecture: Architecture, repeats: Repeats, flow: Flow = PLAYING
    ) -> Record:
        features = observe(parameters, repeats.inputs)
        history = repeats.histories(tokens(parameters, features, repeats.inputs.previous))
        top = _transform_histories(parameters, history, repeats)
        return _record(parameters, architecture, repeats.inputs, features, linear(parameters, "state", top))

    def codebooks(self, architecture: Architecture) -> dict[str, int]:
        return {"": architecture.codes}

    def lowered(self, parameters: Parameters, precision: torch.dtype) -> Parameters:
        """Codes stay as they are, so that ties stay exact."""
        return {name: value if name == "codebook" else value.to(precision) for name, value in parameters.items()}


@register
class Transformer(FullHistory):
    """The same without codes: the head reads the state of the last prefix as it is."""

    name = "transformer"
    measured = "state"

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return weights(shape, architecture) | dense("state", architecture.width, architecture.code_size)

    def codebooks(self, architecture: Architecture) -> dict[str, int]:
        return {}


def _look(
    parameters: Parameters, observations: Tensor, previous: Tensor, frames: Tensor | None
) -> tuple[Tensor, Tensor]:
    """g_o(O_t) in rows t·N + n, and the tokens episode by episode, [runs, N, T, 2 d]."""
    steps_and_episodes = observations.shape[-3:-1]
    rows = previous.flatten(-3, -2)
    frame = None if frames is None else frames.flatten(-5, -4)
    features = observe(parameters, Inputs(observations.flatten(-3, -2), rows, frame=frame))
    return features, tokens(parameters, features, rows).unflatten(1, steps_and_episodes).transpose(1, 2)


def _record(
    parameters: Parameters, architecture: Architecture, inputs: Inputs, features: Tensor, state: Tensor
) -> Record:
    if "codebook" not in parameters:
        return record(features, state)
    codebook = parameters["codebook"]
    coded = quantised(state.to(codebook.dtype), codebook, architecture.bound)
    return Record(features, features, *coded, prior_input=prior_input(architecture, inputs, features))


def _enter(parameters: Parameters, history: Tensor, first: int) -> Tensor:
    positions = parameters["positions"]
    last = first + history.shape[2]
    if last > positions.shape[1]:
        raise ValueError(
            f"transformer: step {last} is beyond its {positions.shape[1]} positions; give a longer horizon"
        )
    x = product(parameters, "token.join", history.flatten(1, 2)).view(*history.shape[:3], -1)
    return x + (positions[:, first:last] + parameters["token.join.bias"].unsqueeze(1)).unsqueeze(1)


def _block(
    parameters: Parameters, name: str, x: Tensor, past: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """x + attention(norm x), then x + MLP(norm x), for x [runs, N, T, width]; after a past, T = 1.

    A block whose normalisations have gains is the other way round: norm(x + attention(x)), then norm(x + MLP(x)).
    """
    runs, episodes, steps, width = x.shape
    kept = []

    def attend(parts: Tensor) -> Tensor:
        mixed, pair = _attend(parts.view(runs * episodes, steps, 3, HEADS, width // HEADS), past)
        kept.append(pair)
        return mixed.reshape(runs, episodes * steps, width)

    return _block_of(parameters, name, x.flatten(1, 2), attend).view(x.shape), kept[0]


def _block_of(parameters: Parameters, name: str, x: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
    """A block on rows [runs, rows, width]; `attend` mixes their queries, keys and values, [runs, rows, 3 width]."""
    post = f"{name}.norm1.gain" in parameters
    mixed = attend(linear(parameters, f"{name}.attention", x if post else _norm(x)))
    mixed = product(parameters, f"{name}.mix", mixed)
    if not post:
        x = x + mixed
        return x + product(parameters, f"{name}.contract", torch.relu(product(parameters, f"{name}.expand", _norm(x))))
    x = _fused(_sum_norm, x, mixed, *_vectors(parameters, name, "mix.bias", "norm1.gain", "norm1.bias"))
    entering = product(parameters, f"{name}.expand", x)
    hidden = _fused(_biased_relu, entering, *_vectors(parameters, name, "expand.bias"))
    ending = _vectors(parameters, name, "contract.bias", "norm2.gain", "norm2.bias")
    return _fused(_sum_norm, x, product(parameters, f"{name}.contract", hidden), *ending)


def _leave(parameters: Parameters, x: Tensor) -> Tensor:
    """What follows the last block: the normalisation that others begin with."""
    return x if "block0.norm1.gain" in parameters else _norm(x)


def _vectors(parameters: Parameters, block: str, *names: str) -> list[Tensor]:
    """A vector of each run for all of its rows, [runs, 1, ·] each."""
    return [parameters[f"{block}.{name}"].unsqueeze(1) for name in names]


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


def _transform_histories(parameters: Parameters, history: Tensor, repeats: Repeats) -> Tensor:
    """`transform` for the last tokens of distinct histories, [runs, histories, ·]: attention alone sees every step."""
    step = torch.repeat_interleave(torch.arange(len(repeats.counts)), torch.tensor(repeats.counts))
    x = linear(parameters, "token.join", history) + parameters["positions"][:, step]
    for k in range(LAYERS):
        x = _block_of(parameters, f"block{k}", x, lambda parts: _attend_histories(parts, repeats))
    return _leave(parameters, x)


def _attend_histories(parts: Tensor, repeats: Repeats) -> Tensor:
    runs, _, width = parts.shape
    steps, episodes = repeats.token.shape
    every = repeats.spread(parts).transpose(1, 2).reshape(runs * episodes, steps, 3, HEADS, width // (3 * HEADS))
    mixed, _ = _attend(every, None)
    return repeats.pick(mixed.reshape(runs, episodes, steps, width // 3).transpose(1, 2))


def _norm(x: Tensor) -> Tensor:
    """Zero mean and unit variance over the width."""
    return _fused(_plain_norm, x.flatten(0, -2)).view(x.shape)


def _plain_norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _sum_norm(x: Tensor, added: Tensor, bias: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """What ends either part of a `post` block."""
    return torch.addcmul(shift, _plain_norm(x + (added + bias)), gain)


def _biased_relu(x: Tensor, bias: Tensor) -> Tensor:
    return torch.relu(x + bias)


def _fused(function: Callable[..., Tensor], x: Tensor, *others: Tensor) -> Tensor:
    """A function of every row; in training on CUDA in one pass.

    There, PyTorch's own normalisation is many times slower on rows this short, and each sum goes through memory.
    """
    return (_compiled(function) if x.is_cuda and x.requires_grad else function)(x, *others)


@cache
def _compiled(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return torch.compile(function)
