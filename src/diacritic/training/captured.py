"""Many equal updates: on CUDA one of them is captured as a graph and replayed."""

from collections.abc import Callable

import torch


def repeat(update: Callable[[], None], times: int, device: torch.device, warm: int = 3) -> None:
    """Do `update` so many times; on CUDA a few on a side stream, the rest as replays of one captured graph.

    There an update must not wait for the device, and its shapes must not vary.
    """
    if device.type != "cuda" or times <= warm:
        for _ in range(times):
            update()
        return
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(side):
        for _ in range(warm):
            update()
    torch.cuda.current_stream(device).wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update()
    for _ in range(times - warm):
        graph.replay()
    torch.cuda.synchronize(device)
