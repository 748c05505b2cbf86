"""The nearest code of a proposal, inside a kernel: the largest ẽ·e_k − ‖e_k‖²/2, the lowest index among equals."""

import triton
import triton.language as tl


@triton.jit
def scoring_of(codebook, label, K, SIZE: tl.constexpr):
    """The vectors of some codes as columns, and −‖e_k‖²/2 of each; labels from K on never win."""
    size, real = tl.arange(0, SIZE), label < K
    scoring = tl.load(codebook + label[None, :] * SIZE + size[:, None], mask=real[None, :], other=0.0)
    return scoring, tl.where(real, -0.5 * tl.sum(scoring * scoring, 0), float("-inf"))[None, :]


@triton.jit
def best_of(value, scoring, half, label, K):
    """The largest score of every row among some codes, and the lowest code that has it."""
    score = tl.dot(value, scoring, input_precision="ieee") + half
    best = tl.max(score, 1)
    return best, tl.min(tl.where(score == best[:, None], label[None, :], K - 1), 1)
