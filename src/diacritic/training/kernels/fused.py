"""The parallel engine through the fused kernels: encoder, state, heads and the usual losses."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from diacritic.memory.encoders import symbol_vectors
from diacritic.memory.kernels.launch import padded
from diacritic.memory.layers import Parameters, linear
from diacritic.memory.protocol import Inputs
from diacritic.memory.tall import tall_linear
from diacritic.training.kernels.costs import Cost, Quantise
from diacritic.training.kernels.encoder import Encode
from diacritic.training.kernels.errors import SquaredError
from diacritic.training.kernels.heads import Read
from diacritic.training.kernels.state import State

OUTPUTS = 64
"""Outputs of a head that one program can hold; the last layer of a wider head is left to torch."""


@dataclass(frozen=True)
class Part:
    """A head's observation part [S, R, H]; or, without content, what it is computed from."""

    path: Tensor
    observing: tuple[Tensor, Tensor, Tensor] | None = None  # g_o, the head's reading of it and its bias


@dataclass(frozen=True)
class Symbols:
    """What transition and prior read in the place of g_o, where they read a symbol: one of a few vectors."""

    index: Tensor  # Ō of every row, [S, R]
    one_hot: Tensor  # likewise, [S, R, V] in fp32
    meaning: Tensor  # g_s of every symbol, [S, V, H]

    @staticmethod
    def of(parameters: Parameters, shown: Inputs, origins: Tensor) -> "Symbols | None":
        if shown.symbol is None or "symbol.weight" not in parameters:
            return None
        rows = origins.long()
        return Symbols(shown.symbol.argmax(-1)[rows], shown.symbol[rows], symbol_vectors(parameters))

    def side(self, low: torch.dtype) -> Tensor:
        """g_s of every row, [S, R, H], in a low precision."""
        return tall_linear(self.one_hot.to(low), self.meaning.to(low))


@dataclass(frozen=True)
class Heads:
    """Features of all steps in low precision, every head's observation part, and the state; weights in fp32.

    Whoever reads the state by its codes has a path of its own: an empty tensor to which its gradient is sent.
    """

    parameters: Parameters
    features: Tensor  # [S, R, H]
    parts: dict[str, Part]  # by head
    code: Tensor  # C, [S, R]
    proposal: Tensor  # ẽ, [S, R, d]
    embedding: Tensor  # e, likewise
    paths: dict[str, Tensor]  # by reader, likewise
    origins: Tensor  # the row t·N + n of the data that each row is, [S, R]
    symbols: Symbols | None = None

    def reads(self, name: str) -> bool:
        """Whether this head goes through the kernels."""
        if name == "prior" and self.symbols is not None:
            return "prior.hidden.weight" in self.parameters
        return name in self.parts and f"{name}.hidden2.weight" not in self.parameters

    def read(self, name: str, offset: Tensor | None = None) -> Tensor:
        """A head on g_o and the code of every row, with an offset [S, R] where it is told one."""
        told = None if offset is None else (self.parameters[f"{name}.offset"], offset)
        return read(self.parameters, name, self.parts[name], self.code, self.paths[name], told).float()

    def logits(self, name: str) -> Tensor:
        """A head on g_o alone, of low precision where it is wide; or on the symbol, where it reads that."""
        if self.symbols is None:
            return read(self.parameters, name, self.parts[name], None, None)
        hidden = torch.relu(linear(self.parameters, f"{name}.hidden", self.symbols.meaning))
        return tall_linear(self.symbols.one_hot, linear(self.parameters, f"{name}.out", hidden))

    def cross_entropy(self, name: str, wanted: Tensor, weight: Tensor) -> Tensor:
        """Σ_r w_r (−log q(wanted_r | O_r, C_r)) of every run, from a head's law; classes and weights are [S, R]."""
        logits = read(self.parameters, name, self.parts[name], self.code, self.paths[name])
        return Cost.apply(None, logits, None, None, wanted, weight)

    def quantisation(self, weight: Tensor, commitment: float) -> Tensor:
        """L_VQ of every run, with rows weighted [S, R]."""
        state = self.proposal.detach(), self.code
        return Quantise.apply(self.paths["quantisation"], self.parameters["codebook"], *state, weight, commitment)

    def cost(self, name: str, weight: Tensor, moves_codes: bool) -> Tensor:
        """What the codes cost under a prior, in nats, for every run; soft-to-hard backward."""
        codebook = self.parameters["codebook"]
        state = self.proposal.detach(), codebook if moves_codes else codebook.detach(), self.code
        return Cost.apply(self.paths["cost"], self.logits(name), *state, weight)

    def squared_error(self, prediction: Tensor, target: Tensor, weight: Tensor, offset: Tensor | None = None) -> Tensor:
        """Σ_r w_r ‖p_r − y_r‖² / A of every run: y [T·N, A], or what is wanted at each row's offset.

        That is a forecast [·, T, N, T − 1, A], or the recorded actions [T, N, A].
        """
        return SquaredError.apply(prediction, target, self.origins, weight, offset)


