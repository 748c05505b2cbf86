"""The kernels run in Triton's interpreter here."""

from triton_interpreter import bounds_of_loops, products_of_bf16  # noqa: F401
