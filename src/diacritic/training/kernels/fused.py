"""The parallel engine's layers through the fused kernels: encoder, heads and the state."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from diacritic.carrier.cell import Inputs
from diacritic.carrier.layers import Parameters, linear
from diacritic.training.kernels.encoder import Encode
from diacritic.training.kernels.heads import Read
from diacritic.training.kernels.launch import padded
from diacritic.training.kernels.state import Carousel

OUTPUTS, ENTRIES = 64, 128
"""Outputs of a head and rows of its table that one program can hold; larger heads are left to torch."""


@dataclass(frozen=True)
class Heads:
    """Features of all steps, and every head's observation part, in low precision; weights in fp32."""

    parameters: Parameters
    features: Tensor  # [S, R, H]
    parts: dict[str, Tensor]  # by head, [S, R, H]

    def reads(self, name: str) -> bool:
        """Whether this head goes through the kernels."""
        offsets = self.parameters.get(f"{name}.offset")
        entries = self.parameters["codebook"].shape[1] + 1 + (0 if offsets is None else offsets.shape[1])
        shallow = f"{name}.hidden2.weight" not in self.parameters
        small = entries <= ENTRIES and name in self.parts and self.parameters[f"{name}.out.weight"].shape[-1] <= OUTPUTS
        return small and shallow

    def read(self, name: str, code: Tensor, embedding: Tensor | None, offset: Tensor | None = None) -> Tensor:
        """A head on g_o and codes [S, R], K for none yet; what flows into the code's vector goes to `embedding`."""
        given = self.parameters
        codebook = given["codebook"].detach()
        table = linear(given, f"{name}.code", pad(codebook, (0, 0, 0, 1)))
        indices, begins = [code], [0]
        if offset is not None:
            indices, begins = [code, offset], [0, table.shape[1]]
            table = torch.cat([table, given[f"{name}.offset"]], 1)
        return self._apply(name, embedding, table, indices, begins)

    def state(self, before: Tensor, code: Tensor, steps: int) -> tuple[Tensor, Tensor]:
        """ẽ and e of every row [S, T·N], with the gradient of the running sum over steps."""
        residual = self.read("residual", before, None)
        return Carousel.apply(residual, self.parameters["codebook"], before, code, steps)

    def logits(self, name: str) -> Tensor:
        """A head on g_o alone."""
        return self._apply(name, None, None, [], [])

    def _apply(
        self, name: str, embedding: Tensor | None, table: Tensor | None, indices: list[Tensor], begins: list[int]
    ) -> Tensor:
        given = self.parameters
        inner = [given.get(f"{name}.hidden1.{which}") for which in ("weight", "bias")]
        last = [given[f"{name}.out.{which}"] for which in ("weight", "bias")]
        reading = None if embedding is None else given[f"{name}.code.weight"]
        indices = [index.contiguous() for index in indices]
        return Read.apply(self.parts[name], embedding, table, *inner, *last, reading, indices, begins)


def heads(parameters: Parameters, shown: Inputs, low: torch.dtype) -> Heads:
    """g_o of every row, and the observation part of every head that reads it."""
    size = parameters["observe.second.weight"].shape
    readers = [name for name in parameters if name.endswith(".observation.weight") and parameters[name].shape == size]
    names = {name.removesuffix(".observation.weight"): name for name in ("residual.observation.weight", *readers)}
    if "prior.hidden.weight" in parameters:
        names["prior"] = "prior.hidden.weight"
    layers = [parameters[name] for name in names.values()]
    biases = [parameters[name.removesuffix("weight") + "bias"] for name in names.values()]
    wide = torch.stack([parameters["observe.second.weight"], parameters["residual.action.weight"], *layers], 1)
    bias = torch.stack([parameters["observe.second.bias"], *biases], 1)
    observation, first = _with_one(parameters, "observe.first", shown.observation, low)
    previous, acting = _with_one(parameters, "previous", shown.previous, low)
    features, *parts = Encode.apply(observation, previous, first, acting, wide, bias)
    return Heads(parameters, features, dict(zip(names, parts, strict=True)))


def _with_one(parameters: Parameters, name: str, inputs: Tensor, low: torch.dtype) -> tuple[Tensor, Tensor]:
    """Inputs with a column of ones and a weight with the bias as a row, both padded to a size that products take."""
    weight = torch.cat([parameters[f"{name}.weight"], parameters[f"{name}.bias"].unsqueeze(1)], 1)
    size = padded(inputs.shape[1] + 1)
    shown = pad(torch.cat([inputs, torch.ones_like(inputs[:, :1])], 1).to(low), (0, size - inputs.shape[1] - 1))
    return shown, pad(weight, (0, 0, 0, size - weight.shape[1]))


def fits(parameters: Parameters, shown: Inputs) -> bool:
    """Whether the kernels take this carrier: vectors of moderate size, shared by all runs, into a usual width."""
    weight = parameters["observe.second.weight"]
    plain = shown.frame is None and "symbol.weight" not in parameters
    narrow = all(inputs.dim() == 2 and inputs.shape[1] < 128 for inputs in (shown.observation, shown.previous))
    _, K, d = parameters["codebook"].shape
    sizes = weight.shape[-1] in (32, 64, 128) and d in (16, 32, 64) and K < ENTRIES
    return plain and narrow and sizes and weight.dtype == torch.float32
