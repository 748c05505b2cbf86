"""Many equal updates: on CUDA one of them is captured as a graph and replayed."""

from collections.abc import Callable

import torch

WARM = 3
"""Updates before the capture, on a side stream."""


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
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self.update()
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


def repeat(update: Callable[[], None], times: int, device: torch.device) -> None:
    """Do `update` so many times, and wait until all are done."""
    Repeated(update, device).advance(times)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
