"""The recorded search behind the preset `carousel`: development cells only, every combination, eight seeds.

`python -m reproduction preset-search --out FOLDER [--device cuda] [--recordings FOLDER] [--only TEXT]` writes
preset-search.jsonl: one line a (cell, combination) with the number of sufficient seeds half way and at the end; lines
of other cells that are already there stay. The winner has the most sufficient seeds over all cells at the end; then
half way; then the smaller learning rate.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import torch

from certify import Model
from certify.zoo import build
from certify.zoo.registry import uniform
from diacritic.files.atomic import write_text
from diacritic.files.demos import load
from diacritic.files.ledger import read_ledger
from diacritic.measure.gates import judge_scores, task_gate
from diacritic.measure.recorded import Classes, score_cohort
from diacritic.measure.scores import Requirement, scores
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.occupancy import teacher_forced
from diacritic.rollout.trained_machines import machines
from diacritic.tasks.registry import make as make_task
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.data import Data
from diacritic.training.demonstrations import held_out_codes, prepare
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model

SEEDS = range(8)
CODE_SCALES, RESIDUAL_SCALES, RATES = (0.05, 0.1, 0.2), (0.1, 0.3), (1e-3, 3e-3)
RESTARTS, PRESSURES = (100,), ((0.0, 0.0), (0.0, 0.5))
DEMONSTRATIONS, BATCH = 448, 512
KEYS = ("code_scale", "residual_scale", "rate", "restarts", "pressure", "clip")


@dataclass(frozen=True)
class Cell:
    """A development cell: what is learned, with the β of its family, and which runs pass its gate."""

    name: str
    data: Data
    beta: float
    judge: Callable[[Cohort], list[bool]]
    batch: int | None = None


def readout(gap1: int = 2, gap2: int = 6) -> Model:
    """A symbolic readout-3 at M = 32: a mode is shown, its quartile decides the grasp, its octile the place."""
    timeline = ["start", "show", *["wait"] * gap1, "grasp", *["carry"] * gap2, "place"]

    def step(mode: int, actions: tuple[str, ...]) -> tuple[str, str]:
        now = timeline[len(actions)]
        shown = f"mode {mode}" if now == "show" else now
        return shown, {"grasp": f"side {mode // 8}", "place": f"slot {mode // 4}"}.get(now, "wait")

    return Model.from_latents(len(timeline), uniform(range(32)), step, "readout-3")


def symbolic_cells() -> Iterator[Cell]:
    """Cells of the zoo, judged exactly by the external gate."""
    models = {
        "gap toy, gap 6": (build("gap", gap2=6), 0.03),
        "memory chain, 2 bits, delay 10": (build("memory-chain", bits=2, delay=10), 1e-3),
        "memory chain, 3 bits, delay 10": (build("memory-chain", bits=3, delay=10), 1e-3),
        "passive T-maze, L=10": (build("passive-t-maze", L=10), 1e-3),
        "readout-3 sketch, M=32": (readout(), 1e-3),
    }
    for name, (model, beta) in models.items():
        yield Cell(name, from_model(model), beta, _exact_judge(model))


def _exact_judge(model: Model) -> Callable[[Cohort], list[bool]]:
    required = Requirement.of(model)

    def judge(cohort: Cohort) -> list[bool]:
        passed = []
        for learned in machines(cohort.parameters, cohort.plan.carrier, model):
            machine = learned.greedy()
            steps = scores(teacher_forced(machine, model), required)
            passed.append(judge_scores("external", steps, closed_loop(machine, model).success).passed)
        return passed

    return judge


def recorded_cells(folder: Path) -> Iterator[Cell]:
    """Recordings of the arm in a folder, judged by their task's gate on held-out episodes."""
    names = {"two-cues, gap 6": "two-cues-gap-6", "readout-3, M=32": "readout-3-modes-32"}
    for name, file in names.items():
        demos = load(folder / file)
        task = make_task(demos.task, **demos.parameters)
        learned, others = demos.split(DEMONSTRATIONS)
        prepared = prepare(learned, others, task)
        classes = Classes.of(demos.symbols, demos.choices).take(slice(DEMONSTRATIONS, None))

        def judge(cohort: Cohort, held: Data = prepared.held_out, task=task, classes=classes) -> list[bool]:
            scores = score_cohort(held_out_codes(cohort, held), classes)
            return task_gate(task).passes(scores.sufficiency, scores.instantaneous).tolist()

        yield Cell(name, prepared.data, 1e-3, judge, BATCH)


def search(cell: Cell, device: str, steps: int) -> list[dict[str, Any]]:
    """All combinations of one cell; those of one preset variant are one cohort."""
    combinations = list(product(CODE_SCALES, RESIDUAL_SCALES, RATES))
    runs = tuple(
        Run(seed, cell.beta, rate, None, code, residual) for code, residual, rate in combinations for seed in SEEDS
    )
    low = torch.bfloat16 if device == "cuda" and cell.batch is not None else None
    lines = []
    for restarts, pressure in product(RESTARTS, PRESSURES):
        variant = replace(preset("carousel"), restarts=restarts, pressure=pressure)
        cohort = Cohort(Plan(learner("plain"), variant, runs, steps, batch=cell.batch, low=low), cell.data, device)
        judged = []
        for share in (0.5, 1.0):
            cohort.advance(round(share * steps) - cohort.step)
            judged.append(cell.judge(cohort))
        for c, (code, residual, rate) in enumerate(combinations):
            mine = slice(c * len(SEEDS), (c + 1) * len(SEEDS))
            chosen = (code, residual, rate, restarts, list(pressure), variant.clip)
            counts = {"sufficient_half_way": sum(judged[0][mine]), "sufficient": sum(judged[1][mine])}
            lines.append(
                {"cell": cell.name, **dict(zip(KEYS, chosen, strict=True)), "steps": steps, **counts, "of": len(SEEDS)}
            )
    return lines


def winner(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The combination that the rule picks, with its counts over all cells."""
    totals: dict[str, tuple[int, int, float]] = {}
    for line in lines:
        name = json.dumps({key: line[key] for key in KEYS})
        end, half, _ = totals.get(name, (0, 0, 0.0))
        totals[name] = (end + line["sufficient"], half + line["sufficient_half_way"], -line["rate"])
    best = max(totals, key=lambda name: totals[name])
    return {**json.loads(best), "sufficient": totals[best][0], "sufficient_half_way": totals[best][1]}


def search_all(out: Path, device: str, steps: int, recordings: Path | None, only: str) -> None:
    """Every cell whose name holds a text; its lines replace the older ones as it ends."""
    path = out / "preset-search.jsonl"
    lines: list[dict[str, Any]] = read_ledger(path) if path.exists() else []
    recorded = recorded_cells(recordings) if recordings else ()
    out.mkdir(parents=True, exist_ok=True)
    for cell in (*symbolic_cells(), *recorded):
        if only not in cell.name:
            continue
        lines = [line for line in lines if line["cell"] != cell.name] + search(cell, device, steps)
        write_text(path, "".join(json.dumps(line) + "\n" for line in lines))
        print(f"{cell.name}: so far {json.dumps(winner(lines))}", flush=True)
