"""Sufficient seeds, counted: the basin of initial scales, ingredients left out, misleading tasks, the paper's cells."""

import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from certify import Model
from diacritic.files.ledger import Row
from diacritic.rollout.trained_machines import machines
from diacritic.studies.symbolic import start
from diacritic.studies.tasks import task
from diacritic.training.cohort import Cohort, Run
from diacritic.training.preset import Preset
from diacritic.training.symbolic import from_model
from reproduction.beyond_paper.benchmark_tasks import zoo_task
from reproduction.beyond_paper.delays_cells import (
    CAROUSEL,
    INGREDIENTS,
    LEARNER,
    RELEASE,
    RELEASE_INGREDIENTS,
    SEEDS,
    STEPS,
    chain,
    counter,
    plan_for,
    release_without,
    rows_now,
    towards_carousel,
    without,
)
from reproduction.beyond_paper.delays_error import error_fields
from reproduction.beyond_paper.delays_follow import followed_rows
from reproduction.beyond_paper.forgetting import DEVELOPMENT
from reproduction.paper import paper_count

SCALES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of the code vectors, and of the residual's last layer
SEEN = {  # met while the ingredients were found
    "memory-chain bits=2 delay=100": lambda: chain(2, 100),
    "gap gap2=20": lambda: zoo_task(task("gap", gap2=20), 0.03),
}
DEMONSTRATIONS, HORIZONS = 65_536, (4, 6, 8, 10)  # drawn; at most 2¹⁰ of them differ


def persisting(cohort: Cohort, model: Model) -> list[float]:
    """The share of all (code, observation, previous action) at which the code stays as it is, run by run."""
    shares = []
    for machine in machines(cohort.parameters, cohort.plan.carrier, model):
        move = machine.move[: machine.codes, :, : machine.actions]
        shares.append(float((move == np.arange(machine.codes)[:, None, None]).mean()))
    return shares


def basin(device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    """The whole map, residual scale × code spacing, is one cohort: two bits over a delay of ten."""
    bench = chain(2, 10)
    grid = [(code, residual) for code, residual in product(SCALES, SCALES) if only in f"{code:g} {residual:g}"]
    runs = [
        Run(seed, bench.beta, code_scale=code, residual_scale=residual)
        for code, residual in grid
        for seed in range(SEEDS)
    ]
    cohort = Cohort(plan_for(bench, CAROUSEL, steps or STEPS, runs), from_model(bench.model), device)
    before, begun = persisting(cohort, bench.model), time.perf_counter()
    cohort.advance(cohort.plan.steps)
    rows = rows_now("long-delays-basin", bench, cohort, time.perf_counter() - begun)
    for row, run, kept in zip(rows, runs, before, strict=True):
        row["cell"] += f" code={run.code_scale:g} residual={run.residual_scale:g}"
        row |= {"code_scale": run.code_scale, "residual_scale": run.residual_scale, "persisting": kept}
    yield rows


def left_out(device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    """Each ingredient left out in turn, and all of them, on the development cells and on two that were seen early."""
    return _ablated("long-delays-left-out", (CAROUSEL, *map(without, INGREDIENTS), RELEASE), device, steps, only)


def release_left_out(device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    """The same with the choices of the release."""
    presets = RELEASE, *map(release_without, RELEASE_INGREDIENTS)
    return _ablated("long-delays-release-left-out", presets, device, steps, only)


def release_towards_carousel(device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    """The release with one choice of `carousel` after the other."""
    return _ablated("long-delays-release-towards-carousel", tuple(towards_carousel()), device, steps, only)


def _ablated(study: str, presets: tuple[Preset, ...], device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    for (name, make), chosen in product({**DEVELOPMENT, **SEEN}.items(), presets):
        if only in f"{name} {chosen.name}":
            bench = make()
            cohort = Cohort(plan_for(bench, chosen, steps or STEPS), from_model(bench.model), device)
            kind = "seen" if name in SEEN else "development"
            yield [row | {"kind": kind} for row in followed_rows(study, bench, cohort)]


def misleading(device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    """Where the truncated gradient could mislead: counting random events, rare ones, and certain ones, which are steps.

    What follows a history turns its error about by |1 − p + p ω| a step, ω a root of unity of the modulus.
    """
    benches = [
        *(counter("running-parity", horizon, p=p) for p in (Fraction(1, 2), Fraction(1, 10)) for horizon in HORIZONS),
        *(counter("modulo-counter", horizon, modulus=3) for horizon in HORIZONS),
        counter("modulo-counter", HORIZONS[-1], modulus=3, p=Fraction(1)),
    ]
    for bench, chosen in product(benches, (CAROUSEL, without("carousel gradient"), RELEASE)):
        if only in f"{bench.name} {chosen.name}":
            data = from_model(bench.model, DEMONSTRATIONS)
            cohort = Cohort(plan_for(bench, chosen, steps or STEPS), data, device)
            common = {"N": DEMONSTRATIONS, "horizon": bench.model.horizon}
            before = error_fields(cohort)  # at the start
            rows = followed_rows("long-delays-misleading", bench, cohort)
            yield [row | common | error for row, error in zip(rows, before, strict=True)]


def first_sufficient(device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    """The paper's symbolic cells of plain imitation with both presets, until every seed has passed or time is up."""
    from reproduction.catalogue import CELLS

    for cell in CELLS:
        if cell.learner != "plain" or paper_count(cell) is None or cell.task.recorded:
            continue
        if only in f"{cell.name} {cell.preset}":
            chosen = replace(cell, steps=steps or cell.steps)
            bench = replace(zoo_task(cell.task, cell.beta), gate=cell.gate)
            rows = followed_rows("long-delays-first-sufficient", bench, start(chosen, device), stop=True)
            common = {"cell": cell.name, "learner": LEARNER, "N": cell.demonstrations, "horizon": bench.model.horizon}
            yield [row | common for row in rows]
