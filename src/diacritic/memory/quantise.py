"""Hard nearest-code quantisation with straight-through gradients."""

import torch
from torch import Tensor

FEW = 64
"""Codes up to which all pairs of vectors are compared; more are sorted."""
SMALLEST = 1e-12
"""The least norm that a vector is divided by."""


def nearest(proposal: Tensor, codebook: Tensor) -> Tensor:
    """C = argmin_k ‖ẽ − e_k‖², ties to the lowest index; [runs, rows, d] and [runs, K, d] give [runs, rows].

    ‖ẽ‖² is common to all codes, so the largest ẽ·e_k − ‖e_k‖²/2 wins. Codes with the same vector tie however the
    product rounds.
    """
    scores = torch.baddbmm(-0.5 * codebook.square().sum(-1).unsqueeze(1), proposal, codebook.mT)
    return lowest_twin(codebook).gather(1, lowest_maximum(scores))


def lowest_twin(codebook: Tensor) -> Tensor:
    """For each code the lowest code with the same vector, [runs, K]: itself, unless it has a twin below it."""
    count = codebook.shape[1]
    index = torch.arange(count, device=codebook.device)
    if count <= FEW or torch.compiler.is_compiling():
        same = (codebook.unsqueeze(2) == codebook.unsqueeze(1)).all(-1)
        return torch.where(same, index, index.unsqueeze(1)).amin(-1)
    key, order = _hashed(codebook).sort(dim=-1, stable=True)
    opens = torch.ones_like(key, dtype=torch.bool)
    opens[:, 1:] = key[:, 1:] != key[:, :-1]
    first = order.gather(1, torch.where(opens, index, 0).cummax(-1).values)  # of each group of equal keys
    lowest = torch.empty_like(order).scatter_(1, order, first)
    same = (look_up(codebook, lowest) == codebook).all(-1)
    return torch.where(same, lowest, index)


def _hashed(codebook: Tensor) -> Tensor:
    """A whole number for each vector, equal for equal vectors; sums of whole numbers are exact in any order."""
    bits = (codebook.detach() + 0.0).view(torch.int64 if codebook.dtype == torch.float64 else torch.int32).long()
    factor = torch.arange(1, codebook.shape[-1] + 1, device=codebook.device) * 0x1E3779B97F4A7C15
    mixed = (bits ^ (bits >> 31)) * factor
    return ((mixed ^ (mixed >> 29)) * 0x3F58476D1CE4E5B9).sum(-1)


def lowest_maximum(scores: Tensor) -> Tensor:
    """The index of the largest score, the lowest one among equals (argmax leaves that open)."""
    best = scores.max(-1, keepdim=True).values
    indices = torch.arange(scores.shape[-1], device=scores.device)
    return torch.where(scores == best, indices, scores.shape[-1]).min(-1).values.clamp(max=scores.shape[-1] - 1)


def look_up(codebook: Tensor, code: Tensor) -> Tensor:
    """The vectors of codes: [runs, K, d] and [runs, rows] give [runs, rows, d]."""
    if codebook.is_cuda:
        return codebook.gather(1, code.unsqueeze(-1).expand(-1, -1, codebook.shape[-1]))
    runs, count, _ = codebook.shape  # whole vectors are copied much faster than their numbers one by one
    index = code if runs == 1 else code + torch.arange(0, runs * count, count, device=code.device).unsqueeze(1)
    return codebook.flatten(0, 1).index_select(0, index.flatten()).unflatten(0, code.shape)


def straight_through(value: Tensor, path: Tensor) -> Tensor:
    """`value` forward, the gradient of `path` backward; parenthesised so that the value is exact."""
    return value.detach() + (path - path.detach())


def bounded(values: Tensor, bound: str) -> Tensor:
    """Proposals as they are quantised: as they are, through tanh, or on the unit sphere."""
    if bound == "tanh":
        return torch.tanh(values)
    return unit(values) if bound == "sphere" else values


def code_vectors(codebook: Tensor, bound: str) -> Tensor:
    """The vectors that codes stand for: the parameters, or these on the unit sphere."""
    return unit(codebook) if bound == "sphere" else codebook


def quantised(proposal: Tensor, codebook: Tensor, bound: str) -> tuple[Tensor, Tensor, Tensor]:
    """The bounded proposal, the vector of its code (straight-through), and the code."""
    proposal, vectors = bounded(proposal, bound), code_vectors(codebook, bound)
    code = nearest(proposal.detach(), vectors.detach())
    return proposal, straight_through(look_up(vectors, code), proposal), code


def unit(values: Tensor) -> Tensor:
    """Vectors of length one; the zero vector stays."""
    return values / values.norm(dim=-1, keepdim=True).clamp(min=SMALLEST)
