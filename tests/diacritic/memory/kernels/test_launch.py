"""Every row has one program, and every size one that products take."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory.kernels import launch as launching
from diacritic.memory.kernels.launch import SIZES, compiled_ahead, launch, padded, pieced, shares, tiles, usable


@given(rows=st.integers(1, 10**5), runs=st.integers(1, 500), name=st.sampled_from(sorted(SIZES)))
def test_every_row_has_one_program(rows: int, runs: int, name: str) -> None:
    programs, turns = shares(name, rows, runs)
    taken = sorted(turn * programs + program for turn in range(turns) for program in range(programs))
    assert taken == list(range(programs * turns))
    assert programs * turns >= tiles(name, rows) > programs * (turns - 1)
    assert tiles(name, rows) * SIZES[name].rows >= rows > (tiles(name, rows) - 1) * SIZES[name].rows
    assert programs == 1 or programs * runs <= SIZES[name].programs


@given(st.integers(1, 5000))
def test_sizes_are_the_next_that_products_take(size: int) -> None:
    actual = padded(size)
    assert actual >= size
    assert actual in {16 * 2**k for k in range(10)}
    assert actual == 16 or actual < 2 * size


@given(size=st.integers(1, 5000), name=st.sampled_from(sorted(SIZES)))
def test_every_code_is_in_one_piece(size: int, name: str) -> None:
    piece, pieces = pieced(name, size)
    assert piece & (piece - 1) == 0
    assert 16 <= piece <= SIZES[name].chunk
    assert piece * pieces >= size > piece * (pieces - 1)


@pytest.mark.parametrize("installed", [True, False])
def test_kernels_of_memories_need_a_gpu_triton_and_single_precision(
    installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "_installed", lambda: installed)

    def on(device: str, dtype: torch.dtype) -> bool:
        values: Any = SimpleNamespace(is_cuda=device == "cuda", dtype=dtype)
        return usable(values)

    assert on("cuda", torch.float32) == installed
    assert not on("cuda", torch.float64)
    assert not on("cpu", torch.float32)


class Doubling:
    """A kernel that writes twice its argument when it is started, and remembers what it compiled for."""

    def __init__(self) -> None:
        self.compiled: list[dict[str, Any]] = []

    def warmup(self, *arguments: Any, grid: tuple[int, ...], **options: Any) -> None:
        self.compiled.append({"grid": grid, "arguments": arguments, **options})

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        return lambda given, out, **options: out.copy_(2 * given)


class Doubled(torch.autograd.Function):
    """Both ways through the kernel."""

    kernel = Doubling()

    @staticmethod
    def run(given: Tensor) -> Tensor:
        out = torch.empty_like(given)
        launch("drive", Doubled.kernel, (3,), given, out, WIDTH=4)
        return out

    @staticmethod
    def forward(ctx: Any, given: Tensor) -> Tensor:
        return Doubled.run(given)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return Doubled.run(gradients[0])


def test_kernels_compile_ahead_and_write_nothing() -> None:
    given = torch.ones(5, requires_grad=True)
    Doubled.kernel = Doubling()
    with compiled_ahead():
        actual = Doubled.apply(given)
        actual.sum().backward()
    assert actual.tolist() == [0.0] * 5
    assert given.grad is not None
    assert given.grad.tolist() == [0.0] * 5
    one, other = Doubled.kernel.compiled
    assert one["grid"] == other["grid"] == (3,)
    sizes = SIZES["drive"]
    assert (one["WIDTH"], one["ROWS"], one["num_warps"], one["num_stages"]) == (
        4,
        sizes.rows,
        sizes.warps,
        sizes.stages,
    )
    assert Doubled.apply(given).tolist() == [2.0] * 5
    assert len(Doubled.kernel.compiled) == 2


def test_a_kernel_that_does_not_compile_says_so_when_it_is_started() -> None:
    class Broken:
        def warmup(self, *_: Any, **__: Any) -> None:
            raise RuntimeError("does not compile")

        def __getitem__(self, grid: tuple[int, ...]) -> Any:
            return self.warmup

    with compiled_ahead():
        launch("drive", Broken(), (1,))
    with pytest.raises(RuntimeError, match="does not compile"):
        launch("drive", Broken(), (1,))


def test_an_error_inside_ends_the_compiling() -> None:
    with pytest.raises(ValueError, match="stop"), compiled_ahead():
        raise ValueError("stop")
    out = torch.empty(5)
    launch("drive", Doubling(), (1,), torch.ones(5), out)
    assert out.tolist() == [2.0] * 5
