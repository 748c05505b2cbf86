"""How kernels are started: grids, sizes that products take, and the sharing of rows among programs."""

from typing import Any

PROGRAMS = 264
"""Programs of a backward pass over all runs together; each sums the weights' gradients over its share of the rows."""


def launch(
    kernel: Any, grid: tuple[int, int], *arguments: Any, num_warps: int = 8, num_stages: int = 2, **sizes: int
) -> None:
    """Start a kernel; `sizes` are constants of the compiled program."""
    kernel[grid](*arguments, **sizes, num_warps=num_warps, num_stages=num_stages)


def tiles(rows: int, tile: int) -> int:
    """How many tiles cover the rows."""
    return -(-rows // tile)


def shares(rows: int, runs: int, tile: int) -> tuple[int, int]:
    """How many programs share a run's rows, and how many tiles each of them takes."""
    programs = max(1, min(tiles(rows, tile), PROGRAMS // runs))
    return programs, tiles(tiles(rows, tile), programs)


def padded(size: int) -> int:
    """The least number of columns that products take: a power of two, at least 16."""
    return max(16, 1 << (size - 1).bit_length())
