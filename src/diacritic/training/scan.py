"""The forward scan of hard codes, and the gradient of the running sum that stands for it."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, linear
from diacritic.memory.quantise import look_up, lowest_maximum, lowest_twin, nearest


def code_tables(parameters: Parameters, name: str = "residual") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The tables that a step of the scan reads, with the code before the first step (e₀ = 0) as row K.

    Returns W_c e_k of f's first layer [S, K+1, width], W_2 e_j of its last [S, width, K], the part of
    ẽ·e_j − ‖e_j‖²/2 that depends on codes alone [S, K+1, K], and the lowest code with the same vector [S, K]: nearest
    codes follow without ever forming ẽ.
    """
    codebook = parameters["codebook"]
    start = torch.cat([codebook, torch.zeros_like(codebook[:, :1])], 1)
    entering = linear(parameters, f"{name}.code", start)
    out, bias = parameters[f"{name}.out.weight"], parameters[f"{name}.out.bias"]
    fixed = (start + bias.unsqueeze(1)) @ codebook.mT - 0.5 * codebook.square().sum(-1).unsqueeze(1)
    return entering, out @ codebook.mT, fixed, lowest_twin(codebook)


@torch.no_grad()
def scan_codes(parameters: Parameters, driven: Tensor, bound: str = "none", persistent: bool = True) -> Tensor:
    """Hard codes of all steps from the driven part [S, T, N, width] of f's first layer: [S, T, N]."""
    entering, scoring, fixed, twin = code_tables(parameters)
    S, T, N, _ = driven.shape
    K = scoring.shape[-1]
    if driven.is_cuda and bound == "none" and persistent:
        from diacritic.training.kernels import scan as kernel

        if kernel.fits(driven, K):
            return kernel.scan_codes_cuda(driven, entering, scoring, fixed, twin)
    code = torch.full((S, N), K, device=driven.device)
    codes = []
    for t in range(T):
        before = code if persistent else torch.full_like(code, K)
        h = torch.relu(driven[:, t] + look_up(entering, before))
        if bound == "none":
            code = twin.gather(1, lowest_maximum(torch.bmm(h, scoring) + look_up(fixed, before)))
        else:
            start = torch.cat([parameters["codebook"], torch.zeros_like(parameters["codebook"][:, :1])], 1)
            proposal = torch.tanh(look_up(start, before) + linear(parameters, "residual.out", h))
            code = nearest(proposal, parameters["codebook"])
        codes.append(code)
    return torch.stack(codes, 1)


class _Bounded(torch.autograd.Function):
    """Backward of F_t = γ_t (F_{t−1} + f_t): an elementwise reverse scan."""

    @staticmethod
    def forward(ctx, residual: Tensor, factor: Tensor) -> Tensor:
        ctx.save_for_backward(factor)
        return residual.clone()  # only its gradient is ever used

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, None]:
        (factor,) = ctx.saved_tensors
        flowing = torch.zeros_like(gradients[0][:, 0])
        result = torch.empty_like(gradients[0])
        for t in range(factor.shape[1] - 1, -1, -1):
            flowing = (gradients[0][:, t] + flowing) * factor[:, t]
            result[:, t] = flowing
        return result, None


def running_sum(residual: Tensor, factor: Tensor | None = None, persistent: bool = True) -> Tensor:
    """F of every step, [S, T, N, d], for its gradient: Σ_{s≤t} f_s, or with a bound the scan with factors 1 − tanh²."""
    if not persistent:
        return residual if factor is None else residual * factor.detach()
    return residual.cumsum(1) if factor is None else _Bounded.apply(residual, factor.detach())
