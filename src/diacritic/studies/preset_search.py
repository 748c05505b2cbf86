"""The recorded search behind the preset `carousel`: development cells only, every combination, eight seeds.

`python -m diacritic.studies.preset_search --out FOLDER [--device cuda] [--steps 3000]` writes preset-search.jsonl: one
line a (cell, combination) with the number of sufficient seeds half way and at the end. The winner has the most
sufficient seeds over all cells at the end; then half way; then the smaller learning rate.
"""

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify import Model
from certify.zoo import build
from certify.zoo.registry import uniform
from diacritic.measure.scores import Requirement, scores
from diacritic.rollout.exact import closed_loop, verdict
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import watch
from diacritic.studies.symbolic import train_together
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.evaluate import machines
from diacritic.training.learner import learner
from diacritic.training.preset import Preset, preset
from diacritic.training.symbolic import from_model

SEEDS = range(8)
CODE_SCALES, RESIDUAL_SCALES, RATES = (0.05, 0.1, 0.2), (0.1, 0.3), (1e-3, 3e-3)
RESTARTS, PRESSURES = (100,), ((0.0, 0.0), (0.0, 0.5))


def readout(gap1: int = 2, gap2: int = 6) -> Model:
    """A symbolic readout-3 at M = 32: a mode is shown, its quartile decides the grasp, its octile the place."""
    timeline = ["start", "show", *["wait"] * gap1, "grasp", *["carry"] * gap2, "place"]

    def step(mode: int, actions: tuple[str, ...]) -> tuple[str, str]:
        now = timeline[len(actions)]
        shown = f"mode {mode}" if now == "show" else now
        return shown, {"grasp": f"side {mode // 8}", "place": f"slot {mode // 4}"}.get(now, "wait")

    return Model.from_latents(len(timeline), uniform(range(32)), step, "readout-3")


@lru_cache(maxsize=1)
def cells() -> dict[str, tuple[Model, float]]:
    """Development cells with the β that the paper uses for their family."""
    return {
        "gap toy, gap 6": (build("gap", gap2=6), 0.03),
        "memory chain, 2 bits, delay 10": (build("memory-chain", bits=2, delay=10), 1e-3),
        "memory chain, 3 bits, delay 10": (build("memory-chain", bits=3, delay=10), 1e-3),
        "passive T-maze, L=10": (build("passive-t-maze", L=10), 1e-3),
        "readout-3 sketch, M=32": (readout(), 1e-3),
    }


@lru_cache(maxsize=8)
def requirement(cell: str) -> Requirement:
    return Requirement.of(cells()[cell][0])


def passes(cell: str, tables: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> list[bool]:
    """Which machines pass the external gate."""
    model, found = cells()[cell][0], []
    for move, act in tables:
        machine = CodeMachine(move, act).greedy()
        steps = scores(watch(machine, model), requirement(cell))
        found.append(verdict("external", steps, closed_loop(machine, model)).sufficient)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    combinations = list(product(CODE_SCALES, RESIDUAL_SCALES, RATES))
    variants = [
        replace(preset("carousel"), restarts=restarts, pressure=pressure)
        for restarts, pressure in product(RESTARTS, PRESSURES)
    ]
    jobs: list[tuple[str, Preset, Cohort]] = []
    for cell, (model, beta) in cells().items():
        for variant in variants:
            runs = tuple(
                Run(seed, beta, rate, None, code, residual) for code, residual, rate in combinations for seed in SEEDS
            )
            cohort = Cohort(Plan(learner("plain"), variant, runs, given.steps), from_model(model), given.device)
            jobs.append((cell, variant, cohort))
    found: list[list[list[bool]]] = []
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        for share in (0.5, 1.0):
            train_together([cohort for _, _, cohort in jobs], until=share)
            tables = [
                (cell, [(m.move, m.act) for m in machines(cohort.parameters, cohort.plan.carrier, cells()[cell][0])])
                for cell, _, cohort in jobs
            ]
            asked = [pool.submit(passes, cell, machine) for cell, machine in tables]
            found.append([job.result() for job in asked])
            print(f"{share:.0%}: {[sum(row) for row in found[-1]]}", flush=True)
    lines = []
    for k, (cell, variant, _) in enumerate(jobs):
        for c, (code, residual, rate) in enumerate(combinations):
            mine = slice(c * len(SEEDS), (c + 1) * len(SEEDS))
            lines.append(
                {
                    "cell": cell,
                    "code_scale": code,
                    "residual_scale": residual,
                    "rate": rate,
                    "restarts": variant.restarts,
                    "pressure": list(variant.pressure),
                    "clip": variant.clip,
                    "steps": given.steps,
                    "sufficient_half_way": sum(found[0][k][mine]),
                    "sufficient": sum(found[1][k][mine]),
                    "of": len(SEEDS),
                }
            )
    (given.out / "preset-search.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    print("winner:", json.dumps(winner(lines)))


def winner(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The combination that the rule picks, with its counts over all cells."""
    keys = ("code_scale", "residual_scale", "rate", "restarts", "pressure", "clip")
    totals: dict[str, tuple[int, int, float]] = {}
    for line in lines:
        name = json.dumps({key: line[key] for key in keys})
        end, half, _ = totals.get(name, (0, 0, 0.0))
        totals[name] = (end + line["sufficient"], half + line["sufficient_half_way"], -line["rate"])
    best = max(totals, key=lambda name: totals[name])
    return {**json.loads(best), "sufficient": totals[best][0], "sufficient_half_way": totals[best][1]}


if __name__ == "__main__":
    main()
