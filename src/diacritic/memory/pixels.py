"""Camera features: three convolutions on a 64 × 64 frame and one layer that brings them to the width of g_o."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear

SIDE = 64


@dataclass(frozen=True)
class Front:
    """What a frame goes through before the layer on its output."""

    name: str
    layers: tuple[tuple[int, int, int, int, int], ...]
    """Channels in, channels out, kernel, stride, padding."""
    shift: float
    """Subtracted from bytes / 255."""
    pooled: int
    """Pixels a side that are averaged into one at the end."""
    flat: int = 64 * 4 * 4
    blocks: tuple[int, ...] = ()
    """By layer, pixels a side of the blocks in which bf16 on CUDA computes outputs (`pixel_blocks`), as the next layer
    reads them; 0: one by one, strided. Empty: all layers are strided."""

    def weights(self, width: int = 128) -> dict[str, Weight]:
        """Convolutions that start as PyTorch's do, and the layer on their output."""
        front = {}
        for k, (channels, outputs, kernel, *_) in enumerate(self.layers):
            bound = (channels * kernel**2) ** -0.5
            front[f"{self.name}.{k}.weight"] = Weight((outputs, channels, kernel, kernel), scale=bound)
            front[f"{self.name}.{k}.bias"] = Weight((outputs,), scale=bound)
        return front | dense(f"{self.name}.out", self.flat, width)


FRONTS = {
    # 64 → 15 → 6 → 4 pixels a side
    "added": Front("pixels", ((3, 32, 8, 4, 0), (32, 64, 4, 2, 0), (64, 64, 3, 1, 0)), 0.5, 1),
    # 64 → 32 → 16 → 8, in pairs to 4
    "beside": Front("pooled", ((3, 32, 5, 2, 2), (32, 64, 5, 2, 2), (64, 64, 3, 2, 1)), 0.0, 2, blocks=(2, 1, 0)),
}
"""By `Architecture.camera`."""


def camera_of(parameters: Mapping[str, Tensor]) -> str | None:
    """How the camera's features enter g_o, as the names of the parameters say; none: there is no camera."""
    return next((camera for camera, front in FRONTS.items() if f"{front.name}.0.weight" in parameters), None)


def features(parameters: Parameters, frames: Tensor, rough: bool = False) -> Tensor:
    """What the layer on the convolutions gives for frames [rows, 64, 64, 3] (bytes), [runs, rows, width].

    Frames may have a leading axis of runs. On the CPU all runs are one convolution, whose groups they are. On CUDA, and
    for `rough` products (bf16), they take turns: each fills the GPU, and grouped kernels are slow there. Bytes are
    channels-last as they lie in memory.
    """
    if frames.shape[-3:] != (SIDE, SIDE, 3) or frames.dtype != torch.uint8:
        given = f"{tuple(frames.shape)} of {frames.dtype}"
        raise ValueError(
            f"frames: expected bytes of shape [..., {SIDE}, {SIDE}, 3], found {given}; crop and resize them"
        )
    front = FRONTS[camera_of(parameters) or "added"]
    last = f"{front.name}.out"
    if rough:
        seen = _run_by_run(front, parameters, frames, torch.bfloat16)
        lowered = {f"{last}.{part}": parameters[f"{last}.{part}"].to(seen.dtype) for part in ("weight", "bias")}
        return linear(lowered, last, seen).to(parameters[f"{last}.weight"].dtype)
    if not frames.is_cuda:
        return linear(parameters, last, _grouped(front, parameters, frames))
    with unrounded():
        seen = _run_by_run(front, parameters, frames, parameters[f"{front.name}.0.weight"].dtype)
    return linear(parameters, last, seen)


def _run_by_run(front: Front, parameters: Parameters, frames: Tensor, kind: torch.dtype) -> Tensor:
    """Outputs of the convolutions in that precision; bf16 on CUDA is computed in blocks."""
    if frames.is_cuda and kind == torch.bfloat16 and front.blocks:
        from diacritic.memory.pixel_blocks import in_blocks

        return in_blocks(front, parameters, frames, kind)
    return _in_turn(front, parameters, frames, kind)


@contextmanager
def unrounded() -> Iterator[None]:
    """Within, convolutions of fp32 on CUDA are not rounded to TF32, which is usual there: codes are those of a CPU."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def _grouped(front: Front, parameters: Parameters, frames: Tensor) -> Tensor:
    """Outputs of the convolutions of all runs at once, [runs, rows, ·]."""
    kind = parameters[f"{front.name}.0.weight"]
    runs, rows = len(kind), frames.shape[-4]
    x = frames.movedim(-1, -3).to(kind.dtype) / 255
    x = x - front.shift if front.shift else x
    x = x.movedim(0, 1).flatten(1, 2) if x.dim() == 5 else x
    for k, (channels, *_, stride, padding) in enumerate(front.layers):
        kernel, bias = (parameters[f"{front.name}.{k}.{part}"] for part in ("weight", "bias"))
        groups = x.shape[1] // channels  # one where the frames are shared, else one for each run
        x = torch.relu(F.conv2d(x, kernel.flatten(0, 1), bias.flatten(), stride, padding, groups=groups))
    x = F.avg_pool2d(x, front.pooled) if front.pooled > 1 else x
    return x.reshape(rows, runs, front.flat).transpose(0, 1)


def _in_turn(front: Front, parameters: Parameters, frames: Tensor, kind: torch.dtype) -> Tensor:
    """The same, run by run in that precision; bytes stay whole numbers, which bf16 holds, and kernels are divided."""
    runs, outputs = len(parameters[f"{front.name}.0.weight"]), []
    shared = _channels(frames, kind, front.shift) if frames.dim() == 4 else None
    for run in range(runs):
        x = _channels(frames[run], kind, front.shift) if shared is None else shared
        for k, (*_, stride, padding) in enumerate(front.layers):
            kernel, bias = (parameters[f"{front.name}.{k}.{part}"][run] for part in ("weight", "bias"))
            kernel = kernel / 255 if k == 0 else kernel
            kernel = kernel.to(kind).contiguous(memory_format=torch.channels_last)
            x = torch.relu(F.conv2d(x, kernel, bias.to(kind), stride, padding))
        x = F.avg_pool2d(x, front.pooled) if front.pooled > 1 else x
        outputs.append(x.flatten(1))
    return torch.stack(outputs)


def _channels(frames: Tensor, kind: torch.dtype, shift: float) -> Tensor:
    """Bytes [rows, 64, 64, 3] as numbers from 0 to 255 less the shift, [rows, 3, 64, 64], channels-last."""
    x = frames.movedim(-1, -3).to(kind)
    return x - 255 * shift if shift else x
