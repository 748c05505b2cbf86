"""Which films README and docs need, and from what they are made."""

from pathlib import Path

import pytest

from diacritic.commands.video import Video
from diacritic.shipped import provenance
from diacritic.tasks.franka.tasks import TASKS
from reproduction.commands.films import Films


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Video]:
    videos: list[Video] = []
    monkeypatch.setattr(Video, "run", lambda self: videos.append(self) or 0)
    return videos


def test_every_expert_and_the_swap_are_filmed(asked: list[Video], tmp_path: Path) -> None:
    assert Films(out=tmp_path).run() == 0
    *experts, swap = asked
    assert [video.task for video in experts] == list(TASKS)
    assert all(video.small and video.out == (tmp_path / f"{video.task}.gif",) for video in experts)
    assert swap.swap
    assert [path.name for path in swap.out] == ["swap.mp4", "swap.gif"]
    assert swap.run_ is not None
    assert swap.run_.name in {run["run"] for run in provenance()["runs"]}


def test_only_some_are_filmed_where_they_are_named(asked: list[Video], tmp_path: Path) -> None:
    Films(("weighing",), tmp_path).run()
    assert [video.task for video in asked] == ["weighing"]
