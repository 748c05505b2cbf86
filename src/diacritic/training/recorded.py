"""Recorded demonstrations as training data: standardised, with the symbols and events that some learners read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from certify.errors import UserError
from diacritic.training.data import Data, from_arrays

SMALLEST = 1e-3  # a channel that hardly moves is not blown up


@dataclass(frozen=True)
class Scale:
    """Means and deviations of the training episodes; a policy in closed loop reads and acts through them."""

    observation_mean: Tensor
    observation_deviation: Tensor
    action_mean: Tensor
    action_deviation: Tensor

    @staticmethod
    def of(observations: Tensor, actions: Tensor) -> "Scale":
        def both(values: Tensor) -> tuple[Tensor, Tensor]:
            flat = values.reshape(-1, values.shape[-1]).double()
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


def from_recording(
    observations: NDArray[np.float32],
    actions: NDArray[np.float32],
    symbols: NDArray[np.integer] | None = None,
    choices: NDArray[np.integer] | None = None,
    label: NDArray[np.integer] | None = None,
    decisions: Sequence[int] = (),
    last_reveal: int = 0,
    frames: NDArray[np.uint8] | None = None,
) -> tuple[Data, Scale]:
    """Episodes [T, N, ·] of raw observations and actions, every episode of equal weight."""
    seen, acted = torch.from_numpy(np.asarray(observations)), torch.from_numpy(np.asarray(actions))
    for name, values in (("observations", seen), ("actions", acted)):
        if not torch.isfinite(values).all():
            raise UserError(name, "hold a value that is not finite; remove or repair those episodes")
    scale = Scale.of(seen, acted)
    data = from_arrays(scale.see(seen), scale.shrink(acted))
    shape = data.shape
    if symbols is not None:
        shape = replace(shape, symbols=int(symbols.max()) + 1)
    if choices is not None:
        shape = replace(shape, classes=int(choices.max()) + 1)
    if label is not None:
        shape = replace(shape, labels=int(label.max()) + 1)
    pictures = None if frames is None else torch.from_numpy(frames.reshape(-1, *frames.shape[2:]))

    def whole(values: NDArray[np.integer] | None) -> Tensor | None:
        return None if values is None else torch.from_numpy(np.asarray(values, np.int64))

    more = {"symbol": whole(symbols), "classes": whole(choices), "label": whole(label), "frames": pictures}
    shape = replace(shape, frames=pictures is not None)
    return replace(data, shape=shape, decisions=tuple(decisions), last_reveal=last_reveal, **more), scale
