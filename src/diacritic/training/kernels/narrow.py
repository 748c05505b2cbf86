"""Carriers with narrow encoders through the kernels: encoders, recurrence, heads and the usual losses."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, linear, read
from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import code_vectors, look_up, quantised
from diacritic.memory.shape import Architecture
from diacritic.memory.tall import outer
from diacritic.training import unrolled
from diacritic.training.kernels import path, recurrence
from diacritic.training.kernels.costs import Cost, Quantise
from diacritic.training.kernels.errors import SquaredError
from diacritic.training.kernels.perceptron import LARGEST, perceptron

OUTPUTS = 64
"""Outputs of a head that one program can hold; products of wider heads are left to torch."""


@dataclass(frozen=True)
class NarrowHeads:
    """What heads read of every row, [S, R, ·] in fp32; `rough` products are those of the tensor cores in TF32."""

    parameters: Parameters
    features: Tensor  # g_o(O_t)
    acted: Tensor  # g_a(A_{t−1})
    shown: Tensor  # what the prior reads
    codebook: Tensor  # vectors of the codes, [S, K, d]
    proposal: Tensor  # ẽ
    embedding: Tensor  # e
    code: Tensor  # C, [S, R]
    origins: Tensor  # the row t·N + n of the data that each row is, [S, R]
    rough: bool

    def reads(self, name: str) -> bool:
        """Whether this head goes through the kernels."""
        given = self.parameters
        present = f"{name}.hidden.weight" in given or f"{name}.code.weight" in given
        return present and f"{name}.hidden2.weight" not in given

    def _wide(self, name: str) -> bool:
        return self.parameters[f"{name}.out.weight"].shape[-1] > OUTPUTS

    def read(self, name: str, offset: Tensor | None = None) -> Tensor:
        """A head on g_o and the code of every row, with an offset [S, R] where it is told one."""
        given, told = self.parameters, None
        if offset is not None:
            table = given[f"{name}.offset"]
            told = (linear(given, f"{name}.told", table) if f"{name}.told.weight" in given else table), offset
        if self._wide(name):
            part = linear(given, f"{name}.observation", self.features)
            return read(given, name, part if told is None else part + look_up(*told), self.embedding)
        first = given[f"{name}.observation.weight"], given[f"{name}.code.weight"], given[f"{name}.observation.bias"]
        inner = given.get(f"{name}.hidden1.weight"), given.get(f"{name}.hidden1.bias")
        return perceptron((self.features, self.embedding), first, inner, self._last(name), self.rough, told)

    def logits(self, name: str) -> Tensor:
        """A head on what the prior reads alone."""
        if self._wide(name):
            hidden = torch.relu(linear(self.parameters, f"{name}.hidden", self.shown))
            return linear(self.parameters, f"{name}.out", hidden)
        first = self.parameters[f"{name}.hidden.weight"], None, self.parameters[f"{name}.hidden.bias"]
        return perceptron((self.shown, None), first, (None, None), self._last(name), self.rough)

    def _last(self, name: str) -> tuple[Tensor, Tensor]:
        return self.parameters[f"{name}.out.weight"], self.parameters[f"{name}.out.bias"]

    def cost(self, name: str, weight: Tensor, moves_codes: bool) -> Tensor:
        """What the codes cost under a prior, in nats, for every run; soft-to-hard backward."""
        state = self.proposal.detach(), self.codebook if moves_codes else self.codebook.detach(), self.code
        return Cost.apply(self.proposal, self.logits(name), *state, weight)

    def cross_entropy(self, name: str, wanted: Tensor, weight: Tensor) -> Tensor:
        """Σ_r w_r (−log q(wanted_r | O_r, C_r)) of every run, from a head's law; classes and weights are [S, R]."""
        return Cost.apply(None, self.read(name), None, None, wanted, weight)

    def quantisation(self, weight: Tensor, commitment: float) -> Tensor:
        """L_VQ of every run, with rows weighted [S, R]."""
        return Quantise.apply(self.proposal, self.codebook, self.proposal.detach(), self.code, weight, commitment)

    def squared_error(self, prediction: Tensor, target: Tensor, weight: Tensor, offset: Tensor | None = None) -> Tensor:
        """Σ_r w_r ‖p_r − y_r‖² / A of every run, as the fused heads have it."""
        return SquaredError.apply(prediction, target, self.origins, weight, offset)


class _Join(torch.autograd.Function):
    """left·W + right·V + b of every row, [S, R, H], with gradients of weights summed over parts of the rows."""

    @staticmethod
    def forward(ctx, left: Tensor, right: Tensor, of_left: Tensor, of_right: Tensor, bias: Tensor) -> Tensor:
        joined, weight = torch.cat([left, right], -1), torch.cat([of_left, of_right], 1)
        ctx.save_for_backward(joined, weight)
        ctx.size = left.shape[-1]
        return torch.baddbmm(bias.unsqueeze(1), joined, weight)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor, ...]:
        joined, weight = ctx.saved_tensors
        of_weight, size = outer(joined, flows[0]), ctx.size
        into = [torch.bmm(flows[0], part.mT) for part in (weight[:, :size], weight[:, size:])]
        return *into, of_weight[:, :size], of_weight[:, size:], flows[0].sum(1)


def heads(
    parameters: Parameters,
    architecture: Architecture,
    inputs: Inputs,
    origins: Tensor,
    steps: int,
    rough: bool,
    strength: Tensor | float = 1.0,
) -> NarrowHeads:
    """Encoders and state of every row; inputs [S, R, ·] are those of each run, rows go step by step.

    `strength` is α of the continuous path, where the carrier has one.
    """
    features = _encoded(parameters, "observe", inputs.observation, rough)
    acted = _encoded(parameters, "previous", inputs.previous, rough)
    parts = (parameters[f"residual.{part}"] for part in ("observation.weight", "action.weight", "observation.bias"))
    driven = _Join.apply(features, acted, *parts)
    pushed = None
    if architecture.path != "none":
        follow = path.path if path.fits(parameters) else unrolled.path
        pushed = strength * follow(parameters, features, acted, steps, rough)
    if pushed is not None and unrolled.stands_alone(architecture):
        states = quantised(pushed, parameters["codebook"], architecture.bound)
    else:
        states = recurrence.follow(parameters, architecture, driven, steps, rough, pushed)
    shown = features if architecture.prior_reads == "features" else inputs.observation
    codebook = code_vectors(parameters["codebook"], architecture.bound)
    return NarrowHeads(parameters, features, acted, shown, codebook, *states, origins, rough)


def _encoded(parameters: Parameters, name: str, shown: Tensor, rough: bool) -> Tensor:
    first = parameters[f"{name}.first.weight"], None, parameters[f"{name}.first.bias"]
    last = parameters[f"{name}.out.weight"], parameters[f"{name}.out.bias"]
    return perceptron((shown, None), first, (None, None), last, rough)


def fits(parameters: Parameters, architecture: Architecture, inputs: Inputs) -> bool:
    """Whether the kernels take this carrier."""
    plain = inputs.frame is None and architecture.side == "raw" and architecture.encoder == "narrow"
    narrow = all(values.shape[-1] <= LARGEST for values in (inputs.observation, inputs.previous))
    return plain and narrow and architecture.features <= LARGEST and recurrence.fits(parameters, architecture)
