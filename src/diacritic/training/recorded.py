"""Recorded demonstrations as training data: standardised, with the symbols and events that some learners read."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.scale import Scale
from diacritic.training.data import Data, from_arrays


def from_recording(
    observations: NDArray[np.float32],
    actions: NDArray[np.float32],
    symbols: NDArray[np.integer] | None = None,
    choices: NDArray[np.integer] | None = None,
    label: NDArray[np.integer] | None = None,
    decisions: Sequence[int] = (),
    last_reveal: int = 0,
    frames: NDArray[np.uint8] | None = None,
    mask: NDArray[np.bool_] | None = None,
) -> tuple[Data, Scale]:
    """Episodes [T, N, ·] of raw observations and actions, every episode of equal weight."""
    seen, acted = torch.from_numpy(np.asarray(observations)), torch.from_numpy(np.asarray(actions))
    for name, values in (("observations", seen), ("actions", acted)):
        if not torch.isfinite(values).all():
            raise UserError(name, "hold a value that is not finite; remove or repair those episodes")
    runs = None if mask is None or mask.all() else torch.from_numpy(mask)
    scale = Scale.of(seen, acted, runs)
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
    return replace(data, shape=shape, decisions=tuple(decisions), last_reveal=last_reveal, mask=runs, **more), scale
