"""The continuous control: a Gaussian bottleneck whose KL to a conditional prior bounds its rate from above."""

from dataclasses import replace

import torch
from torch import Tensor

from diacritic.memory import sole_carrier
from diacritic.memory.encoders import observe, prior_input, side_information
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import PLAYING, Flow, Inputs, Memory, Record, register
from diacritic.memory.quantise import bounded
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import State

LEAST = {"mean": -5.0, "hidden": -6.0}
"""The least log σ, by what it is read from."""
MOST = 2.0


def divergence(mean: Tensor, log_deviation: Tensor, prior_mean: Tensor, prior_log: Tensor) -> Tensor:
    """KL(N(μ, σ²) ‖ N(m(O), s(O)²)) ≥ I(Z; H | O) on average, in nats."""
    ratio = (2 * (log_deviation - prior_log)).exp()
    distance = ((mean - prior_mean) / prior_log.exp()).square()
    return 0.5 * (ratio + distance - 1 - 2 * (log_deviation - prior_log)).sum(-1)


@register
class Gaussian(Memory):
    """The carrier's cell with a Gaussian bottleneck in the place of the codebook."""

    name = "gaussian"
    measured = "bound"
    state = "carrier"
    noisy = True

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        """Also log σ of the carried vector, and the prior's mean and log σ: a layer, or a table for each symbol."""
        d, read = architecture.code_size, architecture.deviation_reads
        layers = sole_carrier.weights(shape, architecture)
        layers |= dense("gaussian.deviation", d if read == "mean" else architecture.width, d)
        if architecture.prior_reads == "table":
            return layers | {"gaussian.prior.weight": Weight((shape.observation, 2 * d), "normal")}
        shown = architecture.feature_size if architecture.prior_reads == "features" else shape.observation
        return layers | dense("gaussian.prior", shown, 2 * d)

    def start(self, parameters: Parameters, architecture: Architecture, rows: int) -> State:
        """Zero: there are no codes whose first one could be the start."""
        return sole_carrier.begin(parameters, replace(architecture, path="none", identification=0, start="zero"), rows)

    def step(
        self, parameters: Parameters, architecture: Architecture, state: State, inputs: Inputs, flow: Flow = PLAYING
    ) -> tuple[State, Record]:
        """z = μ + σ ε, or μ where there is no noise."""
        features = observe(parameters, inputs)
        side = side_information(parameters, inputs, features)
        carried, entering = sole_carrier.carried_on(architecture, state.embedding, flow.gradient)
        driven = sole_carrier.drive(parameters, "residual", side, inputs.previous)
        hidden = sole_carrier.last_hidden(parameters, "residual", entering, driven)
        mean = bounded(carried + linear(parameters, "residual.out", hidden), architecture.bound)
        read = mean if architecture.deviation_reads == "mean" else hidden
        least = LEAST[architecture.deviation_reads]
        log_deviation = linear(parameters, "gaussian.deviation", read).clamp(least, MOST)
        prior = linear(parameters, "gaussian.prior", prior_input(architecture, inputs, side))
        prior_mean, prior_log = prior.chunk(2, -1)
        bits = divergence(mean, log_deviation, prior_mean, prior_log.clamp(least, MOST))
        sampled = mean if inputs.noise is None else mean + log_deviation.exp() * inputs.noise
        no_code = torch.zeros_like(state.code)
        return State(sampled, state.code), Record(features, side, mean, sampled, no_code, bits=bits)
