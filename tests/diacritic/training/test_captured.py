"""Repeated updates: as many as asked for, each counted once, with a graph or without."""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch

from diacritic.training.captured import Repeated, captured, repeat


class Counter:
    """An update that counts itself; while it is captured nothing happens."""

    def __init__(self) -> None:
        self.done, self.captured, self.capturing = 0, 0, False

    def __call__(self) -> None:
        self.captured += self.capturing
        self.done += not self.capturing


@pytest.mark.parametrize("pieces", [[0], [1], [3], [4], [20], [1, 1, 0, 5, 3], [2, 2], [3, 1]])
def test_an_update_is_done_as_often_as_asked_for(pieces: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    update = Counter()
    repeated = Repeated(update, torch.device("cpu"))
    for times in pieces:
        repeated.advance(times)
    assert update.done == sum(pieces)

    stream, update = SimpleNamespace(wait_stream=lambda _: None), Counter()

    @contextmanager
    def capture(_):
        update.capturing = True
        yield
        update.capturing = False

    fakes = {
        "Stream": lambda _: stream,
        "current_stream": lambda _: stream,
        "stream": lambda _: nullcontext(),
        "CUDAGraph": lambda: SimpleNamespace(replay=update),
        "graph": capture,
        "synchronize": lambda _: None,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None, raising=False)
    repeated = Repeated(update, torch.device("cuda"))
    for times in pieces:
        repeated.advance(times)
    assert update.done == sum(pieces)
    assert update.captured == (sum(pieces) > 3)
    said: list[str] = []
    repeat(update, 120, torch.device("cuda"), said.append)
    assert update.done == sum(pieces) + 120
    assert said == ["0 of 120 updates", "50 of 120 updates", "100 of 120 updates"]


def test_a_graph_shares_no_workspace_with_those_before_and_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    @contextmanager
    def capture(_):
        events.append("capture")
        yield

    monkeypatch.setattr(torch.cuda, "CUDAGraph", SimpleNamespace)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    monkeypatch.setattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: events.append("forget"), raising=False)
    captured(lambda: events.append("update"))
    assert events == ["forget", "capture", "update", "forget"]
