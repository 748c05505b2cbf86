"""Results of training jobs as run folders and ledger rows; what is done already is left alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certify.progress import working
from diacritic.files.archive import extracted
from diacritic.files.demos import Demos
from diacritic.files.ledger import Row, key_of, merge_ledger, read_keys
from diacritic.files.run import BINNER, CodedEpisodes, RunManifest, write_run
from diacritic.files.versions import versions
from diacritic.rollout.closed_loop import EPISODES
from diacritic.studies.cell import Cell
from diacritic.studies.job_manifest import Placed, read_placed
from diacritic.studies.recorded import Measured, binner_of, measure, reported
from diacritic.studies.recordings import DEMOS, recording, recording_facts
from diacritic.training.supervision import FORECASTER_STEPS
from diacritic.training.worker import Result, read_result

RUNS = Path("out") / "runs"
Say = Callable[[str], None]


@dataclass(frozen=True)
class StudySettings:
    """Where and with what jobs run; several machines must see the same folders."""

    results: Path
    """Ledgers."""
    work: Path
    """Training jobs, and what was trained."""
    demos: Path = DEMOS
    runs: Path = RUNS
    device: str = "cpu"
    episodes: int = EPISODES
    """Closed-loop episodes of each policy; 0 plays none."""
    threads: int = 0
    forecaster_steps: int = FORECASTER_STEPS

    @property
    def trained(self) -> Path:
        return self.work / "results"


def import_results(settings: StudySettings, say: Say = print) -> int:
    """Measure and play what has come back to the folder of work and is not in the ledgers yet; the number of cells that
    got rows."""
    written = 0
    with extracted(settings.work) as folder:
        train_jobs, placed = read_placed(folder)
        for number, train_job in enumerate(train_jobs.values(), 1):
            asked = waiting(placed, train_job.name, settings.results)
            result = read_result(train_job, folder) if asked else None
            if result is None:
                continue
            with working(f"{number}/{len(train_jobs)} {train_job.name}"):
                rows = judge_result(result, asked, settings)
            enter(rows, [cell for cell, _ in asked], settings.results, say)
            written += len(asked)
    return written


def enter(rows: Sequence[Row], cells: Iterable[Cell], results: Path, say: Say) -> None:
    """Rows into the ledgers of their studies, and a line about each of their cells."""
    for study in sorted({row["study"] for row in rows}):
        merge_ledger(results / f"{study}.jsonl", [row for row in rows if row["study"] == study])
    for line in summaries(rows, cells):
        say(line)


def waiting(placed: Iterable[Placed], train_job: str, results: Path) -> list[tuple[Cell, list[int]]]:
    """The cells of a training job with those of its runs that have no row yet."""
    asked, cells = [], list(placed)
    studies = {item.cell.study for item in cells}
    ledgers = {study: read_keys(results / f"{study}.jsonl") for study in studies}
    for item in cells:
        done = ledgers[item.cell.study]
        runs = zip(item.cell.run_seeds, item.positions, strict=True)
        missing = [k for seed, (name, k) in runs if name == train_job and key_of(item.cell.identity(seed)) not in done]
        if missing:
            asked.append((item.cell, missing))
    return asked


def judge_result(result: Result, asked: Sequence[tuple[Cell, Sequence[int]]], settings: StudySettings) -> list[Row]:
    """The rows of these runs of these cells; every run of the result becomes a run folder."""
    cell = asked[0][0]
    learned, fresh = recording(cell, settings.demos), recording(cell, settings.demos, fresh=True)
    measured = measure(result, learned, fresh, settings.episodes, settings.threads)
    names = unpack(measured, learned, settings.runs)
    return [_row(measured, cell, k, names[k]) for cell, missing in asked for k in missing]


def unpack(measured: Measured, demos: Demos, runs: Path) -> list[str]:
    """Every run of a result as a folder of its own; their names."""
    result, train_job, notes = measured.result, measured.result.train_job, measured.result.notes
    texts = {BINNER: binner_of(demos).to_json()}
    common: dict[str, Any] = {
        **{key: notes[key] for key in ("architecture", "shape", "code_version")},
        **recording_facts(demos, train_job.demonstrations),
        "plan": train_job.plan_digest,
        "learner": train_job.learner,
        "preset": train_job.preset,
        "steps": train_job.steps,
        "episodes": CodedEpisodes("held-out", ((train_job.demonstrations, demos.episodes),)),
        "versions": versions(torch=notes["torch"], numpy=np.__version__),
    }
    names = []
    for k, run in enumerate(train_job.runs):
        weights = {key: value if key.startswith("scale.") else value[k] for key, value in result.weights.items()}
        row = measured.row(k, "task")
        manifest = RunManifest(
            **common,
            run=asdict(run),
            diverged=bool(notes["diverged"][k]),
            sufficient=row["sufficient"],
            scores=row["scores"],
            rate=row["profile"],
            requirement=row["required_profile"],
        )
        names.append(write_run(runs, manifest, weights, result.codes[-1][k], texts).name)
    return names


def summaries(rows: Sequence[Row], cells: Iterable[Cell]) -> Iterator[str]:
    """One line about each cell that has just been judged."""
    names = ("study", "cell", "learner", "preset", "steps", "gate")
    for cell in cells:
        wanted = cell.identity(0)
        mine = [row for row in rows if all(row[name] == wanted[name] for name in names)]
        if not mine:
            continue
        passed, fresh = (sum(bool(row.get(key)) for row in mine) for key in ("sufficient", "fresh_sufficient"))
        played = [row["success"] for row in mine if row["success"] is not None]
        parts = [f"{passed}/{len(mine)} sufficient"]
        parts += [f"{fresh} on fresh episodes"] if cell.task.recorded else []
        parts += [f"success {np.mean(played):.2f}"] if played else []
        parts += [str(cell.reference)] if cell.reference else []
        yield f"{cell.study}: {cell.name}, {cell.learner}, {cell.preset}: {', '.join(parts)}"


def _row(measured: Measured, cell: Cell, k: int, run: str) -> Row:
    result, notes = measured.result, measured.result.notes
    judged, diverged = measured.row(k, cell.gate), bool(notes["diverged"][k])
    return {
        **cell.identity(result.train_job.runs[k].seed),
        "N": result.train_job.demonstrations,
        "diverged": diverged,
        **judged,
        "sufficient": judged["sufficient"] and not diverged,
        "seconds": round(notes["seconds"] / len(result.train_job.runs), 3),
        "forecaster_seconds": round(notes["supervising"] / len(result.train_job.runs), 3),
        "rollout_seconds": None
        if measured.loop is None
        else round(measured.loop.seconds / len(result.train_job.runs), 3),
        "device": notes["device"],
        "versions": versions(torch=notes["torch"], numpy=np.__version__),
        "code_version": notes["code_version"],
        "demos_sha256": result.train_job.demos_sha256,
        "run": run,
        **_forgetting(notes.get("forgetting"), k),
        **_bound(measured, k),
    }


def _forgetting(notes: dict[str, Any] | None, k: int) -> Row:
    """The notes of run k, where its learner forgets."""
    if notes is None:
        return {}
    return {"forgetting": {key: value[k] if isinstance(value, list) else value for key, value in notes.items()}}


def _bound(measured: Measured, k: int) -> Row:
    """The KL bound of run k on the held-out episodes, mean bits by window, where its memory is Gaussian."""
    profile = measured.result.notes.get("kl_profile")
    if profile is None:
        return {}
    windows = reported(measured.task, measured.held_out.scores.required.tolist())
    return {
        "kl_bits": {name: round(float(np.mean([profile[k][t] for t in steps])), 6) for name, steps in windows.items()}
    }
