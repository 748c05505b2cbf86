"""Orders from a folder: train them on a machine that has nothing but torch, numpy and safetensors.

The folder holds `exchange.json` (orders, and the cells that they answer) and `demos/`. What comes out is small: of each
order one file of stacked weights and one of codes on the held-out episodes, written as it is done.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files import job
from diacritic.files.archive import Bundles
from diacritic.files.atomic import write_text
from diacritic.files.demos import load
from diacritic.files.job import ResultFiles
from diacritic.files.versions import code_version
from diacritic.memory.kinds import memory_of
from diacritic.tasks.protocol import Task
from diacritic.tasks.registry import task_of
from diacritic.training.cohort import Cohort, Plan, start
from diacritic.training.cohort_batching import RUNS, CohortPart, kind, one_cohort, pack, split
from diacritic.training.compress_recorded import forgotten
from diacritic.training.data import Data
from diacritic.training.demonstrations import Prepared, held_out_codes, prepare, supervise
from diacritic.training.forecaster import mislead
from diacritic.training.kl_bound import kl_profile
from diacritic.training.runs import warm_start
from diacritic.training.scheduler import CHUNK, round_robin
from diacritic.training.train_job import Order

TIMES, NETWORKS = "times.json", "networks"
SNAPSHOTS = (0.05, 0.1, 0.2, 0.4)
"""Shares of training at which codes are kept besides those of the end."""
POLICY = ("act", "choose")
"""Heads that a policy acts with; the others are thrown away after training."""


@dataclass
class Ready:
    """An order with all that its training needs, and the codes that it shows on the way."""

    order: Order
    share: CohortPart
    prepared: Prepared
    supervising: float
    """Seconds that its forecasters and teachers took."""
    snapshots: dict[int, NDArray[np.integer[Any]]] = field(default_factory=dict)
    forgetting: dict[str, Any] | None = None
    """What came of forgetting, where its learner does."""


@dataclass
class Training:
    """One cohort in training: an order, or several of equal plans and sizes."""

    parts: list[Ready]
    cohort: Cohort
    half: bool = False
    """Round the weights to half precision in the end: the last codes are those of the rounded weights."""
    seconds: float = 0.0

    @property
    def device(self) -> torch.device:
        return self.cohort.device

    @property
    def done(self) -> bool:
        return self.cohort.step >= self.cohort.plan.steps

    def advance(self) -> None:
        """A chunk of updates, ending at a step whose codes are kept; those of the last step are `finish`'s."""
        steps, step = self.cohort.plan.steps, self.cohort.step
        stops = sorted({max(1, round(share * steps)) for share in SNAPSHOTS} | {steps})
        end = min([step + CHUNK, *(stop for stop in stops if stop > step)])
        self.cohort.advance(end - step)
        if end in stops and end < steps:
            self._look()

    def finish(self) -> None:
        """Forget where the learner does, round, and look at the codes; time that no other training shares."""
        begun = time.perf_counter()
        if self.cohort.plan.learner.forget:
            self._forget()
        if self.half:
            with torch.no_grad():
                for value in self.cohort.parameters.values():
                    value.copy_(value.half())
        self._look()
        self.seconds += time.perf_counter() - begun

    def _forget(self) -> None:
        """Every order's runs forget on its own recording, and the cohort takes their weights over."""
        found = []
        for part, cohort in self.split():
            after = forgotten(cohort)
            part.forgetting = after.notes
            found.append(after.cohort.parameters)
        with torch.no_grad():
            for name, value in self.cohort.parameters.items():
                value.copy_(torch.cat([own[name] for own in found]))

    def _look(self) -> None:
        """Keep the codes on the held-out episodes at this step."""
        for part, cohort in self.split():
            part.snapshots[self.cohort.step] = held_out_codes(cohort, part.prepared.held_out)

    def split(self) -> Iterator[tuple[Ready, Cohort]]:
        """Every order with its own runs."""
        return zip(self.parts, split(self.cohort, [part.share for part in self.parts]), strict=True)


