"""What a cohort trains on: distinct inputs, and for each episode and step which of them it saw."""

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.shape import Shape


@dataclass(frozen=True)
class Data:
    """N weighted episodes of T steps. Indices are time-major [T, N]; inputs are stored once each.

    Symbolic tasks have few distinct inputs (`tables` is then worth its while); in recordings every step is its own.
    """

    shape: Shape
    observation: Tensor  # [inputs, size]
    observation_index: Tensor  # [T, N]
    previous: Tensor  # [actions, size]; the first row stands for "none yet"
    previous_index: Tensor  # [T, N]
    weight: Tensor  # [N], sums to one: over all episodes, or over each run's own
    target: Tensor  # [T, N, A]: the expert's action, or its law over symbols
    symbol: Tensor | None = None  # [T, N]: Ō_t
    classes: Tensor | None = None  # [T, N]: symbolic action of the hierarchical control
    label: Tensor | None = None  # [N]: hidden parameter θ
    joint: Tensor | None = None  # [T, N]: pending joint class, −1 once nothing is pending
    teacher: Tensor | None = None  # [S, T, N, d]: a full-history policy's state before quantisation
    forecast: Tensor | None = None  # [S or 1, T, N, T−1, A]: a forecaster's estimate of A_{t+1}, …, A_{T}
    pending: Tensor | None = None  # [S or 1, T, N, decisions, A]: its estimate of each decision's action
    frames: Tensor | None = None  # [inputs, 64, 64, 3]
    mask: Tensor | None = None  # [T, N]: true as long as an episode runs; none: all to the end
    own: Tensor | None = None  # [S, n]: the episodes that each run learns from; none: all of them
    decisions: tuple[int, ...] = ()  # steps (from 0) at which a decision is taken
    last_reveal: int = 0  # step (from 0) after which nothing more is shown

    @property
    def horizon(self) -> int:
        return self.target.shape[0]

    @property
    def episodes(self) -> int:
        return self.target.shape[1]

    def to(self, device: torch.device | str, dtype: torch.dtype = torch.float32) -> "Data":
        """On a device; floating-point values in the given precision."""
        moved = {
            field.name: value.to(device, dtype if value.is_floating_point() else None)
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        return replace(self, **moved)


def check(data: Data) -> None:
    """One line about the first thing that is wrong."""
    T, N = data.horizon, data.episodes
    for field in fields(data):
        value = getattr(data, field.name)
        if isinstance(value, Tensor) and value.is_floating_point() and not torch.isfinite(value).all():
            raise UserError(f"data.{field.name}", "holds a value that is not finite; remove or repair those episodes")
    wanted = {
        "observation_index": (T, N),
        "previous_index": (T, N),
        "weight": (N,),
        "target": (T, N, data.shape.action),
        "symbol": (T, N),
        "classes": (T, N),
        "joint": (T, N),
        "mask": (T, N),
        "label": (N,),
    }
    for name, shape in wanted.items():
        value = getattr(data, name)
        if value is not None and tuple(value.shape) != shape:
            raise UserError(f"data.{name}", f"has shape {tuple(value.shape)}, but {shape} is needed")
    for name, size in (("observation", data.shape.observation), ("previous", data.shape.action)):
        if getattr(data, name).shape[1] != size:
            raise UserError(f"data.{name}", f"has {getattr(data, name).shape[1]} columns, but the shape says {size}")
    rows = {"observation": len(data.observation), "previous": len(data.previous)}
    pointing = [(f"{table}_index", f"the {count} rows of data.{table}", count) for table, count in rows.items()]
    for index, described, count in (*pointing, ("own", f"the {N} episodes", N)):
        values = getattr(data, index)
        if values is not None and values.numel() and not 0 <= int(values.min()) <= int(values.max()) < count:
            raise UserError(f"data.{index}", f"points outside {described}")


def from_arrays(observations: Tensor, actions: Tensor, weight: Tensor | None = None) -> Data:
    """Recorded episodes with vectors: [T, N, ·] each; actions are standardised by the caller."""
    if observations.shape[:2] != actions.shape[:2]:
        raise UserError(
            "data",
            f"observations are {tuple(observations.shape[:2])} steps × episodes, actions {tuple(actions.shape[:2])}",
        )
    T, N, size = actions.shape
    token = torch.arange(T * N).view(T, N)
    data = Data(
        Shape(observations.shape[-1], size, horizon=T),
        observations.reshape(T * N, -1),
        token,
        torch.cat([actions.new_zeros(1, size), actions[:-1].reshape(-1, size)]),
        torch.cat([torch.zeros(1, N, dtype=torch.long), token[: T - 1] + 1]),
        torch.full((N,), 1.0 / N) if weight is None else weight / weight.sum(),
        actions,
    )
    check(data)
    return data
