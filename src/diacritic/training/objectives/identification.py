"""System identification: the memory must tell the hidden parameter."""

from dataclasses import dataclass

from torch import Tensor

from diacritic.memory.layers import Weight, reader
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import naming, need
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Identification:
    """λ (1/T) Σ_t −log q(θ | O_t, C_t), from the policy's own code or from the second carrier's where there is one."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return reader("identify", architecture.width, architecture.code_size, architecture.width, shape.labels)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        label = need(data.label, "label", "identification")
        watched = trace if trace.identification is None else trace.identification
        return schedule.auxiliary * naming(watched, "identify", trace.own(label.view(1, 1, -1)), trace.step_weight)


@dataclass(frozen=True)
class JoinHead:
    """λ (1/T) Σ_t −log q(pending joint class | O_t, C_t): a privileged head that names (β₁, β₂) until each is used."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return reader("join", architecture.width, architecture.code_size, architecture.width, shape.joint)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        joint = trace.own(need(data.joint, "joint", "join head").unsqueeze(0))
        pending = (joint >= 0).to(trace.weight.dtype)
        return schedule.auxiliary * naming(trace, "join", joint.clamp(min=0), pending * trace.step_weight)


@dataclass(frozen=True)
class TeacherState:
    """λ (1/T) Σ_t ‖q(O_t, C_t) − s_t‖²: s_t is the frozen full-history Transformer's state before quantisation."""

    size: int = 32

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return reader("teacher", architecture.width, architecture.code_size, architecture.width, self.size)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        state = need(data.teacher, "teacher", "teacher state")
        error = (trace.read_steps("teacher") - trace.own(state)).square().mean(-1)
        return schedule.auxiliary * (error * trace.step_weight).sum((1, 2))
