"""Read-side controls: behaviour is chosen from (C_t, Ō_t), and a controller without memory executes it from O_t."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from diacritic.memory.layers import Weight, read, reader
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import need
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Controlled:
    """w ℓ(choice | C_t, Ō_t) + ℓ(A_t | O_t, choice).

    `hierarchical`: the choice is a symbolic action (cross-entropy of weight w), and the controller is taught with the
    expert's choice. `intent`: the choice is itself an action (squared error), and the controller refines it.
    """

    choice: Literal["hierarchical", "intent"] = "hierarchical"
    weight: float = 1.0
    """w; the paper tries 1, 10 and 30."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        chosen = shape.classes if self.choice == "hierarchical" else shape.action
        head = reader("choose", architecture.feature_size, architecture.code_size, architecture.width, chosen)
        return head | reader("act", architecture.feature_size, chosen, architecture.width, shape.action, hidden=2)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        part = torch.baddbmm(
            trace.parameters["choose.observation.bias"].unsqueeze(1),
            trace.side,
            trace.parameters["choose.observation.weight"],
        )
        chosen = read(trace.parameters, "choose", trace.spread(part), trace.embedding)
        target = data.target.reshape(1, -1, data.shape.action)
        if self.choice == "hierarchical":
            classes = need(data.classes, "classes", "hierarchical").flatten()
            log_law = torch.log_softmax(chosen, -1)
            choosing = -log_law.gather(-1, classes.expand(len(chosen), -1).unsqueeze(-1)).squeeze(-1)
            one_hot = torch.nn.functional.one_hot(classes, data.shape.classes).to(chosen.dtype)
            given = one_hot.expand(len(chosen), -1, -1)
        else:
            choosing = (chosen - target).square().mean(-1)
            given = chosen.detach()
        acting = (read(trace.parameters, "act", trace.part("act"), given) - target).square().mean(-1)
        return trace.mean(self.weight * choosing + acting)
