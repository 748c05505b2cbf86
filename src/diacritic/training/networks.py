"""Networks that supervise others: trained a little at each turn, once for all who ask, and kept in a folder."""

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from torch import Tensor

from diacritic.files.tensors import read_tensors, write_tensors
from diacritic.training.scheduler import CHUNK

T = TypeVar("T")
Turns = Generator[str, None, T]
"""Work in turns: after each it says what is being done, and in the end it returns what came of it."""


class Networks(Protocol):
    """Networks in training, one for each seed."""

    @property
    def parameters(self) -> Mapping[str, Tensor]: ...

    def advance(self, steps: int) -> None: ...


def completed(turns: Turns[T], say: Callable[[str], None] = lambda _: None) -> T:
    """All turns at once."""
    while True:
        try:
            say(next(turns))
        except StopIteration as end:
            return end.value


def trained(
    begin: Callable[[], Networks], seeds: Sequence[int], steps: int, path: Path | None, busy: set[Path], title: str
) -> Turns[dict[str, Tensor]]:
    """The parameters of networks after so many updates, on the CPU; those at `path` if it exists.

    `busy` holds the paths of networks that another one is training now: its turns pass until they are there.
    """
    while path is not None and path in busy:
        yield f"waiting for {title}"
    if path is not None and path.exists():
        return read_tensors(path)[0]
    mine = set[Path]() if path is None else {path}
    busy |= mine
    try:
        networks = begin()
        for done in range(0, steps, CHUNK):
            networks.advance(min(CHUNK, steps - done))
            yield f"training {title}: {min(done + CHUNK, steps):,} of {steps:,} updates"
        if path is not None:
            keep_networks(path, networks.parameters, seeds)
        return _on_the_cpu(networks.parameters)
    finally:
        busy -= mine


def keep_networks(path: Path, parameters: Mapping[str, Tensor], seeds: Sequence[int]) -> None:
    """Write trained networks, so that `trained` finds them."""
    write_tensors(path, _on_the_cpu(parameters), {"seeds": repr(tuple(seeds))})


def _on_the_cpu(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu() for name, value in parameters.items()}
