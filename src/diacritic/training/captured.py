"""Many equal updates: on CUDA one of them is captured as a graph and replayed.

PyTorch keeps one workspace of cuBLAS for each stream, and a graph remembers its address. Graphs are captured on one
stream, so that they would all write into the workspace that lies in the memory of the first: at once where they are
replayed side by side, and into memory of others once the first is gone. So each graph is given a workspace of its own.
"""

from collections.abc import Callable

import torch

WARM = 3
"""Updates before the capture, on a side stream."""
SAY_EVERY = 50
"""Updates between two words about them."""


class Repeated:
    """An update that is done again and again; on CUDA a few times as it is, then as replays of one captured graph.

    There an update must not wait for the device, and its shapes must not vary.
    """

    def __init__(self, update: Callable[[], None], device: torch.device) -> None:
        self.update, self.device, self.done = update, device, 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def advance(self, times: int) -> None:
        """Do it so many times more; nothing waits for the device."""
        if self.device.type != "cuda":
            for _ in range(times):
                self.update()
            return
        warm = min(times, max(0, WARM - self.done))
        if warm:
            self._beside(warm)
        if times > warm and self._graph is None:
            self._graph = captured(self.update)
        if self._graph is not None:
            for _ in range(times - warm):
                self._graph.replay()
        self.done += times

    def _beside(self, times: int) -> None:
        """Updates without a graph, on a side stream."""
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(times):
                self.update()
        torch.cuda.current_stream(self.device).wait_stream(side)


def captured(update: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """One update as a graph that shares no memory with other graphs."""
    graph = torch.cuda.CUDAGraph()
    torch._C._cuda_clearCublasWorkspaces()
    with torch.cuda.graph(graph):
        update()
    torch._C._cuda_clearCublasWorkspaces()  # it stays in the memory of the graph, for this graph alone
    return graph


def repeat(
    update: Callable[[], None], times: int, device: torch.device, say: Callable[[str], None] = lambda _: None
) -> None:
    """Do `update` so many times, say so now and then, and wait until all are done."""
    repeated = Repeated(update, device)
    for done in range(0, times, SAY_EVERY):
        say(f"{done:,} of {times:,} updates")
        repeated.advance(min(SAY_EVERY, times - done))
    if device.type == "cuda":
        torch.cuda.synchronize(device)
