"""Rows and matrices as kernels read and write them."""

import triton
import triton.language as tl


@triton.jit
def square(weight, WIDTH: tl.constexpr):
    """A square matrix."""
    return tall(weight, WIDTH, WIDTH)


@triton.jit
def tall(weight, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """A whole matrix."""
    return tl.load(weight + (tl.arange(0, HEIGHT)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]))


@triton.jit
def turned(weight, WIDTH: tl.constexpr):
    """Its transpose."""
    side = tl.arange(0, WIDTH)
    return tl.load(weight + (side[None, :] * WIDTH + side[:, None]))


@triton.jit
def block(values, row, rows, WIDTH: tl.constexpr):
    """Some rows of a matrix; rows beyond its end are zero."""
    column = tl.arange(0, WIDTH)
    return tl.load(values + (row[:, None] * WIDTH + column[None, :]), mask=(row < rows)[:, None], other=0.0)


@triton.jit
def put(values, content, row, rows, WIDTH: tl.constexpr):
    """Write some rows of a matrix."""
    column = tl.arange(0, WIDTH)
    pointer = values + (row[:, None] * WIDTH + column[None, :])
    tl.store(pointer, content.to(values.dtype.element_ty), mask=(row < rows)[:, None])
