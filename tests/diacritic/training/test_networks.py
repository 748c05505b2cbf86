"""Networks in turns: chunks of updates, each network once for all who ask, and again if the first one fails."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from diacritic.training import networks
from diacritic.training.networks import completed, trained


class Counted:
    """Networks whose only parameter counts their updates."""

    def __init__(self, log: list[int], broken: bool = False) -> None:
        self.log, self.broken, self.count = log, broken, torch.zeros(1)

    @property
    def parameters(self) -> dict[str, Tensor]:
        return {"count": self.count}

    def advance(self, steps: int) -> None:
        if self.broken and self.count > 0:
            raise RuntimeError("out of memory")
        self.log.append(steps)
        self.count += steps


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "CHUNK", 4)


def test_turns_are_chunks_and_say_how_far_they_are():
    log: list[int] = []
    said: list[str] = []
    after = completed(trained(lambda: Counted(log), [0], 10, None, set(), "two"), said.append)
    assert log == [4, 4, 2]
    assert after["count"].item() == 10
    assert said[1:] == ["training two: 8 of 10 updates", "training two: 10 of 10 updates"]


def test_who_asks_for_the_same_networks_waits_for_them(tmp_path: Path):
    log: list[int] = []
    busy: set[Path] = set()
    first, second = (trained(lambda: Counted(log), [0], 8, tmp_path / "n", busy, "two") for _ in range(2))
    assert next(first).startswith("training")
    assert next(second) == next(second) == "waiting for two"
    assert completed(first)["count"].item() == completed(second)["count"].item() == 8
    assert log == [4, 4]
    assert not busy


def test_if_the_first_one_fails_the_next_one_trains_them(tmp_path: Path):
    log: list[int] = []
    busy: set[Path] = set()
    first = trained(lambda: Counted(log, broken=True), [0], 8, tmp_path / "n", busy, "two")
    second = trained(lambda: Counted(log), [0], 8, tmp_path / "n", busy, "two")
    next(first)
    assert next(second) == "waiting for two"
    with pytest.raises(RuntimeError, match="out of memory"):
        completed(first)
    assert completed(second)["count"].item() == 8
