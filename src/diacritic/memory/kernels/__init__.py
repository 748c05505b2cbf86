"""CUDA kernels in Triton, of memories that wait for their own state and of camera frames.

Those of training are in `training.kernels`.
"""