def read(
    given: Parameters,
    name: str,
    part: Part,
    code: Tensor | None,
    path: Tensor | None,
    told: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """A head on its observation part and codes [S, R], K for none yet; what flows into their vectors goes to `path`.

    It may be told a vector [S, V, H] in its first layer, by an index [S, R]. A wide output has a low precision.
    """
    table, indices, begins = None, [], []
    if code is not None:
        table = _code_table(given, name)
        indices, begins = [code.contiguous()], [0]
    if table is not None and told is not None:
        indices, begins = [*indices, told[1].contiguous()], [0, table.shape[1]]
        table = torch.cat([table, told[0]], 1)
    inner = [given.get(f"{name}.hidden1.{which}") for which in ("weight", "bias")]
    last = [given[f"{name}.out.{which}"] for which in ("weight", "bias")]
    wide = last[0].shape[-1] > OUTPUTS
    reading = None if path is None else given[f"{name}.code.weight"]
    kept = [None, None] if wide else last
    out = Read.apply(part.path, part.observing, path, table, *inner, *kept, reading, indices, begins)
    if wide:
        weight, bias = (value.to(out.dtype) for value in last)
        out = tall_linear(out, weight, bias)
    return out


def _code_table(given: Parameters, name: str) -> Tensor:
    """What every code adds to a head's first layer, and as one row more what none yet does: [S, K + 1, H]."""
    return linear(given, f"{name}.code", pad(given["codebook"].detach(), (0, 0, 0, 1)))


def heads(
    parameters: Parameters,
    shown: Inputs,
    origins: Tensor,
    before: Tensor,
    code: Tensor,
    steps: int,
    low: torch.dtype,
) -> Heads:
    """Encoder and state of every row [S, R] from its codes, with the gradient of the running sum.

    All runs share the inputs, and `origins` [S, R] says which of them a row sees; its rows are steps × episodes.
    """
    symbols = Symbols.of(parameters, shown, origins)
    features, parts = _encoded(parameters, shown, origins, low, symbols is not None)
    readers = [*(name for name in parts if f"{name}.code.weight" in parameters), "quantisation", "cost"]
    told = None
    if symbols is not None:
        told = torch.bmm(symbols.meaning, parameters["residual.observation.weight"]), symbols.index
    residual = read(parameters, "residual", parts["residual"], before, None, told)
    given = residual, parameters["codebook"], before, code, steps, len(readers), low
    proposal, embedding, *paths = State.apply(*given)
    felt = dict(zip(readers, paths, strict=True))
    return Heads(parameters, features, parts, code, proposal, embedding, felt, origins, symbols)


def _encoded(
    parameters: Parameters, shown: Inputs, origins: Tensor, low: torch.dtype, symbolic: bool
) -> tuple[Tensor, dict[str, Part]]:
    """g_o of every row, and the observation part of every head that reads it.

    Where transition and prior read a symbol instead, the residual's part is that of the action alone.
    """
    size = parameters["observe.second.weight"].shape
    readers = [name for name in parameters if name.endswith(".observation.weight") and parameters[name].shape == size]
    names = {name.removesuffix(".observation.weight"): name for name in ("residual.observation.weight", *readers)}
    if "prior.hidden.weight" in parameters and not symbolic:
        names["prior"] = "prior.hidden.weight"
    layers = [parameters[name] for name in names.values()]
    layers[0] = torch.zeros_like(layers[0]) if symbolic else layers[0]
    biases = [parameters[name.removesuffix("weight") + "bias"] for name in names.values()]
    wide = torch.stack([parameters["observe.second.weight"], parameters["residual.action.weight"], *layers], 1)
    bias = torch.stack([parameters["observe.second.bias"], *biases], 1)
    observation, first = _with_one(parameters, "observe.first", shown.observation, low)
    previous, acting = _with_one(parameters, "previous", shown.previous, low)
    lowered = wide.detach().to(low)
    features, driven, *paths = Encode.apply(observation, previous, origins, first, acting, wide, bias, lowered)
    parts = [Part(driven)]
    for k, path in enumerate(paths, 1):
        parts.append(Part(path, (features.detach(), lowered[:, 2 + k], bias[:, 1 + k].detach())))
    return features, dict(zip(names, parts, strict=True))


def _with_one(parameters: Parameters, name: str, inputs: Tensor, low: torch.dtype) -> tuple[Tensor, Tensor]:
    """Inputs with a column of ones and a weight with the bias as a row, both padded to a size that products take."""
    weight = torch.cat([parameters[f"{name}.weight"], parameters[f"{name}.bias"].unsqueeze(1)], 1)
    size = padded(inputs.shape[1] + 1)
    shown = pad(torch.cat([inputs, torch.ones_like(inputs[:, :1])], 1).to(low), (0, size - inputs.shape[1] - 1))
    return shown, pad(weight, (0, 0, 0, size - weight.shape[1]))


def fits(parameters: Parameters, shown: Inputs) -> bool:
    """Whether the kernels take this carrier: vectors of moderate size, shared by all runs, into a usual width."""
    weight, codebook = parameters.get("observe.second.weight"), parameters.get("codebook")
    if weight is None or codebook is None:
        return False
    plain = shown.frame is None and ("symbol.weight" not in parameters or shown.symbol is not None)
    narrow = all(inputs.dim() == 2 and inputs.shape[1] < 128 for inputs in (shown.observation, shown.previous))
    sizes = weight.shape[-1] in (32, 64, 128) and codebook.shape[-1] in (16, 32, 64)
    return plain and narrow and sizes and weight.dtype == torch.float32
