"""The kernel of random numbers against torch, in Triton's interpreter."""

import pytest
import torch

from diacritic.training.kernels.draw import uniform_cuda
from diacritic.training.randomness import uniform


@pytest.mark.parametrize("step", [0, 1, 9_999, 2**31 + 5])
def test_the_same_numbers_to_the_last_bit(step: int) -> None:
    seeds, clock = torch.tensor([0, 1, 12345, 2**31 - 1, 2**33 + 7]), torch.tensor(step)
    for stream, shape in ((0, (512,)), (3, (7, 300)), (5, (1,))):
        actual = uniform_cuda(seeds, clock, stream, shape)
        assert actual.dtype == torch.float32
        assert torch.equal(actual, uniform(seeds, clock, stream, shape))
