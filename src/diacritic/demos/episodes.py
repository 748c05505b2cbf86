"""Recordings from one array an episode, of any lengths."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from diacritic.files.demos import Demos

PICTURE = 64  # pixels of a side; larger frames are thinned
_LARGEST = float(np.finfo(np.float32).max)


def from_episodes(
    observations: Sequence[ArrayLike],
    actions: Sequence[ArrayLike],
    *,
    frames: Sequence[NDArray[np.uint8]] | None = None,
    task: str = "recording",
) -> Demos:
    """A recording from arrays [length, d] and [length, k] of each episode; frames are [length, height, width, 3]."""
    if not len(observations) or len(observations) != len(actions):
        raise UserError(task, f"has {len(observations)} observed and {len(actions)} acted episodes; give pairs of them")
    parts: dict[str, list[NDArray[Any]]] = {"observations": [], "actions": []}
    for name, episodes in (("observations", observations), ("actions", actions)):
        for k, episode in enumerate(episodes):
            parts[name].append(as_columns(episode, f"{task}: {name}[{k}]"))
            width, first = parts[name][-1].shape[1], parts[name][0].shape[1]
            if width != first:
                raise UserError(f"{task}: {name}[{k}]", f"has {width} columns, but the first episode has {first}")
    lengths = np.array([len(episode) for episode in parts["actions"]])
    for k, (seen, length) in enumerate(zip(parts["observations"], lengths.tolist(), strict=True)):
        if len(seen) != length or not length:
            said = f"{len(seen)} observations and {length} actions"
            raise UserError(f"{task}: episode {k}", f"has {said}; a step has one of each")
    seen, acted = (padded(np.concatenate(parts[name]), lengths).astype(np.float32) for name in parts)
    return Demos(
        task,
        seen,
        acted,
        frames=None if frames is None else padded(np.concatenate(list(frames)), lengths),
        mask=length_mask(lengths),
    )


def as_columns(values: ArrayLike, where: str) -> NDArray[Any]:
    """[length, columns] of numbers that a float32 holds."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or not 1 <= array.ndim <= 2:
        raise UserError(where, f"expected numbers with axes [step, column], not {array.dtype} of {array.ndim} axes")
    array = array.reshape(len(array), -1)
    if array.size and array.dtype.kind == "f":
        odd = np.argwhere(~np.isfinite(array) | (np.abs(array) > _LARGEST))
        if len(odd):
            step, column = odd[0].tolist()
            raise UserError(
                f"{where}[{step}, {column}]", f"is {array[step, column]}; drop the episode, or record it again"
            )
    return array


def padded(values: NDArray[Any], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """Rows one after another → [T, N, …]; where an episode is over, its last row is repeated."""
    first = np.cumsum(lengths) - lengths
    step = np.minimum(np.arange(lengths.max())[:, None], lengths[None] - 1)
    return values[first[None] + step]


def length_mask(lengths: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """[T, N]: true as long as an episode runs; None where all are equally long."""
    if len(set(lengths.tolist())) == 1:
        return None
    return np.arange(lengths.max())[:, None] < lengths[None]


def thinned(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Frames […, height, width, 3] with at most PICTURE pixels a side, by leaving pixels out."""
    rows, columns = (
        np.linspace(0, size - 1, min(size, PICTURE)).round().astype(np.int64) for size in picture.shape[-3:-1]
    )
    return picture[..., rows[:, None], columns[None, :], :]
