"""Behavioural future sufficiency from every step through the kernels: the loss of every run, and all its gradients.

Products are of bf16 factors with fp32 sums, so that this is for updates that round products anyway.
"""

from typing import TypeGuard

import torch
from torch import Tensor

from diacritic.memory.tall import tall_linear
from diacritic.training.data import Data
from diacritic.training.kernels.chain_head import OUTPUTS, read
from diacritic.training.kernels.chain_sums import sum_starts
from diacritic.training.kernels.chains import follow, follow_back
from diacritic.training.kernels.narrow import NarrowHeads
from diacritic.training.kernels.path import told_with_biases

LOW = torch.bfloat16
"""Of the factors of products, and of what is stored for every start and step."""
WIDTHS = (32, 64, 128)
"""Numbers of a state that the kernels take."""


class Chains(torch.autograd.Function):
    """Σ_{t < u, n} w_{tn} ‖head(h_{tun}) − y_{un}‖² / A of every run, [S].

    h_{tu} is the state after step u of a GRU that starts at t from `first` [S, (T − 1)·N, H] and is told [S, T·N, 3H]
    at every later step, with the biases of r and z. `weight` [S, H, 3H] and `bias` [S, H] are those of the state and
    of n; then come the head's four. y is `target` [·, A] at `origins` [S, T·N], and w is `share` [S, T − 1, N], where
    episodes without weight had best come last: those after the last one with a weight are not computed.
    """

    @staticmethod
    def forward(
        ctx,
        told: Tensor,
        first: Tensor,
        weight: Tensor,
        bias: Tensor,
        hidden: Tensor,
        hidden_bias: Tensor,
        out: Tensor,
        out_bias: Tensor,
        target: Tensor,
        origins: Tensor,
        share: Tensor,
    ) -> Tensor:
        share = share.contiguous()
        ctx.steps, ctx.episodes = share.shape[1] + 1, share.shape[2]
        low = told, weight, hidden, out
        told, weight, hidden, out = (value.detach().to(LOW).contiguous() for value in low)
        full = first, bias, hidden_bias, out_bias
        first, bias, hidden_bias, out_bias = (value.detach().contiguous() for value in full)
        count = drawn(share)
        states = follow(told, first, weight, bias, count, ctx.steps)
        layers = hidden, hidden_bias, out, out_bias
        loss, flows, of_head = read(states, target.contiguous(), origins, share, count, layers)
        ctx.save_for_backward(told, weight, bias, count, states, flows, *of_head)
        return loss

    @staticmethod
    def backward(ctx, *pulls: Tensor) -> tuple[Tensor | None, ...]:
        told, weight, bias, count, states, flows, *of_head = ctx.saved_tensors
        pull = pulls[0].contiguous()
        into, into_first = follow_back(told, weight, bias, count, states, flows, pull, ctx.steps)
        into_told, of_weight, of_bias = sum_starts(states, into, count, ctx.episodes, ctx.steps)
        scaled = (value * pull.view(-1, *(1,) * (value.dim() - 1)) for value in of_head)
        return into_told, into_first, of_weight, of_bias, *scaled, None, None, None


def drawn(share: Tensor) -> Tensor:
    """How many episodes there are up to the last one with a weight, [S] in int32, from weights [S, ·, N]."""
    number = torch.arange(1, share.shape[2] + 1, dtype=torch.int32, device=share.device)
    return torch.where((share != 0).any(1), number, 0).amax(1).int()


def loss(heads: NarrowHeads, data: Data, share: Tensor) -> Tensor:
    """Σ of squared errors of every run [S], those of start t of episode n weighted `share` [S, T − 1, N]."""
    given, episodes = heads.parameters, share.shape[2]
    told, bias = told_with_biases(given, "bfs", torch.cat([heads.features, heads.acted], -1))
    begun = torch.cat([heads.features, heads.embedding], -1)[:, :-episodes]
    first = torch.tanh(tall_linear(begun, given["bfs.start.weight"], given["bfs.start.bias"]))
    head = [given[f"bfs.{name}.{which}"] for name in ("hidden", "out") for which in ("weight", "bias")]
    return Chains.apply(told, first, given["bfs.state.weight"], bias, *head, data.target, heads.origins, share)


def fits(heads: object, data: Data) -> TypeGuard[NarrowHeads]:
    """Whether the kernels compute this, and may round products."""
    if not isinstance(heads, NarrowHeads) or not heads.rough or data.shape.symbolic:
        return False
    return heads.parameters["bfs.state.weight"].shape[1] in WIDTHS and data.shape.action <= OUTPUTS
