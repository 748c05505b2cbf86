"""The continuous control: a Gaussian bottleneck whose KL to a conditional prior bounds its rate from above."""

from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear


def weights(width: int, d: int) -> dict[str, Weight]:
    """log σ of the carried vector from its mean, and the prior's mean and log σ from the side information."""
    return dense("gaussian.deviation", d, d) | dense("gaussian.prior", width, 2 * d)


def sample(parameters: Parameters, mean: Tensor, side: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor]:
    """z = μ + σ ε (μ alone without noise), and KL(N(μ, σ²) ‖ N(m(O), s(O)²)) ≥ I(Z; H | O) on average, in nats."""
    log_deviation = linear(parameters, "gaussian.deviation", mean).clamp(-5, 2)
    prior_mean, prior_log = linear(parameters, "gaussian.prior", side).chunk(2, -1)
    prior_log = prior_log.clamp(-5, 2)
    ratio = (2 * (log_deviation - prior_log)).exp()
    distance = ((mean - prior_mean) / prior_log.exp()).square()
    divergence = 0.5 * (ratio + distance - 1 - 2 * (log_deviation - prior_log)).sum(-1)
    return (mean if noise is None else mean + log_deviation.exp() * noise), divergence
