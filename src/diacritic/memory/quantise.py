"""Hard nearest-code quantisation with straight-through gradients."""

import torch
from torch import Tensor


def nearest(proposal: Tensor, codebook: Tensor) -> Tensor:
    """C = argmin_k ‖ẽ − e_k‖², ties to the lowest index; [runs, rows, d] and [runs, K, d] give [runs, rows].

    ‖ẽ‖² is common to all codes, so the largest ẽ·e_k − ‖e_k‖²/2 wins; equal scores tie exactly, and twin codes have
    equal scores up to how the product rounds.
    """
    return lowest_maximum(torch.baddbmm(-0.5 * codebook.square().sum(-1).unsqueeze(1), proposal, codebook.mT))


def lowest_maximum(scores: Tensor) -> Tensor:
    """The index of the largest score, the lowest one among equals (argmax leaves that open)."""
    best = scores.max(-1, keepdim=True).values
    places = torch.arange(scores.shape[-1], device=scores.device)
    return torch.where(scores == best, places, scores.shape[-1]).min(-1).values.clamp(max=scores.shape[-1] - 1)


def look_up(codebook: Tensor, code: Tensor) -> Tensor:
    """The vectors of codes: [runs, K, d] and [runs, rows] give [runs, rows, d]."""
    return codebook.gather(1, code.unsqueeze(-1).expand(-1, -1, codebook.shape[-1]))


def straight_through(value: Tensor, path: Tensor) -> Tensor:
    """`value` forward, the gradient of `path` backward; parenthesised so that the value is exact."""
    return value.detach() + (path - path.detach())
