"""Running the arena: what is noted while cells train, judged rows, going on after a stop, the search of settings."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from certify.errors import UserError
from certify.zoo import build
from diacritic.files.ledger import Row, read_ledger
from diacritic.studies import arena, arena_judge, arena_run
from diacritic.studies.arena import Setting, cell_of
from diacritic.studies.arena_judge import HeldOut, cohort_of, judge
from diacritic.studies.arena_run import ArenaSettings, ScoredCohort, run_cells, search
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.symbolic import plan_of
from diacritic.studies.tasks import task
from diacritic.training import compress_recorded
from diacritic.training.cohort import Cohort
from diacritic.training.fit_transition import Effort
from diacritic.training.symbolic import from_model

MAZE = task("passive-t-maze", L=3)
WHOLE = {"carousel": Setting(3e-3, 16)}


def _quiet(line: str) -> None:
    pass


def test_a_watched_cohort_knows_when_every_action_was_right_for_the_first_time() -> None:
    cell = cell_of("frames 4", MAZE, Setting(rate=3e-3), 60, 3)
    cohort = ScoredCohort(plan_of(cell), from_model(build("passive-t-maze", L=3)))
    first: list[int | None] = [None] * 3
    for step in range(60):
        with torch.no_grad():
            trace = cohort.trace()
            chosen = trace.steps(trace.read("act")).argmax(-1, keepdim=True)
        right = (cohort.data.target.expand(3, -1, -1, -1).gather(-1, chosen) > 0).flatten(1).all(1).tolist()
        first = [step if before is None and now else before for before, now in zip(first, right, strict=True)]
        cohort.advance(1)
    assert cohort.first == tuple(first)
    assert None not in first
    assert not cohort.settled


def test_rows_say_what_a_memory_costs_and_how_far_it_reaches(tmp_path: Path) -> None:
    chosen = arena.cells(["frames 16", "carousel+forgetting", "certified"], 120, 2, tasks=[task("passive-t-maze", L=4)])
    settings = ArenaSettings(tmp_path, together=2)
    run_cells(chosen, settings, _quiet)
    before = (tmp_path / "arena.jsonl").read_bytes()
    run_cells(chosen, settings, _quiet)
    assert (tmp_path / "arena.jsonl").read_bytes() == before
    rows = {(row["learner"], row["seed"]): row for row in read_ledger(tmp_path / "arena.jsonl")}
    stack, proved = rows["frames-16", 0], rows["certified", 0]
    assert stack["sufficient"]
    assert stack["lengths"]["5"] == 1 > stack["lengths"]["1000000"]
    assert stack["longest"] == 5
    assert stack["first_sufficient_step"] < stack["updates"] == 120
    assert (proved["sufficient"], proved["longest"], proved["rate"]["junction"]) == (True, 10**6, 1.0)
    assert stack["parameters"] > proved["parameters"] > 1000
    assert stack["latency_us"] > 0
    assert not [key for key in proved if key.endswith("profile") or key == "machine"]


def test_a_cell_that_cannot_be_judged_is_said_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(cell: Cell, *given: Any) -> list[Row]:
        if cell.learner == "gru-128":
            raise UserError("--codes", "are too few")
        return judge(cell, *given)

    monkeypatch.setattr(arena_run, "judge", broken)
    lines: list[str] = []
    run_cells(arena.cells(["GRU", "frames 1"], 2, 1, tasks=[MAZE]), ArenaSettings(tmp_path), lines.append)
    assert lines[0].startswith("passive-t-maze L=3, gru-128: UserError: --codes: are too few")
    assert [row["learner"] for row in read_ledger(tmp_path / "arena.jsonl")] == ["frames-1"]


@pytest.mark.parametrize(("entrant", "early"), [("frames 16", True), ("frames 1", False)])
def test_a_cell_stops_once_it_has_settled(
    entrant: str, early: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arena_run, "SETTLED", 40)
    run_cells(arena.cells([entrant], 200, 1, tasks=[MAZE]), ArenaSettings(tmp_path), _quiet)
    [row] = read_ledger(tmp_path / "arena.jsonl")
    assert row["sufficient"] == early
    assert (row["updates"] < 200) == early
    assert not early or row["updates"] - row["first_sufficient_step"] >= 40


def test_a_cell_that_cannot_be_trained_is_said_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance = ScoredCohort.advance

    def broken(cohort: ScoredCohort, steps: int) -> None:
        if cohort.plan.learner.name == "gru-128":
            raise RuntimeError("out of memory\nat some place")
        advance(cohort, steps)

    monkeypatch.setattr(ScoredCohort, "advance", broken)
    lines: list[str] = []
    run_cells(arena.cells(["GRU", "frames 1"], 2, 1, tasks=[MAZE]), ArenaSettings(tmp_path, together=2), lines.append)
    assert lines[0] == "passive-t-maze L=3, gru-128: RuntimeError: out of memory"
    assert [row["learner"] for row in read_ledger(tmp_path / "arena.jsonl")] == ["frames-1"]


def test_the_certified_entrant_has_the_codes_that_its_machine_needs(tmp_path: Path) -> None:
    many = cell_of("certified", task("forever:n-back", horizon=8, lag=2), Setting(), 10, 1)
    assert many.codes > cell_of("certified", MAZE, Setting(), 10, 1).codes == Cell.codes
    run_cells([many], ArenaSettings(tmp_path), _quiet)
    assert read_ledger(tmp_path / "arena.jsonl")[0]["sufficient"]


def test_on_recordings_the_certified_entrant_has_the_codes_that_they_ask_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compress_recorded, "EFFORT", Effort(steps=300, rate=3e-3, batch=512))
    chosen = arena.cells(["certified", "frames 1"], 1, 2, tasks=[task("two-cues", gap=1, first_gap=1, episodes=512)])
    run_cells(chosen, ArenaSettings(tmp_path, demos=tmp_path / "demos"), _quiet)
    rows = {(row["learner"], row["seed"]): row for row in read_ledger(tmp_path / "arena.jsonl")}
    assert all(rows["certified", seed]["sufficient"] for seed in (0, 1))
    assert max(rows["certified", 0]["surplus"].values()) < 0.05
    assert not rows["frames-1", 0]["sufficient"]
    assert rows["certified", 0]["success"] > rows["frames-1", 0]["success"] == 0


def test_on_recordings_the_first_look_that_finds_a_run_sufficient_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compress_recorded, "EFFORT", Effort(steps=300, rate=3e-3, batch=512))
    monkeypatch.setattr(arena_run, "LOOK_EVERY", 20)
    small = task("two-cues", gap=1, first_gap=1, episodes=512)
    certified, stack = arena.cells(["certified", "frames 1"], 60, 2, tasks=[small])
    begun = cohort_of(certified, tmp_path)
    poor, good = (
        {name: value.detach().numpy() for name, value in cohort.parameters.items()}
        for cohort in (begun, compress_recorded.forgotten(begun).cohort)
    )
    held = HeldOut.of(certified, tmp_path)
    assert held.first(begun, {20: poor, 40: good, 60: good, 80: poor}) == [40, 40]
    assert held.first(begun, {20: poor}) == [None, None]
    seen: list[list[int]] = []

    def first(_: HeldOut, cohort: Cohort, looks: Any) -> list[int | None]:
        name, last = next(iter(cohort.parameters.items()))
        seen.append([step for step, then in looks.items() if (then[name] != last.detach().numpy()).any()])
        return [40, None]

    monkeypatch.setattr(HeldOut, "first", first)
    run_cells([stack], ArenaSettings(tmp_path, demos=tmp_path), _quiet)
    rows = read_ledger(tmp_path / "arena.jsonl")
    assert seen == [[20, 40]]
    assert [row["first_sufficient_step"] for row in rows] == [40, None]
    assert rows[0]["first_sufficient_seconds"] == pytest.approx(rows[0]["seconds"] * 40 / 60, abs=1e-3)


def test_without_the_simulator_decisions_stand_in_for_closed_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("No module named 'mujoco'")

    small = task("two-cues", gap=1, first_gap=1, episodes=512)
    [cell] = arena.cells(["frames 1"], 1, 1, tasks=[small])
    for play in (arena_judge.play, absent):
        monkeypatch.setattr(arena_judge, "play", play)
        (tmp_path / "arena.jsonl").unlink(missing_ok=True)
        run_cells([cell], ArenaSettings(tmp_path, demos=tmp_path), _quiet)
        [row], score = read_ledger(tmp_path / "arena.jsonl"), arena.score(Results.read(tmp_path), cell)
        assert score is not None
        assert score.closed_loop == row["success"] == (None if play is absent else 0.0)
        assert score.success == (row["decisions_right"] if play is absent else 0.0)


def test_nothing_is_trained_after_the_limit(tmp_path: Path) -> None:
    run_cells(arena.cells(["GRU"], 50, 1, tasks=[MAZE]), ArenaSettings(tmp_path, seconds=0), _quiet)
    assert not (tmp_path / "arena.jsonl").exists()


def test_probes_read_the_required_class_of_many_histories(tmp_path: Path) -> None:
    run_cells(
        arena.cells(["frames 16"], 1, 1, tasks=[task("signpost-corridor", M=4, W=1)]), ArenaSettings(tmp_path), _quiet
    )
    [row] = read_ledger(tmp_path / "arena.jsonl")
    required, expired = row["decoded"]["required"], row["decoded"]["expired"]
    assert required["hidden_bits"] == pytest.approx(2)
    assert required["step"] < expired["step"]
    assert expired["accuracy"] > expired["shuffled"]


def test_a_search_tries_the_same_for_everybody_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_run, "SEARCH_STEPS", 3)
    monkeypatch.setattr(arena_run, "SEARCH_SEEDS", range(100, 102))
    monkeypatch.setattr(arena_run, "DEVELOPMENT", (MAZE,))
    names, settings = ["GRU", "certified", "registers", "carousel+forgetting"], ArenaSettings(tmp_path)
    search(names, settings, _quiet)
    path = tmp_path / "arena-search.jsonl"
    rows = read_ledger(path)
    assert {name: sum(row["entrant"] == name for row in rows) for name in names} == {
        "GRU": 9,
        "certified": 0,
        "registers": 9,
        "carousel+forgetting": 0,
    }
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:-3]))
    search(names, settings, _quiet)
    assert [row["success"] for row in read_ledger(path)] == [row["success"] for row in rows]


def test_processes_that_share_results_train_nothing_twice_and_lose_nothing(tmp_path: Path) -> None:
    chosen = arena.cells(["frames 1", "frames 4", "certified"], 2, 1, tasks=[MAZE])
    settings = ArenaSettings(tmp_path, claims=tmp_path / "claims")
    with ThreadPoolExecutor(3) as threads:
        said = list(threads.map(lambda _: _run_quietly(chosen, settings), range(3)))
    assert len(read_ledger(tmp_path / "arena.jsonl")) == len([line for lines in said for line in lines]) == 3
    assert not settings.claim(chosen[0].name, chosen[0].learner, chosen[0].digest)


def _run_quietly(chosen: list[Cell], settings: ArenaSettings) -> list[str]:
    lines: list[str] = []
    run_cells(chosen, settings, lines.append)
    return lines


def test_cheap_cells_come_first() -> None:
    every = [task("memory-chain", bits=3, delay=10), MAZE, task("two-cues", gap=6)]
    ordered = arena_run.cheap_first(arena.cells(["Transformer", "frames 1"], tasks=every))
    assert [(cell.task, cell.learner) for cell in ordered[:4]] == [
        (MAZE, "frames-1"),
        (every[0], "frames-1"),  # it sees few windows of many histories
        (MAZE, "transformer"),
        (every[0], "transformer"),
    ]
    assert all(cell.task.recorded for cell in ordered[-2:])
    small = {"LRU": Setting(None, 16)}  # fewer parameters, but it follows every history
    by_table = arena_run.cheap_first(arena.cells(["LRU", "carousel"], settings=small, tasks=[task("gap-toy")]))
    assert [cell.learner for cell in by_table] == ["plain", "lru:state_size=16"]


def _grid(**better: tuple[int, float, float]) -> list[dict[str, object]]:
    """A whole search of the carousel; of some `rate_size` other counts, success and loss."""
    rows = []
    for rate, size, name in product(arena.RATES, (16, 32, 64), "ab"):
        sufficient, success, loss = better.get(f"{rate:g}_{size}".replace("-", "").replace(".", ""), (1, 0.5, 0.3))
        trial = {"entrant": "carousel", "task": name, "rate": rate, "size": size}
        rows.append({**trial, "sufficient": sufficient, "success": success, "loss": loss})
    return rows


@pytest.mark.parametrize(
    ("better", "chosen"),
    [
        ({"0003_16": (1, 0.5, 0.2)}, Setting(3e-3, 16)),
        ({"0003_16": (1, 0.5, 0.2), "0001_64": (1, 0.6, 9.0)}, Setting(1e-3, 64)),
        ({"0001_32": (2, 0.1, 9.0), "0001_64": (1, 0.6, 9.0)}, Setting(1e-3, 32)),
    ],
)
def test_the_frozen_setting_has_most_sufficient_seeds_then_success_then_loss(
    better: dict[str, tuple[int, float, float]], chosen: Setting
) -> None:
    rows = _grid(**better)
    assert arena.frozen(Results({"arena-search": rows})) == {"carousel": chosen}
    once = [{**rows[0], "rate": 1.0, "sufficient": 9}]  # on one task alone
    assert arena.frozen(Results({"arena-search": rows + once})) == {"carousel": chosen}
    assert arena.searched(Results({"arena-search": rows})) == (18, 18 * 18)


def test_runs_with_other_settings_than_the_frozen_ones_are_not_counted() -> None:
    old, new = (arena.cells(["carousel"], settings=chosen, tasks=[arena.SHORT])[0] for chosen in (None, WHOLE))
    rows = [cell.identity(seed) for cell in (old, new) for seed in range(8)]
    assert arena.superseded(Results({"arena": rows, "arena-search": _grid(**{"0003_16": (4, 1.0, 0.1)})})) == 8
    assert arena.superseded(Results({"arena": rows[:8]})) == 0


def test_a_setting_is_part_of_a_cell_and_taken_over() -> None:
    [cell] = arena.cells(["carousel+forgetting"], settings={"carousel": Setting(3e-3, 16)}, tasks=[MAZE])
    assert (cell.learner, cell.rate) == ("plain+forgetting:code_size=16", 3e-3)
