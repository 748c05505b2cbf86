"""Read-side controls: behaviour is chosen from (C_t, Ō_t), and a controller without memory executes it from O_t."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from diacritic.memory.act import execute
from diacritic.memory.layers import Weight, linear, read, reader
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import need
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Controlled:
    """w ℓ(choice | C_t, Ō_t) + ℓ(A_t | O_t, choice).

    `hierarchical`: the choice is a symbolic action (cross-entropy of weight w), and the controller is taught with the
    expert's choice. `intent`: the choice is itself an action (squared error), and the controller refines it: from
    g_o(O_t), or from O_t by a correction that is added to it; the choice then learns from the sum as well.
    """

    choice: Literal["hierarchical", "intent"] = "hierarchical"
    weight: float = 1.0
    """w; the paper tries 1, 10 and 30."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        chosen = shape.classes if self.choice == "hierarchical" else shape.action
        features, width = architecture.feature_size, architecture.width
        raw = architecture.controller_reads == "observation"
        hidden = 2 if raw and self.choice == "intent" else 1
        head = reader("choose", features, architecture.code_size, width, chosen, hidden)
        name, shown = ("control", shape.observation) if raw else ("act", features)
        return head | reader(name, shown, chosen, width, shape.action, hidden=2)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        part = linear(trace.parameters, "choose.observation", trace.side)
        chosen = read(trace.parameters, "choose", trace.spread(part), trace.embedding)
        target = trace.own(data.target.unsqueeze(0)).flatten(1, 2)
        if self.choice == "hierarchical":
            classes = trace.own(need(data.classes, "classes", "hierarchical").unsqueeze(0)).flatten(1)
            classes = classes.expand(len(chosen), -1)
            choosing = -torch.log_softmax(chosen, -1).gather(-1, classes.unsqueeze(-1)).squeeze(-1)
            given = torch.nn.functional.one_hot(classes, data.shape.classes).to(chosen.dtype)
        else:
            choosing, given = (chosen - target).square().mean(-1), chosen
        observation = trace.own(data.observation[data.observation_index].unsqueeze(0)).flatten(1, 2)
        observation = observation.expand(len(chosen), -1, -1)
        done = execute(trace.parameters, self.choice, trace.spread(trace.features), observation, given)
        return trace.mean(self.weight * choosing + (done - target).square().mean(-1))