def train_folder(
    folder: Path,
    out: Path,
    device: str = "cpu",
    together: int = 1,
    only: str = "",
    half: bool = False,
    bundles: Bundles | None = None,
    most: int | None = None,
) -> None:
    """Train every order whose name holds all words of `only` and that has no result in `out` yet.

    Orders that differ in nothing but their recordings and runs train as one cohort of at most `most` runs, which
    changes no result; by default they do so on CUDA, where it saves time.
    """
    given = job.read_job(folder)
    orders = [Order.from_dict(item) for item in given.orders]
    chosen = [order for order in orders if all(word in order.name for word in only.split())]
    if not chosen:
        raise UserError("--only", f"no order's name holds {only!r}; there are {', '.join(o.name for o in orders)}")
    job.write_job(out, given.orders, given.cells)
    by_name = {order.name: order for order in orders}
    missing = [order for order in chosen if not finished(order, out)]
    print(f"{len(chosen) - len(missing)} of {len(chosen)} cohorts are there already", flush=True)
    generations = [
        [order for order in generation if order in missing or not finished(order, out)]
        for generation in _generations(missing, by_name)
    ]
    if most is None:
        most = RUNS if torch.device(device).type == "cuda" else 0
    waiting, done, begun = sum(map(len, generations)), 0, time.perf_counter()
    for generation in generations:
        started = trainings(folder, generation, device, most, half, by_name, out)
        for training in round_robin(started, together):
            training.finish()
            for part, cohort in training.split():
                seconds = training.seconds * len(part.order.runs) / len(training.cohort.plan.runs)
                kept, done = _keep(part, cohort, seconds, half, out), done + 1
                if bundles is not None:
                    bundles.add([*kept, *([out / job.EXCHANGE] if done == 1 else [])])
                told = f"{seconds:.1f} s, its forecasters {part.supervising:.1f} s"
                print(f"{done}/{waiting} {part.order.name}: {told}; {time.perf_counter() - begun:.0f} s", flush=True)


def _generations(chosen: Sequence[Order], by_name: Mapping[str, Order]) -> list[list[Order]]:
    """The orders with those that they start from, the latter in earlier lists."""
    formers = {name: order.name for order in chosen for name in order.formers}
    if not formers:
        return [list(chosen)]
    for name, asked in formers.items():
        if name not in by_name:
            raise UserError(asked, f"starts from {name}, which is no order of this folder; export the study again")
    earlier = _generations([order for name, order in by_name.items() if name in formers], by_name)
    known = {order.name for generation in earlier for order in generation}
    return [*earlier, [order for order in chosen if order.name not in known]]


def finished(order: Order, out: Path) -> bool:
    """Whether this version of the code has trained the order already; a result that is not whole counts for nothing."""
    try:
        result = read_result(order, out)
    except UserError:
        return False
    return result is not None and result.notes["code_version"] == code_version()


@dataclass(frozen=True)
class Result(ResultFiles):
    """What came back of an order, and the order."""

    order: Order


def read_result(order: Order, out: Path) -> Result | None:
    """The result of an order; none if it is not there yet."""
    files = job.read_result(out, order.name, len(order.runs))
    return None if files is None else Result(**vars(files), order=order)


def trainings(
    folder: Path,
    orders: Sequence[Order],
    device: str,
    most: int,
    half: bool,
    by_name: Mapping[str, Order],
    out: Path,
) -> Iterator[Training]:
    """The cohorts of orders at their start; those that they start from are known by name and lie in `out`."""
    ready = _ready(folder, orders, device, by_name, out)
    described = ((kind(one.share, device) if most else None, len(one.order.runs), one) for one in ready)
    for parts in pack(described, most):
        yield Training(parts, one_cohort([part.share for part in parts], device), half)


def _ready(
    folder: Path, orders: Sequence[Order], device: str, by_name: Mapping[str, Order], out: Path
) -> Iterator[Ready]:
    for order in orders:
        task, prepared = _prepared(folder / "demos" / order.recording, order.demonstrations, order.demos_sha256)
        plan = order.plan(len(task.decisions), device)
        seeds, where, begun = order.seeds, folder / NETWORKS, time.perf_counter()
        data = supervise(
            prepared.data, plan.learner, seeds, device, order.forecaster_steps, where, teacher_steps=order.steps
        )
        data = _misled(data, order)
        supervising = time.perf_counter() - begun
        data = _by_run(data, [seeds.index(run.seed) for run in order.runs])
        begin = _warm(order, plan, data, by_name, out) if order.start else start(plan, data)
        yield Ready(order, CohortPart(plan, data, begin), prepared, supervising)


