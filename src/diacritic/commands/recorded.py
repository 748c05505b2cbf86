"""`diacritic train` on recorded demonstrations: learn from the first episodes, judge on the others."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from certify.errors import UserError
from diacritic.demos.binner import Binner
from diacritic.files.demos import Demos, load
from diacritic.files.run import BINNER
from diacritic.measure.gates import score_arrays, task_gate
from diacritic.measure.plugin import joint
from diacritic.measure.recorded import Classes, CodeScore, score_codes
from diacritic.memory.kinds import memory_of
from diacritic.memory.shape import Architecture
from diacritic.tasks.registry import task_of
from diacritic.training.checkpoint import fingerprint
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.compress_recorded import forgotten
from diacritic.training.demonstrations import fitted, held_out_codes, prepare, supervise
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.runs import save_runs
from diacritic.training.train import train

if TYPE_CHECKING:
    from diacritic.commands.train import Train
    from diacritic.tasks.protocol import Task

DEMONSTRATIONS, BATCH = 448, 512


def train_recorded(options: "Train") -> int:
    """Train, judge on the held-out episodes, save the runs with scale and binner, print the table."""
    if options.parameters:
        raise UserError(options.parameters[0], "a recording brings its own parameters; record another one instead")
    demos = load(options.task)
    task = task_of(demos)
    learned, held_out = demos.split(options.demonstrations or DEMONSTRATIONS)
    whole = Classes.of(demos.symbols, demos.choices)
    options.warn_below(fewest_codes(whole))
    classes = whole.take(slice(learned.episodes, None))  # classes as the whole recording certifies them
    prepared = prepare(learned, held_out, task)
    chosen, device = fitted(learner(options.learner), len(task.decisions)), options.chosen_device()
    runs = tuple(Run(seed, options.beta) for seed in range(options.seeds))
    plan = Plan(chosen, preset(options.preset), runs, options.steps, Architecture(codes=options.codes), BATCH)
    data = supervise(prepared.data, chosen, range(options.seeds), device, folder=options.out)
    folder = options.out / f"cohort-{fingerprint(plan, data)[:12]}"
    begun = time.perf_counter()
    judged = memory_of(plan.carrier).measured in ("code", "readout")

    def scored(cohort: Cohort) -> list[tuple[CodeScore, ...]]:
        return [score_codes(codes, classes) for codes in held_out_codes(cohort, prepared.held_out)]

    def judge(cohort: Cohort) -> list[bool]:
        return [_passes(scores, task) for scores in scored(cohort)]

    cohort = train(plan, data, device, folder, judge if judged else None, tensorboard=options.tensorboard)
    if plan.learner.forget:
        cohort = forgotten(cohort).cohort
    known = {
        "kind": "recorded",
        "task": demos.task,
        "parameters": dict(demos.parameters),
        "task_version": demos.task_version,
        "demos_sha256": demos.digest,
        "N": learned.episodes,
        "held_out": held_out.episodes,
    }
    found = scored(cohort) if judged else [()] * options.seeds
    facts = [known | _facts(scores, task) for scores in found]
    paths = save_runs(cohort, options.out, facts, prepared.scale, {BINNER: _binner_text(demos, folder)})
    _show(f"{demos.task}: {options.learner}, {options.preset}", task, facts, paths)
    passed = sum(bool(fact.get("sufficient")) for fact in facts)
    print(f"{passed}/{len(facts)} sufficient on {held_out.episodes} held-out episodes; ", end="")
    print(f"{time.perf_counter() - begun:.1f} s on {device}")
    return 0


def _passes(scores: Sequence[CodeScore], task: "Task") -> bool:
    return bool(task_gate(task).passes(*score_arrays(scores)))


def _facts(scores: Sequence[CodeScore], task: "Task") -> dict[str, Any]:
    """What the manifest of a run says of its codes on the held-out episodes."""
    if not scores:
        return {}
    held = {name: [scores[t].sufficiency for t in steps] for name, steps in task.windows.items()}
    least = {
        name: {"S_Gamma": min((v for v in held[name] if v is not None), default=None), "S_G": None} for name in held
    }
    least |= {
        f"{name} decision": {"S_Gamma": None, "S_G": scores[t].instantaneous} for name, t in task.decisions.items()
    }
    return {
        "sufficient": _passes(scores, task),
        "scores": least,
        "rate": [score.rate for score in scores],
        "requirement": [score.required for score in scores],
    }


def fewest_codes(classes: Classes) -> int:
    """A code must tell apart the classes Γ_t that share a symbol Ō_t."""
    most = 1
    for memory, seen in zip(classes.memory, classes.symbols, strict=True):
        _, first = np.unique(joint(memory, seen), return_index=True)
        most = max(most, int(np.unique(seen[first], return_counts=True)[1].max()))
    return most


def _binner_text(demos: Demos, folder: Path) -> str:
    """The frozen observation convention of the recording, so that a run can be played without its demonstrations."""
    folder.mkdir(parents=True, exist_ok=True)
    Binner.fit(demos.convention, demos.observations, demos.latents).save(folder / BINNER)
    return (folder / BINNER).read_text(encoding="utf-8")


def _least(scores: dict[str, float | None]) -> str:
    """The score that a window or decision has, of the two."""
    return next((f"{value:.2f}" for value in scores.values() if value is not None), "—")


def _show(title: str, task: "Task", facts: list[dict[str, Any]], paths: list[Path]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 400)
    table = Table(title=title, title_justify="left", box=None)
    names = [*task.windows, *(f"{name} decision" for name in task.decisions)]
    for head in ("seed", "sufficient", *names, "peak rate", "required", "run"):
        table.add_column(head, justify="right" if head != "run" else "left")
    for seed, (fact, path) in enumerate(zip(facts, paths, strict=True)):
        if "scores" not in fact:
            table.add_row(str(seed), *["—"] * (len(names) + 3), str(path))
            continue
        scores = [_least(fact["scores"][name]) for name in names]
        bits = [f"{max(fact[name]):.2f}" for name in ("rate", "requirement")]
        table.add_row(str(seed), "yes" if fact["sufficient"] else "no", *scores, *bits, str(path))
    console.print(table)
