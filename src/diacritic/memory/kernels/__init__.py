"""CUDA kernels of memories that wait for their own state, in Triton; those of training are in `training.kernels`."""
