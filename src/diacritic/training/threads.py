"""How many CPU threads an update is worth.

Threads meet after every operation. Where an operation takes less time than a thread may have to wait for a core, on a
machine that others use too, one thread is faster: several times so on small symbolic tasks.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORTHWHILE = 1 << 22
"""Numbers in one layer's activations from which on more than one thread is used: some milliseconds of work."""


def threads(numbers: int, available: int) -> int:
    """Threads for updates whose layers hold so many numbers."""
    return available if numbers >= WORTHWHILE else 1


@contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """Within, PyTorch uses as many threads as the work is worth, never more than it was allowed before."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads(numbers, before))
    try:
        yield
    finally:
        torch.set_num_threads(before)
