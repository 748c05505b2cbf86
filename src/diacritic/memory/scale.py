"""The scale of a recording: a policy reads observations and gives actions with mean 0 and deviation 1."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from certify.errors import UserError

SMALLEST = 1e-3  # a channel that hardly moves is not blown up


@dataclass(frozen=True)
class Scale:
    """Means and deviations of the training episodes; a policy in closed loop reads and acts through them."""

    observation_mean: Tensor
    observation_deviation: Tensor
    action_mean: Tensor
    action_deviation: Tensor

    @staticmethod
    def of(observations: Tensor, actions: Tensor, mask: Tensor | None = None) -> "Scale":
        """Of all steps, or of those that a mask [T, N] keeps."""

        def both(values: Tensor) -> tuple[Tensor, Tensor]:
            flat = (values.reshape(-1, values.shape[-1]) if mask is None else values[mask]).double()
            return flat.mean(0).float(), flat.std(0).clamp(min=SMALLEST).float()

        return Scale(*both(observations), *both(actions))

    def see(self, observations: Tensor) -> Tensor:
        """Raw observations as a policy reads them."""
        return (observations - self.observation_mean.to(observations)) / self.observation_deviation.to(observations)

    def shrink(self, actions: Tensor) -> Tensor:
        """Raw actions as a policy gives them."""
        return (actions - self.action_mean.to(actions)) / self.action_deviation.to(actions)

    def act(self, actions: Tensor) -> Tensor:
        """A policy's actions as the robot takes them."""
        return actions * self.action_deviation.to(actions) + self.action_mean.to(actions)

    def tensors(self) -> dict[str, Tensor]:
        return {f"scale.{name}": value for name, value in vars(self).items()}

    @staticmethod
    def from_tensors(tensors: Mapping[str, Tensor]) -> "Scale":
        names = ("observation_mean", "observation_deviation", "action_mean", "action_deviation")
        missing = [name for name in names if f"scale.{name}" not in tensors]
        if missing:
            raise UserError("weights", f"lack {', '.join(missing)}; they are not those of a recorded task")
        return Scale(*(tensors[f"scale.{name}"] for name in names))
