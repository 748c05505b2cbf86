"""The continuous control: a Gaussian bottleneck whose KL to a conditional prior bounds its rate from above."""

from dataclasses import replace

import torch
from torch import Tensor

from diacritic.memory import sole_carrier
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import State


def weights(features: int, d: int) -> dict[str, Weight]:
    """log σ of the carried vector from its mean, and the prior's mean and log σ from the side information."""
    return dense("gaussian.deviation", d, d) | dense("gaussian.prior", features, 2 * d)


def sample(parameters: Parameters, mean: Tensor, side: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor]:
    """z = μ + σ ε (μ alone without noise), and KL(N(μ, σ²) ‖ N(m(O), s(O)²)) ≥ I(Z; H | O) on average, in nats."""
    log_deviation = linear(parameters, "gaussian.deviation", mean).clamp(-5, 2)
    prior_mean, prior_log = linear(parameters, "gaussian.prior", side).chunk(2, -1)
    prior_log = prior_log.clamp(-5, 2)
    ratio = (2 * (log_deviation - prior_log)).exp()
    distance = ((mean - prior_mean) / prior_log.exp()).square()
    divergence = 0.5 * (ratio + distance - 1 - 2 * (log_deviation - prior_log)).sum(-1)
    return (mean if noise is None else mean + log_deviation.exp() * noise), divergence


@register
class Gaussian(Memory):
    """The carrier's cell with a Gaussian bottleneck in the place of the codebook."""

    name = "gaussian"
    measured = "bound"
    state = "carrier"
    noisy = True

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return sole_carrier.weights(shape, architecture) | weights(architecture.feature_size, architecture.code_size)

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> State:
        return sole_carrier.begin(parameters, replace(architecture, path="none", identification=0), rows)

    def step(
        self, parameters: Parameters, architecture: Architecture, state: State, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[State, Record]:
        features, side, mean, _ = sole_carrier.proposed(
            parameters, architecture, state, inputs, flow.gradient, flow.strength
        )
        embedding, bits = sample(parameters, mean, side, inputs.noise)
        no_code = torch.zeros_like(state.code)
        return State(embedding, state.code), Record(features, side, mean, embedding, no_code, bits=bits)
