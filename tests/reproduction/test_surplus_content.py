"""Bits of saved runs: whose folders count, and that position, path and grids explain what they should."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from expert_carrier import short_task
from measure_twin import store_run

from diacritic.measure.crossval import Explained
from diacritic.measure.plugin import Ints
from diacritic.measure.recorded import Classes
from diacritic.studies.cell import Cell
from diacritic.studies.recordings import recording
from diacritic.studies.tasks import task
from diacritic.tasks.registry import task_of
from reproduction import surplus_content
from reproduction.catalogue import gate_and_estimator, surplus
from reproduction.surplus_content import RunCodes, run_codes, sufficient_runs
from reproduction.verdicts import Profile, value

EPISODES, MANY = 48, 192
CELL = Cell(
    "s",
    task("two-cues", **short_task().parameters, episodes=EPISODES),
    "plain",
    "carousel",
    "task",
    1e-3,
    10,
    demonstrations=32,
)
RUN = {"learner": "plain", "preset": "carousel", "steps": 10, "run": {"seed": 0, "beta": 1e-3}, "sufficient": True}


@pytest.fixture(scope="module")
def demos_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demos")


@pytest.fixture(scope="module")
def half(demos_folder: Path) -> RunCodes:
    """Codes that keep the class and, from the second step on, in which half of x the object lies."""
    demos = recording(replace(CELL, task=task("two-cues", gap=1, first_gap=1, episodes=MANY)), demos_folder)
    classes, one = Classes.of(demos.symbols, demos.choices), task_of(demos)
    x = one.initial_state(demos.observations)[:, 0]
    codes = 2 * classes.memory + (x > np.median(x))
    return RunCodes(demos, one, classes, codes[None])


def test_runs_of_the_cell_that_are_sufficient_count_once_a_seed(tmp_path: Path, demos_folder: Path) -> None:
    demos, runs, shipped = recording(CELL, demos_folder), tmp_path / "runs", tmp_path / "shipped"
    assert sufficient_runs(CELL, demos, runs, shipped) == []
    first = store_run(runs / "b", demos, 32, changes=RUN | {"run": {"seed": 1, "beta": 1e-3}})
    last = store_run(runs / "a", demos, 32, changes=RUN | {"run": {"seed": 3, "beta": 1e-3}})
    store_run(runs / "c", demos, 32, changes=RUN | {"run": {"seed": 3, "beta": 1e-3}})
    other = ({"sufficient": False}, {"diverged": True}, {"learner": "plain+bfs"}, {"preset": "release"}, {"steps": 9})
    for k, change in enumerate((*other, {"run": {"seed": 2, "beta": 0.0}}, {"demos_sha256": "0"}, {"N": 31})):
        store_run(runs / f"other{k}", demos, 32, changes=RUN | {"run": {"seed": 2, "beta": 1e-3}} | change)
    assert sufficient_runs(CELL, demos, runs, shipped) == [first, last]
    own = store_run(shipped / "d", demos, 32, changes=RUN)
    assert sufficient_runs(CELL, demos, runs, shipped) == [first, last]
    assert sufficient_runs(CELL, demos, tmp_path / "none", shipped) == [own]
    seen = run_codes(CELL, runs, demos_folder, shipped)
    assert seen is not None
    assert seen.codes.shape == (2, demos.steps, EPISODES)
    assert run_codes(CELL, tmp_path / "none", demos_folder, tmp_path / "none") is None


def test_the_place_explains_a_code_that_holds_it_and_no_coin(half: RunCodes) -> None:
    step = half.task.windows["gap2"][-1]
    for history in (False, True):
        (shown,) = half.explained(step, history)
        assert shown.surplus == pytest.approx(1, abs=0.05)
        assert shown.least > 0.5
    coin = np.random.default_rng(0).integers(0, 2, MANY)
    blind = replace(half, codes=(2 * half.classes.memory + coin)[None])
    assert blind.explained(step, True)[0].least == 0


def test_a_code_that_holds_the_tool_falls_below_its_null(half: RunCodes) -> None:
    """The bound and the sweep read the observation of the step itself, the null nothing."""
    window = half.task.windows["gap1"]
    copied = np.zeros_like(half.codes)
    for t in window:
        copied[0, t] = half.positions[t, :, 0] > np.median(half.positions[t, :, 0])
    copying = replace(half, codes=copied)
    (grids,) = copying.sweep("gap1", permutations=3)
    assert len(grids) == 6
    assert grids[0].rate == pytest.approx(1, abs=0.01)
    assert max(grid.excess for grid in grids) > 0.2
    assert copying.bound("gap1")[0] < 0.6
    noise = replace(half, codes=np.random.default_rng(1).integers(0, 2, half.codes.shape))
    assert noise.bound("gap1")[0] > 0.9


@dataclass(frozen=True)
class Two:
    """Two runs with given answers."""

    codes: Ints | None = None

    def sweep(self, window: str) -> list[list[SimpleNamespace]]:
        low = 0.0 if window == "gap1" else 1.0
        return [
            [SimpleNamespace(rate=low + run - 0.1 * k, excess=0.01 * k * (-1) ** run * (1 + run)) for k in range(6)]
            for run in (0, 1)
        ]

    def bound(self, window: str) -> list[float]:
        return [1.0, 2.0] if window == "gap1" else [3.0, 5.0]

    def explained(self, step: int, history: bool) -> list[Explained]:
        assert step == 28
        return [Explained(1.0, 0.5), Explained(3.0, 0.5 if history else 0.0)]


def test_figures_are_means_over_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Cell] = []

    def given(cell: Cell) -> Two | None:
        asked.append(cell)
        return None if cell.learner == "event-agnostic-kept" else Two()

    monkeypatch.setattr(surplus_content, "run_codes", given)
    sweep = [
        figure for figure in gate_and_estimator.STUDY.figures if figure.name.startswith("event-agnostic at gap 20")
    ]
    actual = [figure.measured() for figure in sweep if figure.measured is not None]
    grids, *others = actual
    assert isinstance(grids, Profile)
    assert grids.values == pytest.approx([0.4, 0.3, 0.2, 0.1, 0.0])
    expected = [0.025, 0.025, 1.5, 4.0]
    assert [float(str(one)) for one in others] == pytest.approx(expected)
    parts = {figure.name: figure.measured() for figure in surplus.STUDY.figures if figure.measured is not None}
    annealed = [ours for name, ours in parts.items() if name.startswith("annealed")]
    assert annealed == [value(12.5), value(25.0)]
    assert [ours for name, ours in parts.items() if name.startswith("never")] == [None, None]
    assert {cell.learner for cell in asked} == {"event-agnostic", "event-agnostic-kept"}
