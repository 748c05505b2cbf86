"""Recordings that studies learn from and are judged on: made once, kept by what decides them."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from certify.errors import UserError
from certify.progress import working
from diacritic.files.demos import Demos, load, save
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import HOW, Task
from diacritic.tasks import protocol, registry

DEMONSTRATIONS = 448
_ROUND, _HELD_OUT = 128, 64  # episodes
DEMOS = Path("out") / "demos"


def recorded_task(task: Task) -> protocol.Task:
    """The task that is recorded."""
    return registry.make(task.name, **{key: value for key, value in task.parameters if key not in HOW})


def demonstrations(cell: Cell) -> int:
    """N: the episodes that are learned from."""
    return cell.demonstrations or DEMONSTRATIONS


def episodes(cell: Cell) -> int:
    """How many episodes are recorded: as many as the task asks for, in whole rounds, and some are always held out."""
    asked = dict(cell.task.parameters).get("episodes")
    wanted = _ROUND * -(-(demonstrations(cell) + _HELD_OUT) // _ROUND)
    return int(asked) if asked else max(wanted, recorded_task(cell.task).least_episodes)


def recording_name(cell: Cell, fresh: bool = False) -> str:
    """The name under which the recording of a cell is kept; a fresh one has the next seed."""
    how = {key: value for key, value in cell.task.parameters if key in HOW}
    words = [f"{key}{value}" for key, value in cell.task.parameters if key not in HOW]
    words += [f"v{cell.task.version}"] if cell.task.version > 1 else []
    words += ["pixels"] if how.get("pixels") else []
    return "-".join([cell.task.name, *words, str(episodes(cell)), f"s{_seed(cell, fresh)}"])


def recording(cell: Cell, folder: Path = DEMOS, fresh: bool = False) -> Demos:
    """The recording of a cell, or an independent one; recorded if it is not in the folder yet."""
    name = recording_name(cell, fresh)
    return _recording(cell.task, name, folder, episodes(cell), _seed(cell, fresh))


@lru_cache(maxsize=4)
def _recording(task: Task, name: str, folder: Path, count: int, seed: int) -> Demos:
    wanted = recorded_task(task)
    if (folder / f"{name}.json").exists():
        demos = load(folder / name)
        if (demos.task, dict(demos.parameters), demos.task_version) == (wanted.name, wanted.parameters, wanted.version):
            return demos
        raise UserError(str(folder / name), "is a recording of another task or version; move it away")
    from diacritic.demos.record import record

    simulation = protocol.Simulation(frames=bool(dict(task.parameters).get("pixels", False)))
    with working(f"recording {name}"):
        demos, _ = record(wanted, count, seed, simulation=simulation)
    save(demos, folder / name)
    return demos


def recording_facts(demos: Demos, learned: int) -> dict[str, Any]:
    """What the manifest of a run says of the recording whose first `learned` episodes it learned from."""
    return {
        "kind": "recorded",
        "task": demos.task,
        "parameters": dict(demos.parameters),
        "task_version": demos.task_version,
        "demos_sha256": demos.digest,
        "N": learned,
        "held_out": demos.episodes - learned,
    }


def _seed(cell: Cell, fresh: bool) -> int:
    return int(dict(cell.task.parameters).get("recording", 0)) + fresh
