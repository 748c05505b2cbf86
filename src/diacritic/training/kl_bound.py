"""What a Gaussian bottleneck carries at most: the figure that stands where a discrete code has its rate."""

from math import log

import torch

from diacritic.training.trace import Trace


@torch.no_grad()
def kl_profile(trace: Trace) -> list[list[float]] | None:
    """E KL(q(z_t | H_t) ‖ r(z_t | O_t)) ≥ I(Z_t; H_t | O_t) in bits, of every run at every step; none of a code.

    The mean is over the episodes of the trace with their weights. It is a bound where the memory is sampled along the
    way, as in training; the paper's numbers are of the means. Rows of ledgers tell the mean over the steps of each
    window, as they tell H(C_t | O_t) of a code; the paper's one number for the gap toy is of its first gap.
    """
    if trace.bits is None:
        return None
    nats = trace.steps(trace.bits).double()
    return ((nats * trace.episode_weight.double().unsqueeze(1)).sum(-1) / log(2)).tolist()
