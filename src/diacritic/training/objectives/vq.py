"""Vector quantisation: codes move to proposals, proposals commit to codes."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from diacritic.memory.layers import Weight
from diacritic.memory.quantise import look_up
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Quantisation:
    """L_VQ = ‖sg(ẽ_t) − e_{C_t}‖² + γ ‖ẽ_t − sg(e_{C_t})‖², averaged over steps and episodes."""

    commitment: float = 0.25
    """γ."""
    dimensions: Literal["mean", "sum"] = "mean"
    """What is taken over the d numbers of a vector."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return {}

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        total = self._loss(trace)
        return total if trace.identification is None else total + self._loss(trace.identification)

    def _loss(self, trace: Trace) -> Tensor:
        if trace.heads is not None:
            return trace.heads.quantisation(trace.weight, self.commitment) * self._scale(trace)
        chosen = look_up(trace.codebook, trace.code)
        follow = (trace.proposal.detach() - chosen).square().mean(-1)
        commit = (trace.proposal - chosen.detach()).square().mean(-1)
        return trace.mean(follow + self.commitment * commit) * self._scale(trace)

    def _scale(self, trace: Trace) -> int:
        return 1 if self.dimensions == "mean" else trace.codebook.shape[-1]
