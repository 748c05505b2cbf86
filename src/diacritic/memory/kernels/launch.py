"""How kernels are started: sizes, grids, the sharing of rows among programs; and how they compile side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
UNWRITTEN = {aten.empty.memory_format, aten.empty_like.default, aten.new_empty.default, aten.empty_strided.default}
THREADS = 8
_ahead: list[ThreadPoolExecutor] = []  # where kernels compile now instead of being started


class Sizes(NamedTuple):
    """How one kernel is cut: rows of a tile, warps of a program, stages of loads."""

    rows: int = 64
    warps: int = 4
    stages: int = 2
    programs: int = 264
    """Programs over all runs together where each sums gradients of weights over its share of the rows."""
    chunk: int = 32
    """Columns of one product, or codes, where a kernel takes a few at a time."""


SIZES = {
    "drive": Sizes(128, 8, chunk=64),
    "encode": Sizes(128, 8, stages=3, programs=132),
    "gather": Sizes(stages=3),
    "encoder first": Sizes(stages=3),
    "encoder second": Sizes(stages=3),
    "outer": Sizes(stages=3),
    "read": Sizes(128, 8, programs=132, chunk=128),
    "read of many": Sizes(stages=1),
    "back": Sizes(),
    "first": Sizes(stages=3, chunk=128),
    "enter": Sizes(),
    "sum back": Sizes(512),
    "perceptron": Sizes(64, 4, stages=1, programs=528),
    "perceptron back": Sizes(64, 8, stages=1, programs=528),
    "recurrence": Sizes(16, 4, stages=1, chunk=64),
    "recurrence back": Sizes(16, 4, stages=1),
    "error": Sizes(512),
    "quantise": Sizes(32, 2, programs=2112, chunk=64),
    "quantise of many": Sizes(64, 4, programs=528, chunk=128),
    "commit": Sizes(32, 2),
    "cost": Sizes(chunk=64),
    "cost of many": Sizes(32, chunk=128),
    "lean": Sizes(warps=2, chunk=64),
    "lean of many": Sizes(chunk=64),
    "pulled codes": Sizes(32, 2, programs=2112, chunk=64),
    "pulled codes of many": Sizes(64, 4, stages=1, programs=528, chunk=64),
    "uniform": Sizes(1024),
    "choose": Sizes(),
    "adam": Sizes(1024, 8),
    "narrow GRU": Sizes(16, 4, stages=1),
    "narrow GRU back": Sizes(16, 4, stages=1),
    "wide GRU": Sizes(16, 4, stages=4, chunk=64),
    "wide GRU back": Sizes(16, 4, stages=4, chunk=128),
    "GRU code": Sizes(16, 4, stages=1),
    "GRU code back": Sizes(16, 4, stages=1),
    "bistable": Sizes(64, 2),
    "bistable back": Sizes(64, 2),
    "linear scan": Sizes(64, 2),
    "linear scan back": Sizes(64, 2),
    "lattice": Sizes(2, 1),
    "lattice back": Sizes(2, 1),
    "registers": Sizes(2, 2),
    "registers back": Sizes(2, 2),
    "chains": Sizes(32, 4, stages=1),
    "chains back": Sizes(64, 8, stages=2),
    "chain head": Sizes(64, 8, programs=264),
    "chain sums": Sizes(32, 4, stages=3, programs=528),
}
"""By kernel, the best of a few tried on an H200; those of `of many` are chosen by registers alone, and those of linear
scans are as those of bistable units.

They decide how fast a kernel is, not what it computes.
"""


def usable(values: Tensor) -> bool:
    """Whether kernels of memories take these numbers: fp32 on CUDA, where Triton is installed."""
    return values.is_cuda and values.dtype == torch.float32 and _installed()


@cache
def _installed() -> bool:
    return find_spec("triton") is not None


def launch(name: str, kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Start a kernel with its sizes; `constants` are further constants of the compiled program."""
    sizes = SIZES[name]
    start(kernel, grid, arguments, {**constants, "ROWS": sizes.rows}, sizes.warps, sizes.stages)


def start(
    kernel: Any, grid: tuple[int, ...], arguments: Sequence[Any], constants: Mapping[str, Any], warps: int, stages: int
) -> None:
    """Start a kernel, or let it compile."""
    options = {**constants, "num_warps": warps, "num_stages": stages}
    if _ahead:
        _ahead[-1].submit(kernel.warmup, *arguments, grid=grid, **options)
    else:
        kernel[grid](*arguments, **options)


class _Zeros(TorchDispatchMode):
    """Memory that a kernel would have written holds zeros, which are valid codes and indices."""

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        return result.zero_() if func in UNWRITTEN and isinstance(result, Tensor) else result


@contextmanager
def compiled_ahead() -> Iterator[None]:
    """Kernels that are started within do not run but compile side by side; what they would write is zero.

    One that does not compile says so when it is really started.
    """
    with ThreadPoolExecutor(THREADS) as threads, _Zeros():
        _ahead.append(threads)
        try:
            yield
        finally:
            _ahead.pop()


def tiles(name: str, rows: int) -> int:
    """How many tiles of a kernel cover the rows."""
    return -(-rows // SIZES[name].rows)


def shares(name: str, rows: int, runs: int) -> tuple[int, int]:
    """How many programs share a run's rows, and how many tiles each of them takes."""
    covering = tiles(name, rows)
    programs = max(1, min(covering, SIZES[name].programs // runs))
    return programs, -(-covering // programs)


def padded(size: int) -> int:
    """The least number of columns that products take: a power of two, at least 16."""
    return max(16, 1 << (size - 1).bit_length())


def pieced(name: str, size: int) -> tuple[int, int]:
    """Into how large pieces a kernel cuts so many codes, and how many there are."""
    piece = min(padded(size), SIZES[name].chunk)
    return piece, -(-size // piece)