def _warm(order: Order, plan: Plan, data: Data, by_name: Mapping[str, Order], out: Path) -> dict[str, torch.Tensor]:
    """Each run's start from the run that its order names; heads that were thrown away begin anew."""
    results = {name: read_result(by_name[name], out) for name in order.formers}
    found = []
    for name, k in order.start:
        result = results[name]
        if result is None or k >= len(result.order.runs):
            raise UserError(order.name, f"run {k} of {name}, which it starts from, is not in {out}; train that first")
        own = {key: value[k] for key, value in result.weights.items() if not key.startswith("scale.")}
        found.append((f"{name}, run {k}", own))
    return warm_start(found, plan, data)


def _misled(data: Data, order: Order) -> Data:
    """Forecasts of a share of the episodes swapped for those of episodes with another pending class."""
    if not order.misled or data.joint is None:
        return data
    found = {name: getattr(data, name) for name in ("forecast", "pending")}
    classes = data.joint[data.last_reveal]
    changed = {
        name: mislead(value, classes, order.misled, order.seeds) for name, value in found.items() if value is not None
    }
    if not changed:
        raise UserError(order.name, f"{order.learner} regresses no forecast, so that nothing can be misled")
    return replace(data, **changed)


@lru_cache(maxsize=4)
def _prepared(stem: Path, demonstrations: int, digest: str) -> tuple[Task, Prepared]:
    demos = load(stem)
    if demos.digest != digest:
        raise UserError(str(stem), "is another recording than the order names; export the study again")
    task = task_of(demos)
    return task, prepare(*demos.split(demonstrations), task)


def _by_run(data: Data, owner: list[int]) -> Data:
    """Targets of each seed as targets of each run."""
    found = {name: getattr(data, name) for name in ("forecast", "pending", "teacher")}
    return replace(data, **{name: value[owner] for name, value in found.items() if value is not None})


def _keep(part: Ready, cohort: Cohort, seconds: float, half: bool, out: Path) -> tuple[Path, Path]:
    """Codes first, weights last: a result is there when its weights are."""
    order, name = part.order, part.order.name
    kind = np.uint8 if order.codes <= 256 else np.uint16
    snapshots = {step: codes.astype(kind) for step, codes in part.snapshots.items()}
    notes = {
        "order": asdict(order),
        "architecture": asdict(cohort.plan.carrier),
        "shape": asdict(cohort.given.shape),
        "diverged": cohort.optimiser.diverged.tolist(),
        "seconds": seconds,
        "supervising": part.supervising,
        "forgetting": part.forgetting,
        "kl_profile": _bound(cohort, part.prepared.held_out),
        "device": torch.cuda.get_device_name() if cohort.device.type == "cuda" else "cpu",
        "torch": torch.__version__.split("+")[0],
        "code_version": code_version(),
    }
    weights = {key: value for key, value in cohort.parameters.items() if key not in _training_only(cohort)}
    weights = {key: value.half() if half else value for key, value in weights.items()}
    paths = job.write_result(out, name, weights | part.prepared.scale.tensors(), snapshots, notes)
    times = json.loads((out / TIMES).read_text()) if (out / TIMES).exists() else {}
    times[name] = {"training": seconds, "forecasters": part.supervising, "runs": len(order.runs)}
    write_text(out / TIMES, json.dumps(times, indent=1) + "\n")
    return paths


@torch.no_grad()
def _bound(cohort: Cohort, held_out: Data) -> list[list[float]] | None:
    """The KL bound of Gaussian bottlenecks on the held-out episodes, by run and step; none of codes."""
    if memory_of(cohort.plan.carrier).measured != "bound":
        return None
    return kl_profile(Cohort(cohort.plan, held_out, str(cohort.device), dict(cohort.parameters)).trace())


def _training_only(cohort: Cohort) -> set[str]:
    """Parameters of heads that no policy acts with."""
    shape, carrier = cohort.given.shape, cohort.plan.carrier
    added = {name for term in cohort.plan.learner.terms for name in term.weights(shape, carrier)}
    return {name for name in added if name.split(".")[0] not in POLICY}
