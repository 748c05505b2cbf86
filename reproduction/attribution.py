"""Attribution on trained policies of `two-cues`: three ways in which a code is not the only memory, and who notices.

`python -m reproduction attribution --out FOLDER` records, trains and measures four small cells on a CPU and writes
attribution.jsonl: codes that the demonstrations ask for, fitted (the code is all of the memory); the same policies
leaning by 2 cm to one side while they wait; `bypass` (a continuous state beside the code: the readout under-counts);
and fitted codes on a recording whose observation leaks the slot by 8 mm.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from certify.progress import working
from diacritic.demos.binner import Binner
from diacritic.demos.leaks import Cell, leak_table
from diacritic.demos.record import record
from diacritic.files.atomic import write_text
from diacritic.files.demos import Demos
from diacritic.files.ledger import Row, merge_ledger, read_ledger
from diacritic.files.run import CodedEpisodes, RunManifest
from diacritic.files.versions import versions
from diacritic.measure.gates import task_gate
from diacritic.measure.recorded_run import Effort, examine_recorded
from diacritic.measure.verdict import Control, Verdict
from diacritic.memory.kinds import is_sole_carrier
from diacritic.memory.module import one_run
from diacritic.memory.shape import Architecture
from diacritic.report.dot_chart import SUCCESS, Lines, Panel, dot_chart
from diacritic.report.markdown import figure, write_pictures
from diacritic.rollout.policies import Floats, Ints, Policies, stack_scales
from diacritic.rollout.run_loading import Group, StoredRun
from diacritic.tasks.franka.layout import SLICES
from diacritic.tasks.protocol import Simulation, Task
from diacritic.tasks.registry import make as make_task
from diacritic.training.checkpoint import fingerprint
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.compress_recorded import forgotten
from diacritic.training.demonstrations import prepare
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from reproduction.beyond_paper.delays_page import between

STUDY, PRESET, BETA = "attribution", "carousel", 1e-3
PICTURE = "images/attribution.svg"
FITTED = "plain+robust-revision"  # from carriers without any update
RATE = 3e-3  # large, for few updates
EPISODES, LEARNED = 256, 192
WIDTH = 64  # half of the usual width: this runs on a CPU
LEAN = 0.02  # metres
LEAK = 8.0  # millimetres


@dataclass(frozen=True)
class Recording:
    """Demonstrations with their frozen convention, and what a probe of the raw observations tells of them."""

    task: Task
    demos: Demos
    binner: Binner
    leaks: tuple[Cell, ...]

    @staticmethod
    def of(task: Task, threads: int) -> "Recording":
        demos, binner = record(task, EPISODES, simulation=Simulation(threads))
        with working("probing raw observations"):
            return Recording(task, demos, binner, tuple(leak_table(demos, binner, EPISODES // 4)))

    @property
    def probe(self) -> dict[str, Any]:
        """As `diacritic probe` keeps it."""
        return {"probes": {"raw observations": {"cells": [cell.to_dict() for cell in self.leaks]}}}

    @property
    def title(self) -> str:
        return f"{self.task.name} gap={self.task.parameters['gap']} leak={self.task.parameters['leak']:g}"


class Leaning(Policies):
    """Policies that also write the slot into their pose: they lean while the object is in the hand."""

    task: Task
    _t = -1

    def begin(self, episodes: int) -> None:
        super().begin(episodes)
        self._t, self._slot = -1, np.zeros((self.runs, episodes))

    def step(self, seen: Floats, previous: Floats | None, symbols: Ints | None = None, frames: Any = None) -> Any:
        codes, actions = super().step(seen, previous, symbols, frames)
        self._t += 1
        if self._t == self.task.reveals[-1]:
            self._slot = 2 * seen[..., SLICES["probe"]][..., 1] - 1  # the last bit on the display is the slot
        first = self.task.windows["gap2"].start
        lean = {first - 1: 0.5, self.task.decisions["slot"] - 1: -0.5}.get(self._t, 0.0)  # and straightens up again
        actions = actions.copy()
        actions[..., 1] += lean * LEAN * self._slot
        return codes, actions


@dataclass(frozen=True)
class LeaningGroup(Group):
    """The same runs, leaning."""

    def policies(self) -> Policies:
        stacked = {name: torch.stack([run.weights[name] for run in self.runs]) for name in self.runs[0].weights}
        player = Leaning(stacked, self.runs[0].architecture, stack_scales([run.scale for run in self.runs]))
        player.task = self.task
        return player


def train(recording: Recording, name: str, seeds: int, updates: int) -> Group:
    """A cohort on the first episodes, its runs as if they had been stored."""
    task, (learned, held_out) = recording.task, recording.demos.split(LEARNED)
    prepared = prepare(learned, held_out, task)
    runs = tuple(Run(seed, BETA, RATE) for seed in range(seeds))
    plan = Plan(learner(name), preset(PRESET), runs, updates, Architecture(width=WIDTH))
    cohort, begun = Cohort(plan, prepared.data), time.perf_counter()
    with working(f"training {seeds} runs, {name}"):
        if plan.learner.forget:
            cohort = forgotten(cohort).cohort
        else:
            cohort.advance(updates)
    manifests = RunManifest(
        "recorded",
        task.name,
        name,
        PRESET,
        cohort.step,
        fingerprint(plan, cohort.given),
        {},
        asdict(plan.carrier),
        asdict(cohort.given.shape),
        CodedEpisodes("training", ((0, LEARNED),)),
        N=LEARNED,
        demos_sha256=recording.demos.digest,
        seconds=round((time.perf_counter() - begun) / seeds, 3),
    )
    stored = []
    for k, one in enumerate(runs):
        manifest = replace(manifests, run=asdict(one), diverged=bool(cohort.optimiser.diverged[k]))
        weights = one_run(cohort.parameters, k)
        stored.append(StoredRun(Path(f"{name}-{one.seed}"), manifest, task, plan.carrier, weights, prepared.scale))
    return Group(tuple(stored), recording.binner)


def row(cell: str, run: StoredRun, recording: Recording, verdict: Verdict) -> Row:
    """One run as the ledger keeps it, with the three answers and what every control of attribution said."""
    manifest, controls = run.manifest, {control.name: control for control in verdict.controls}
    windows = {name: list(steps) for name, steps in verdict.profile.windows.items()}
    rate, required = (np.array(values, float) for values in (verdict.profile.rate, verdict.profile.required))
    least = controls["gate"].data
    return {
        "study": STUDY,
        "cell": cell,
        "task": recording.title,
        "learner": manifest.learner,
        "preset": PRESET,
        "seed": verdict.subject.seed,
        "steps": manifest.steps,
        "K": run.architecture.codes,
        "beta": BETA,
        "N": manifest.N,
        "gate": task_gate(run.task).name if is_sole_carrier(run.architecture) else "behavioural",
        "sufficient": verdict.sufficient.answer == "yes",
        "diverged": manifest.diverged,
        "scores": {name: {"S_Gamma": least[name], "S_G": None} for name in windows},
        "decision_scores": {name: score for name, score in least.items() if name not in windows},
        "rate": {name: rate[steps].mean() for name, steps in windows.items()},
        "requirement": {name: required[steps].mean() for name, steps in windows.items()},
        "success": controls["closed loop"].data,
        "decision_error": controls["decision errors"].data,
        "surplus": {name: (rate - required)[steps].mean() for name, steps in windows.items()},
        "surplus_answer": verdict.surplus.answer,
        "surplus_because": verdict.surplus.because,
        "code_alone": verdict.sole.answer,
        "code_alone_because": verdict.sole.because,
        "controls": {control.name: control.passed for control in verdict.controls if control.part == "attribution"},
        "apart_cm": _apart(controls),
        "leaks": _told(recording.leaks),
        "seconds": manifest.seconds,
        "device": "cpu",
        "versions": versions(torch=torch.__version__, numpy=np.__version__),
        "code_version": manifest.code_version,
        "demos_sha256": recording.demos.digest,
    }


def _apart(controls: Mapping[str, Control]) -> dict[str, float]:
    """How far the poses of the classes are apart at most, in centimetres."""
    name = "body memory, "
    by_window = {
        key.removeprefix(name): control.data["steps"] for key, control in controls.items() if key.startswith(name)
    }
    return {key: max(step["centimetres"] for step in steps) for key, steps in by_window.items()}


def _told(cells: Sequence[Cell]) -> dict[str, float]:
    """Held-out accuracy of what must be hidden and is not."""
    bad = [cell for cell in cells if cell.status == "hidden" and not cell.passed]
    return {f"{cell.variable} in {cell.phase}, {cell.probe}": cell.accuracy for cell in bad}


def run(out: Path, seeds: int, updates: int, effort: Effort) -> list[Row]:
    """All four cells; rows replace those of the same run in the ledger, which is returned."""
    clean, leaky = (Recording.of(make_task("two-cues", gap=6, leak=leak), effort.threads) for leak in (0.0, LEAK))
    fitted = train(clean, FITTED, seeds, updates)
    cells: Mapping[str, tuple[Group, Recording]] = {
        "code alone": (fitted, clean),
        f"lean of {100 * LEAN:g} cm": (LeaningGroup(fitted.runs, fitted.binner), clean),
        "bypass": (train(clean, "bypass", seeds, updates), clean),
        f"leak of {LEAK:g} mm": (train(leaky, FITTED, seeds, updates), leaky),
    }
    rows = []
    for cell, (group, recording) in cells.items():
        with working(f"measuring {cell}"):
            verdicts = examine_recorded(group, recording.demos, effort, recording.probe)
        rows += [row(cell, one, recording, verdict) for one, verdict in zip(group.runs, verdicts, strict=True)]
    ledger = out / f"{STUDY}.jsonl"
    merge_ledger(ledger, rows)
    return read_ledger(ledger)


def section(rows: Sequence[Row]) -> str:
    """The picture of the runs, with the table behind it."""
    caption = "Bits of readout against bits required (gap 1, gap 2), the share of wrong classes, and success."
    return figure("Twelve runs of four cells", PICTURE, caption, "\n".join(table(rows)), f"{len(rows)} runs")


def picture(rows: Sequence[Row]) -> str:
    """A line a run, as SVG."""
    gaps = {"gap1": "code in gap 1 (bit)", "gap2": "code in gap 2 (bit)"}
    lines: Lines = {
        f"{one['cell']}, seed {one['seed']}": {
            **{
                title: {"carried": one["rate"][gap], "required": one["requirement"][gap]} for gap, title in gaps.items()
            },
            "wrong classes": one["decision_error"],
            SUCCESS.title: {"success": one["success"]},
        }
        for one in rows
    }
    return dot_chart(STUDY, lines, [*map(Panel, gaps.values()), Panel("wrong classes", high=1.0), SUCCESS])


def table(rows: Sequence[Row]) -> list[str]:
    """The ledger as a Markdown table, a line for each run."""
    heads = ("cell", "seed", "sufficient", "code, gap 1", "code, gap 2", "wrong classes", "success", "code alone?")
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|---|---|---|"]
    for one in rows:
        bits = [f"{one['rate'][gap]:.2f} of {one['requirement'][gap]:.2f}" for gap in ("gap1", "gap2")]
        wrong = " ".join(f"{name} {error:.3f}" for name, error in one["decision_error"].items())
        passed, alone = "yes" if one["sufficient"] else "no", one["code_alone"]
        said = f"{alone}: {one['code_alone_because']}" if alone == "no" else alone
        cells = (one["cell"], str(one["seed"]), passed, *bits, wrong, f"{one['success']:.2f}", said)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def write_page(page: Path, rows: Sequence[Row]) -> None:
    """Renew the part of a page between its marks, and the picture."""
    write_text(page, between(page.read_text(encoding="utf-8"), STUDY, section(rows)))
    write_pictures(page.parent, {PICTURE: picture(rows)})
