"""One trained run as an ordinary `nn.Module`: `step(state, observation, previous_action) -> (state, code, action)`."""

from collections.abc import Mapping

from torch import Tensor, nn

from certify.errors import UserError
from diacritic.memory.act import act
from diacritic.memory.kinds import memory_of
from diacritic.memory.protocol import Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import State

KEPT = ("act", "choose", "control", "prior")
"""Heads that a trained policy keeps."""


class Carrier(nn.Module):
    """The carrier of one run. Its state is a code (and, in the controls, whatever else that control carries)."""

    def __init__(self, shape: Shape, architecture: Architecture, parameters: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.memory = memory_of(architecture)
        if self.memory.state != "carrier":
            raise UserError("architecture.memory", f"{architecture.memory!r} has no code to hand on")
        wanted = self.memory.weights(shape, architecture)
        for name, weight in wanted.items():
            if name not in parameters:
                raise UserError(f"parameters[{name!r}]", "is missing; the file belongs to another architecture")
            if tuple(parameters[name].shape) != weight.shape:
                given = tuple(parameters[name].shape)
                raise UserError(f"parameters[{name!r}]", f"has shape {given}; the architecture needs {weight.shape}")
        self.shape, self.architecture = shape, architecture
        kept = [name for name in parameters if name in wanted or name.split(".")[0] in KEPT]
        self._names = {name: name.replace(".", "_") for name in kept}
        self.weights = nn.ParameterDict({self._names[name]: nn.Parameter(parameters[name].clone()) for name in kept})

    def _stacked(self) -> dict[str, Tensor]:
        return {name: self.weights[key].unsqueeze(0) for name, key in self._names.items()}

    def begin(self, batch: int) -> State:
        """The memory before the first observation of `batch` episodes; a scaffold has been taken down by now."""
        return self.memory.start(self._stacked(), self.architecture, batch).each(lambda part: part[0])

    def step(
        self,
        state: State,
        observation: Tensor,
        previous_action: Tensor,
        symbol: Tensor | None = None,
        frame: Tensor | None = None,
    ) -> tuple[State, Tensor, Tensor]:
        """One step of a batch: the new state, the code C_t [batch] and the action [batch, A] (logits over symbols).

        `previous_action` is zero before the first action; controls with matched side information read the one-hot
        `symbol` Ō_t, and carriers with a camera the `frame` [batch, 64, 64, 3].
        """
        sizes = (
            ("observation", observation, self.shape.observation),
            ("previous_action", previous_action, self.shape.action),
        )
        for name, value, size in sizes:
            if value.shape[-1] != size:
                raise UserError(name, f"has {value.shape[-1]} columns, but this carrier reads {size}")
        if self.shape.frames and frame is None:
            raise UserError("frame", "this carrier has a camera; give its frame with every observation")
        parameters = self._stacked()
        shown = Inputs(observation, previous_action, symbol, frame)
        after, record = self.memory.step(parameters, self.architecture, state.each(lambda part: part[None]), shown)
        return after.each(lambda part: part[0]), record.code[0], act(parameters, self.architecture, record)[0]

    def forward(self, code: Tensor, observation: Tensor, previous_action: Tensor) -> tuple[Tensor, Tensor]:
        """The step as a function of the code alone (K before the first step): what `torch.export` and ONNX see."""
        embedding = self.memory.carried(self._stacked(), self.architecture)[0][code]
        _, after, action = self.step(State(embedding, code), observation, previous_action)
        return after, action


def one_run(parameters: Mapping[str, Tensor], run: int) -> dict[str, Tensor]:
    """The parameters of one run of a cohort."""
    return {name: value[run].detach() for name, value in parameters.items()}
