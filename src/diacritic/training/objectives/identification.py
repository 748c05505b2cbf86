"""System identification: the memory must tell the hidden parameter."""

from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from diacritic.memory.layers import Weight, reader
from diacritic.memory.quantise import unit
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import Numbers, discrepancy, naming, need
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Identification:
    """λ (1/T) Σ_t −log q(θ | O_t, C_t), from the policy's own code or from the second carrier's where there is one."""

    own_features: bool = False
    """The head reads the policy's g_o(O_t) with its gradient, even where the second carrier's inputs are detached."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return reader("identify", architecture.feature_size, architecture.code_size, architecture.width, shape.labels)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        label = need(data.label, "label", "identification")
        watched = trace if trace.identification is None else trace.identification
        watched = replace(watched, features=trace.features) if self.own_features else watched
        return schedule.auxiliary * naming(watched, "identify", trace.own(label.view(1, 1, -1)), trace.step_weight)


@dataclass(frozen=True)
class JoinHead:
    """λ (1/T) Σ_t −log q(pending joint class | O_t, C_t): a privileged head that names (β₁, β₂) until each is used."""

    steps: Literal["pending", "all"] = "pending"
    """`all`: the joint class of all decisions at every step, before it is shown and after it is used as well."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return reader("join", architecture.feature_size, architecture.code_size, architecture.width, shape.joint)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        joint = trace.own(need(data.joint, "joint", "join head").unsqueeze(0))
        if self.steps == "all":  # after the last cue and before the first decision it names all of them
            joint = joint[:, data.last_reveal : data.last_reveal + 1].expand_as(joint)
        pending = (joint >= 0).to(trace.weight.dtype)
        return schedule.auxiliary * naming(trace, "join", joint.clamp(min=0), pending * trace.step_weight)


@dataclass(frozen=True)
class TeacherState:
    """λ (1/T) Σ_t ‖q(O_t, C_t) − s_t‖²: s_t is the frozen full-history Transformer's state before quantisation."""

    size: int = 32
    numbers: Numbers = "mean"
    unit_length: bool = False
    """States are brought to length one first."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return reader("teacher", architecture.feature_size, architecture.code_size, architecture.width, self.size)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        state = need(data.teacher, "teacher", "teacher state")
        state = unit(state) if self.unit_length else state
        error = discrepancy(trace.read_steps("teacher"), trace.own(state), False, self.numbers)
        return schedule.auxiliary * (error * trace.step_weight).sum((1, 2))
