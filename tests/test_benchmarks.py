"""What the pages say of speed is what the kept output of the benchmark says."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from runpy import run_path

import pytest
from triton_interpreter import bounds_of_loops  # noqa: F401

from diacritic.files.job import read_job
from diacritic.studies.cell import Cell
from diacritic.studies.job_manifest import export, pack
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from diacritic.training.objectives.inverse import Inverse
from reproduction.catalogue import learning_targets
from reproduction.derive import sufficient
from reproduction.paper import paper_count

ROOT = Path(__file__).parents[1]


def test_the_costs_of_training_are_those_that_were_measured():
    document = json.loads((ROOT / "results" / "benchmarks" / "training-cuda.json").read_text())
    page = (ROOT / "docs" / "training.md").read_text()
    assert f"| one seed, literal loop | {document['literal_loop_s_per_run']:.0f} |" in page
    assert f"| one seed, captured | {document['carousel_1']['s_per_run']:.2f} |" in page
    for seeds in (8, 32, 64):
        assert f"| {seeds} seeds together | {document[f'carousel_{seeds}']['s_per_run']:.2f} |" in page
    assert f"| 32 seeds, full gradient | {document['full_gradient_32']['s_per_run']:.2f} |" in page
    assert f"| full-history Transformer, 8 seeds together | {document['full_history_8']['s_per_run']:.2f} |" in page
    assert f"8 seeds together | {document['forecaster_8_s_per_run']:.2f} |" in page
    assert f"First-time compilation takes {document['first_update_s']:.1f} s" in page
    assert f"all offsets, 8 seeds together | {document['all_offsets_8']['s_per_run']:.2f} |" in page
    for codes in ("16", "1024"):
        each = document[f"identification_{codes}_codes_8"]["s_per_run"]
        assert f"identification, {int(codes):,} codes, 8 seeds together | {each:.2f} |" in page
    agreement = document["to_sufficiency"]["agreement"]
    assert agreement["beyond_1e-5"] == 0
    assert f"No code of {agreement['steps']:,} is farther" in page
    errors = [f"{document[f'gradient_error_{kind}']:.1e}" for kind in ("float32", "bfloat16")]
    assert all(error in page for error in errors)


def test_the_table_of_targets_trains_as_fast_as_the_page_says():
    document = json.loads((ROOT / "results" / "benchmarks" / "studies-cuda.json").read_text())
    page = (ROOT / "docs" / "training.md").read_text()
    runs = sum(one["runs"] for one in document["cohorts"])
    average = sum(one["runs"] * one["s_per_run"] for one in document["cohorts"]) / runs
    assert f"{runs} runs of the table of learning targets take {average:.2f} s each" in page


def test_the_release_trains_as_fast_as_the_page_says():
    page = (ROOT / "docs" / "training.md").read_text()
    timed = json.loads((ROOT / "results" / "benchmarks" / "release-cuda.json").read_text())["time"]
    updates = {name: timed[name]["update, ms"] for name in ("plain", "event-agnostic", "task-informed")}
    assert "takes {:.1f} ms for `plain`, {:.1f} for `event-agnostic` and {:.1f}\n".format(*updates.values()) in page
    seconds = sorted(timed[name]["10,000 updates of one run, s"] for name in updates)
    assert f"{seconds[0]:.1f} to {seconds[-1]:.1f} s for a run of 10,000 updates" in page


def test_the_release_passes_as_often_as_the_page_says():
    page, runs = (ROOT / "docs" / "training.md").read_text(), Results.read(ROOT / "results")
    told: dict[str, list[str]] = {}
    for learner in ("plain", "event-agnostic", "task-informed"):
        for cell in learning_targets.of(learner, "release"):
            count, paper = sufficient(runs.complete(cell)), paper_count(cell)
            assert paper is not None
            told.setdefault(cell.task.title, []).append(f"{count.passed}/{count.of} ({paper[0]}/{paper[1]})")
    assert len(told) == 5
    assert all(f" | {' | '.join(counts)} |\n" in page for counts in told.values())


def test_bf16_changes_the_counts_as_little_as_the_page_says():
    cells = json.loads((ROOT / "results" / "benchmarks" / "precision-cuda.json").read_text())["cells"].values()
    page, told = (ROOT / "docs" / "training.md").read_text(), []
    for cell in cells:
        ways = [cell["bf16"], cell.get("fp32") or cell["tf32"]]
        told.append([f"{way['sufficient']}/{way['runs']}" for way in ways])
        told[-1] += [f"{cell['p']:.2f}", *(f"{way['bits']['gap2']:.2f}" for way in ways)]
        assert cell["p"] > 0.05
    assert all(f" | {' | '.join(line)} |" in page for line in told)
    before, without = (sum(int(line[k].partition("/")[0]) for line in told) for k in (0, 1))
    assert f"{before} of {8 * len(told)} seeds are sufficient in bf16 and {without} without" in page


def test_a_run_on_frames_takes_as_long_as_the_page_says():
    timed = json.loads((ROOT / "results" / "benchmarks" / "pixels-cuda.json").read_text())
    one, four = (timed[f"plain_{runs}"]["s_per_run"] for runs in (1, 4))
    said = f"a run takes {one:.0f} s, and in a cohort of four {four:.0f} s"
    assert said in " ".join((ROOT / "docs" / "training.md").read_text().split())


def test_memories_are_as_fast_as_the_page_of_the_arena_says():
    memories = json.loads((ROOT / "results" / "benchmarks" / "memories-cuda.json").read_text())["memories"]
    page, linear = " ".join((ROOT / "docs" / "arena.md").read_text().split()), {"LRU", "S5", "minGRU", "selective"}
    for names, before in ((memories.keys() - linear, "a loop over steps"), (linear, "a scan by doubling")):
        rows = [memories[name]["long"] for name in names]
        times, ratios = (sorted(row[key] for row in rows) for key in ("kernels, ms", "times faster"))
        least = f"{ratios[0]:.1f} to {ratios[-1]:.1f} times less than {before}"
        assert f"{times[0]:.1f} to {times[-1]:.1f} ms, {least}" in page


def test_the_arena_took_as_long_as_its_page_says():
    rows = [json.loads(line) for line in (ROOT / "results" / "arena.jsonl").read_text().splitlines()]
    seconds, cells = {"cpu": 0.0, "gpu": 0.0}, {"cpu": set[str](), "gpu": set[str]()}
    for row in rows:
        device = "cpu" if row["device"] == "cpu" else "gpu"
        seconds[device] += row["seconds"] or 0.0
        cells[device].add(f"{row['cell']} {row['learner']} {row['preset']}")
    page = " ".join((ROOT / "docs" / "arena.md").read_text().split())
    assert f"{len(cells['gpu'])} cells were trained on an H200, of which their shares add up to" in page
    assert f"add up to {seconds['gpu'] / 60:.0f} minutes, the other {len(cells['cpu'])} on CPU cores" in page
    assert f"in {seconds['cpu'] / 3600:.1f} core hours" in page


def test_distinct_restarts_lose_no_sufficient_seed():
    cells = json.loads((ROOT / "results" / "benchmarks" / "restarts-cuda.json").read_text())["cells"]
    assert {(cell["sufficient_before"], cell["sufficient_after"], cell["seeds"]) for cell in cells} == {(8, 8, 8)}
    said = f"8 of 8 seeds before and after in all {len(cells)} cells"
    assert said in " ".join((ROOT / "CHANGELOG.md").read_text().split())


def test_need_is_as_fast_as_its_page_says():
    timed = json.loads((ROOT / "results" / "benchmarks" / "need.json").read_text())
    page = (ROOT / "docs" / "need.md").read_text()
    assert (
        f"On {timed['cores']} cores, 256 episodes × 50 steps × 30 channels take {timed['states']['seconds']:.0f} s"
        in page
    )
    assert f"{timed['frames_read']:,} frames of 64² and answering takes {timed['frames']['seconds']:.0f} s" in page
    assert max(timed[name]["seconds"] for name in ("states", "states, every step open")) <= 60
    assert timed["frames"]["seconds"] <= 600
    assert timed["frames"]["memory_gb"] < 4


def test_the_running_times_of_commands_are_those_that_were_measured():
    document = json.loads((ROOT / "results" / "benchmarks" / "commands.json").read_text())
    page = (ROOT / "docs" / "install.md").read_text()
    assert len(document["commands"]) >= 9
    assert run_path(str(ROOT / "benchmarks" / "commands.py"))["renewed"](page, document) == page


def test_training_on_frames_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    script = str(ROOT / "benchmarks" / "training.py")
    monkeypatch.setattr("sys.argv", [script, "--cpu", "--pixels", "--quick", "--out", str(tmp_path)])
    monkeypatch.setattr("sys.path", sys.path.copy())
    run_path(script, run_name="__main__")
    document = json.loads((tmp_path / "pixels-cpu.json").read_text())
    for name, runs in (("plain", 1), ("event-agnostic", 1), ("plain", 4)):
        row = document[f"{name}_{runs}"]
        assert row["s_for_10000_updates"] == pytest.approx(10 * row["ms_per_update"])
        assert row["s_per_run"] == pytest.approx(row["s_for_10000_updates"] / runs)
        assert (row["runs"], row["diverged"]) == (runs, 0)
    assert document["forecaster_s_per_run"] > 0
    fronts = {key: row for key, row in document.items() if key.startswith("front: ")}
    assert len(fronts) == 3
    for key, row in fronts.items():
        assert row["ms"] > 0
        assert (0 < row["output_error_apart"] < 0.02) == (key != "front: strided")
        assert 0 < row["gradient_error"] < 1.5 * row["gradient_error_strided"] < 0.2
    said = capsys.readouterr().out
    assert f"plain, 4 together: {document['plain_4']['ms_per_update']:.1f} ms an update" in said
    assert all(f"{key} " in said for key in fronts)
    assert "nan" not in said


def test_reading_distinct_cases_once_is_timed_against_reading_every_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.path", sys.path.copy())
    timed = run_path(str(ROOT / "benchmarks" / "training.py"))
    laws = []

    def clocked(work: Callable[[], object], device: str) -> float:
        with monkeypatch.context() as patch:
            patch.setattr(Inverse, "_loss_on_unique_rows", staticmethod(lambda trace, *_: laws.append(trace.rows.law)))
            work()
        return len(laws)

    monkeypatch.setitem(timed["readings_ratio"].__globals__, "clocked", clocked)
    assert timed["readings_ratio"]("inverse-only", 1, M=4, hall1=1, hall2=1) == 2  # the second update over the first
    assert [law is None for law in laws] == [False, True]


def test_training_without_bf16_is_compared_with_the_runs_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    short = task("two-cues", gap=1, first_gap=1, episodes=32)
    cell = Cell("some", short, "plain", "carousel", "task", 1e-3, 3, demonstrations=16, seeds=2)
    jobs, placed = pack([cell], tmp_path / "demos")
    export(jobs, placed, tmp_path / "job", tmp_path / "demos")
    bits = [{"gap1": 1.0, "gap2": 0.5}, {"gap1": 2.0, "gap2": 1.0}]
    rows = [
        {**cell.identity(seed), "sufficient": True, "diverged": seed == 1, "rate": bits[seed]}
        for seed in cell.run_seeds
    ]
    ledgers = tmp_path / "ledgers"
    ledgers.mkdir()
    (ledgers / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    script, table = str(ROOT / "benchmarks" / "precision.py"), tmp_path / "table.json"
    given = [str(tmp_path / "job"), str(tmp_path / "out"), "--device", "cpu", "--results", str(ledgers)]
    monkeypatch.setattr("sys.path", sys.path.copy())

    def ended(*words: str) -> object:
        monkeypatch.setattr("sys.argv", [script, *words])
        with pytest.raises(SystemExit) as end:
            run_path(script, run_name="__main__")
        return end.value.code

    assert ended(*given, "--table", str(table)) == 0
    assert read_job(tmp_path / "out").train_jobs[0]["low"] is False
    [(title, line)] = json.loads(table.read_text())["cells"].items()
    assert title == f"{cell.name}, plain, carousel"
    assert line["bf16"] == {"sufficient": 2, "runs": 2, "diverged": 1, "bits": {"gap1": 1.5, "gap2": 0.75}}
    assert (line["fp32"]["sufficient"], line["fp32"]["runs"], line["fp32"]["diverged"]) == (0, 2, 0)
    assert line["p"] == pytest.approx(1 / 3)
    assert "2/2 in bf16, 0/2 in fp32, p 0.333" in capsys.readouterr().out
    (ledgers / "some.jsonl").write_text(json.dumps(rows[0]) + "\n")  # one run is missing
    assert ended(*given, "--table", str(tmp_path / "other.json")) == 0
    assert json.loads((tmp_path / "other.json").read_text())["cells"] == {}
    assert ended(*given, "--table", str(table)) == 0  # what it had stays
    assert list(json.loads(table.read_text())["cells"]) == [title]
    jobs, placed = pack([replace(cell, preset="release")], tmp_path / "demos")
    export(jobs, placed, tmp_path / "rounded", tmp_path / "demos")
    assert ended(str(tmp_path / "rounded"), *given[1:]) == 2
    assert "trains without bf16 anyway" in capsys.readouterr().err
    assert ended(str(tmp_path / "nothing"), *given[1:]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("broken", [False, True])
def test_memories_are_compared_and_timed_both_ways(
    broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    script, names = str(ROOT / "benchmarks" / "memories.py"), ["bistable", "FSQ"]
    monkeypatch.setattr("sys.argv", [script, "--quick", "--out", str(tmp_path), "--only", *names])
    monkeypatch.setattr("sys.path", sys.path.copy())
    if broken:
        monkeypatch.delattr("diacritic.memory.kernels.lattice.follow")
    with pytest.raises(SystemExit) as ended:
        run_path(script, run_name="__main__")
    assert ended.value.code == int(broken)
    memories = json.loads((tmp_path / "memories-cpu.json").read_text())["memories"]
    assert list(memories) == names
    for case in ("long", "arm"):
        row = memories["bistable"][case]
        assert row["agrees"]
        assert row["times faster"] == pytest.approx(row["loop, ms"] / row["kernels, ms"])
        assert ("failed" in memories["FSQ"][case]) == broken
    assert ("long, FSQ: FAILED: " in capsys.readouterr().out) == broken
