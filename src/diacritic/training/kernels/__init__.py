"""Triton kernels for CUDA. Nothing here is imported unless tensors are on a GPU; the torch code is the definition."""
