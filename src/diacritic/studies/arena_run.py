"""Running the arena: `python -m diacritic.studies.arena_run RESULTS` needs torch, numpy and safetensors alone.

Cells train in turns, several at once on one device, and other processes judge them; rows are written as they come, so
that a run that was stopped goes on with what is missing. `--search` searches the settings of every entrant instead.
"""

import argparse
import fcntl
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from certify.errors import UserError
from diacritic.files.atomic import make_folder, write_text
from diacritic.files.ledger import Row, merge_ledger, read_ledger
from diacritic.memory.kinds import memory_of
from diacritic.studies.arena import DEVELOPMENT, ENTRANTS, NAME, RATES, SEARCH, Setting, cell_of, cells, frozen
from diacritic.studies.arena_judge import Trained, cohort_of, judge
from diacritic.studies.cell import Cell
from diacritic.studies.engine import missing_cells
from diacritic.studies.results import Results
from diacritic.studies.symbolic import plan_of
from diacritic.studies.tasks import model_of
from diacritic.training import histories, tables
from diacritic.training.cohort import Cohort, Plan, Run, choose, initial_weights
from diacritic.training.compress_recorded import forgotten
from diacritic.training.data import Data
from diacritic.training.objectives.rate import Rate
from diacritic.training.scheduler import Part, round_robin
from diacritic.training.symbolic import from_model
from diacritic.training.trace import Trace

SEARCH_SEEDS, SEARCH_STEPS = range(100, 104), 1000
SETTLED = 200
"""Updates in a row without one wrong action after which a cohort without a rate to lower is done."""
LOOK_EVERY = 200
"""Updates between two looks at a cohort on the arm; its judge says which of them finds a run sufficient first."""
RESERVE = 20.0
"""Seconds before the limit at which training stops, so that what is trained can be judged."""


class ScoredCohort(Cohort):
    """A cohort on a symbolic task that notes at every update whether each run acts correctly after every history."""

    def __init__(
        self, plan: Plan, data: Data, device: str = "cpu", parameters: dict[str, Tensor] | None = None
    ) -> None:
        super().__init__(plan, data, device, parameters)
        self._slots = None  # an update looks at every history, not at the drawn ones alone
        self._first, self._wrong = (torch.full_like(self.schedule.seeds, -1) for _ in range(2))

    def trace(self, episode_weight: Tensor | None = None, sampled: bool = True) -> Trace:
        trace = super().trace(episode_weight, sampled)
        if episode_weight is not None:
            self._look(trace)
        return trace

    @torch.no_grad()
    def _look(self, trace: Trace) -> None:
        chosen = trace.steps(trace.read("act") if trace.actions is None else trace.actions).argmax(-1)
        law = self.data.target.expand(len(chosen), -1, -1, -1)
        right = (law.gather(-1, chosen.unsqueeze(-1)) > 0).flatten(1).all(1)
        self._first.copy_(torch.where(right & (self._first < 0), self.schedule.step, self._first))
        self._wrong.copy_(torch.where(right, self._wrong, self.schedule.step))

    def _capture(self) -> None:
        super()._capture()
        self._first.fill_(-1)
        self._wrong.fill_(-1)

    @property
    def first(self) -> tuple[int | None, ...]:
        """Of each run the updates after which every action was right for the first time."""
        return tuple(None if step < 0 else step for step in self._first.tolist())

    @property
    def settled(self) -> bool:
        """Whether no run did anything wrong of late."""
        return self.step - 1 - int(self._wrong.max()) >= SETTLED


@dataclass(kw_only=True)
class Training(Part):
    """A cell in training, up to a point in time."""

    cell: Cell
    stop: float
    problem: str | None = None
    """Why it cannot go on, say memory that a device does not have; others are not affected."""
    looks: dict[int, dict[str, NDArray[Any]]] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return self.problem is not None or super().done

    def advance(self) -> None:
        """Its next updates, unless those before were the last: looking at them waits for nothing else."""
        cohort = self.cohort
        lowers = any(isinstance(term, Rate) for term in cohort.plan.terms)
        try:
            settled = isinstance(cohort, ScoredCohort) and not lowers and cohort.settled
            if settled or time.monotonic() > self.stop:
                self.end = cohort.step
            else:
                if self.cell.task.recorded and cohort.step % LOOK_EVERY == 0 < cohort.step:
                    self.looks[cohort.step] = _on_the_cpu(cohort)
                super().advance()
        except UserError:
            raise
        except Exception as problem:
            self.problem = f"{type(problem).__name__}: {problem}".splitlines()[0][:300]

    @property
    def whole(self) -> bool:
        """Whether it ended by itself."""
        return self.problem is None and (time.monotonic() <= self.stop or self.cohort.step >= self.cell.steps)


@dataclass(frozen=True)
class ArenaSettings:
    """Where and with what the arena runs."""

    results: Path
    demos: Path = Path("out") / "demos"
    device: str = "cpu"
    together: int = 1
    """Cohorts that train in turns."""
    judges: int = 0
    """Processes that judge; 0: this one."""
    seconds: float = 1e9
    """After so long nothing more is trained."""
    claims: Path | None = None
    """Folder where processes that share the results say what they train; none: this process trains all."""

    def claim(self, *named: object) -> bool:
        """Whether this process is the first to ask for something; claims of processes that died stay."""
        if self.claims is None:
            return True
        path = make_folder(self.claims) / sha256(repr(named).encode()).hexdigest()[:20]
        try:
            path.open("x").close()
        except FileExistsError:
            return False
        return True

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other process changes the shared results; the lock of a dead one is free."""
        if self.claims is None:
            yield
            return
        with (make_folder(self.claims) / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def run_cells(chosen: Sequence[Cell], settings: ArenaSettings, say: Callable[[str], None] = print) -> None:
    """Train and judge the cells that the ledger lacks."""
    missing = missing_cells(chosen, settings.results)
    stop = time.monotonic() + settings.seconds - RESERVE
    with _Judges(settings.judges) as judges:
        judging: dict[Future[list[Row]], Cell] = {}
        for one in round_robin(_started(missing, settings, stop), settings.together):
            if one.problem is not None:
                say(f"{one.cell.task.title}, {one.cell.learner}: {one.problem}")
            elif one.whole:
                exact = plan_of(one.cell).learner.certified and not one.cell.task.recorded
                trained = None if exact else _trained(one)
                judging[judges.submit(judge, one.cell, trained, settings.demos)] = one.cell
                _collect(judging, settings, say)
        for _ in as_completed(list(judging)):
            _collect(judging, settings, say)


def cheap_first(chosen: Sequence[Cell]) -> list[Cell]:
    """Symbolic cells, and among them those whose updates have few rows and parameters first; the others as they are."""
    work = {}
    for task in {cell.task for cell in chosen if not cell.task.recorded}:
        data = from_model(model_of(task))
        contexts, distinct = (
            tables.prepare(data),
            cache(lambda window, data=data: len(histories.prepare(data, window).last)),
        )
        for cell in chosen:
            if cell.task == task:
                plan = plan_of(cell)
                sizes = (math.prod(weight.shape) for weight in initial_weights(plan, data).values())
                tabled, window = choose(plan, data) == "tables", memory_of(plan.carrier).window
                rows = contexts.count(plan.carrier.codes) if tabled else distinct(window)
                work[cell.name, cell.learner] = rows * sum(sizes)
    return sorted(chosen, key=lambda cell: work.get((cell.name, cell.learner), math.inf))


def _started(chosen: Sequence[Cell], settings: ArenaSettings, stop: float) -> Iterator[Training]:
    for cell in chosen:
        if time.monotonic() > stop:
            return
        certified = plan_of(cell).learner.certified
        if not settings.claim(cell.name, cell.learner, cell.digest):
            continue
        if cell.task.recorded:
            cohort = cohort_of(cell, settings.demos, settings.device)
        else:
            plan = _plain(plan_of(cell), settings.device)
            cohort = ScoredCohort(plan, from_model(model_of(cell.task)), settings.device)
        yield Training(cohort=cohort, end=0 if certified else cell.steps, cell=cell, stop=stop)


def _plain(plan: Plan, device: str) -> Plan:
    """Kernels of the released carrier know its own sizes alone; here it may have others. On the CPU there are none."""
    return replace(plan, engine="reference") if plan.preset.released and device != "cpu" else plan


def _trained(one: Training) -> Trained:
    cohort, begun = one.cohort, time.perf_counter()
    if one.cell.task.recorded and cohort.plan.learner.forget:
        cohort = forgotten(cohort).cohort
        one.seconds += time.perf_counter() - begun
    device = torch.cuda.get_device_name() if cohort.device.type == "cuda" else "cpu"
    first = cohort.first if isinstance(cohort, ScoredCohort) else (None,) * len(cohort.plan.runs)
    diverged = tuple(cohort.optimiser.diverged.tolist())
    return Trained(_on_the_cpu(cohort), diverged, cohort.step, one.seconds, first, device, one.looks)


def _on_the_cpu(cohort: Cohort) -> dict[str, NDArray[Any]]:
    """A copy of what has been learned so far."""
    return {name: value.detach().cpu().numpy().copy() for name, value in cohort.parameters.items()}


@dataclass(kw_only=True)
class Trial(Training):
    """An entrant with one size and every learning rate on a development cell."""

    entrant: str
    size: int


def search(entrants: Sequence[str], settings: ArenaSettings, say: Callable[[str], None] = print) -> None:
    """Every learning rate with every size on the development cells: the same number of trials for each entrant."""
    path = make_folder(settings.results) / f"{SEARCH}.jsonl"
    rows = read_ledger(path) if path.exists() else []
    for one in round_robin(_trials(entrants, settings, rows), settings.together):
        if one.whole:
            trial = list(_search_rows(one))
            with settings.alone():
                every = [*(read_ledger(path) if path.exists() else []), *trial]
                write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in every))
            say(f"{one.entrant}, {one.cell.task.title}, {one.cell.learner}: {one.seconds:.1f} s")


def _trials(entrants: Sequence[str], settings: ArenaSettings, rows: Sequence[Row]) -> Iterator[Trial]:
    stop = time.monotonic() + settings.seconds - RESERVE
    done = {(row["entrant"], row["task"], row["size"]) for row in rows}
    searched = [name for name in entrants if ENTRANTS[name].size is not None and ENTRANTS[name].like is None]
    # Large ones first, so that processes that share the work end at about the same time.
    for k, task, name in product((2, 1, 0), DEVELOPMENT, reversed(searched)):
        size = ENTRANTS[name].sizes[k]
        if (name, task.title, size) in done or time.monotonic() > stop or not settings.claim(name, task.title, size):
            continue
        cell = cell_of(name, task, Setting(None, size), SEARCH_STEPS, len(SEARCH_SEEDS))
        plan, data = plan_of(cell), from_model(model_of(task))
        runs = tuple(Run(seed, cell.beta, rate) for rate in RATES for seed in SEARCH_SEEDS)
        cohort = ScoredCohort(_plain(replace(plan, runs=runs), settings.device), data, settings.device)
        yield Trial(cohort=cohort, end=cell.steps, cell=cell, stop=stop, entrant=name, size=size)


@torch.no_grad()
def _search_rows(one: Trial) -> Iterator[Row]:
    """One row a learning rate: how many of its seeds act correctly after every history, success and loss."""
    cohort = one.cohort
    trace = cohort.trace()
    chosen = trace.steps(trace.read("act") if trace.actions is None else trace.actions).argmax(-1)
    law = cohort.data.target.expand(len(chosen), -1, -1, -1)
    right = (law.gather(-1, chosen.unsqueeze(-1)) > 0).squeeze(-1).all(1).double()
    success = (right * cohort.data.weight.double()).sum(-1).view(len(RATES), -1).cpu()
    loss = cohort.losses[0].view(len(RATES), -1).double().cpu().nan_to_num(nan=1e3)
    for k, rate in enumerate(RATES):
        yield {
            "entrant": one.entrant,
            "task": one.cell.task.title,
            "learner": cohort.plan.learner.name,
            "preset": cohort.plan.preset.name,
            "rate": rate,
            "size": one.size,
            "seeds": len(SEARCH_SEEDS),
            "steps": SEARCH_STEPS,
            "updates": cohort.step,
            "sufficient": int((success[k] > 1 - 1e-9).sum()),
            "success": round(float(success[k].mean()), 6),
            "loss": float(f"{float(loss[k].mean()):.6g}"),
            "seconds": round(one.seconds / len(RATES), 3),
        }


class _Judges:
    """Processes that judge, or this one; where one of them dies, others take their place."""

    def __init__(self, count: int) -> None:
        self.count, self.pool = count, self._pool(count)

    @staticmethod
    def _pool(count: int) -> ProcessPoolExecutor | None:
        context = get_context("spawn")
        return ProcessPoolExecutor(count, context, torch.set_num_threads, (1,)) if count else None

    def submit(self, function: Callable[..., list[Row]], *given: Any) -> Future[list[Row]]:
        if self.pool is None:
            done: Future[list[Row]] = Future()
            try:
                done.set_result(function(*given))
            except Exception as problem:  # as a pool keeps it
                done.set_exception(problem)
            return done
        try:
            return self.pool.submit(function, *given)
        except BrokenProcessPool:
            self.pool = self._pool(self.count)
            return self.submit(function, *given)

    def __enter__(self) -> "_Judges":
        return self

    def __exit__(self, *raised: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()


def _collect(judging: dict[Future[list[Row]], Cell], settings: ArenaSettings, say: Callable[[str], None]) -> None:
    """Rows of those that have been judged; what cannot be judged is said, and the others go on."""
    for future in [future for future in judging if future.done()]:
        cell = judging.pop(future)
        problem = future.exception()
        if problem is not None:
            say(f"{cell.task.title}, {cell.learner}: {type(problem).__name__}: {problem}")
            continue
        rows = future.result()
        with settings.alone():
            merge_ledger(settings.results / f"{NAME}.jsonl", rows)
        good = sum(row["sufficient"] for row in rows)
        say(f"{cell.task.title}, {cell.learner}: {good}/{len(rows)}, {rows[0]['seconds'] * len(rows):.1f} s")


def main() -> int:
    """Bad input ends with one line on standard error and status 2."""
    parser = argparse.ArgumentParser(
        "python -m diacritic.studies.arena_run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
    )
    parser.add_argument("results", type=Path, help="folder of ledgers")
    parser.add_argument("--demos", type=Path, default=Path("out") / "demos", help="recordings of the arm")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--together", type=int, default=1, help="cohorts that train in turns")
    parser.add_argument("--judges", type=int, default=0, help="processes that judge what is trained")
    parser.add_argument("--seconds", type=float, default=1e9, help="time limit")
    parser.add_argument("--claims", type=Path, help="folder where processes that share the work say what they train")
    parser.add_argument("--symbolic", action="store_true", help="symbolic tasks alone, from cheap to dear")
    parser.add_argument("--without", default="", help="no tasks that have one of these words")
    parser.add_argument("--only", default="", help="tasks that have all these words")
    parser.add_argument("--search", action="store_true", help="search settings instead of filling the matrix")
    given = parser.parse_args()
    settings = ArenaSettings(
        given.results, given.demos, given.device, given.together, given.judges, given.seconds, given.claims
    )

    def say(line: str) -> None:
        print(line, flush=True)

    try:
        if given.search:
            search(list(ENTRANTS), settings, say)
            return 0
        words, without = given.only.split(), given.without.split()
        chosen = [
            cell
            for cell in cells(settings=frozen(Results.read(given.results)))
            if all(word in cell.task.title for word in words)
            and not any(word in cell.task.title.split() for word in without)
            and not (given.symbolic and cell.task.recorded)
        ]
        run_cells(cheap_first(chosen) if given.symbolic else chosen, settings, say)
    except UserError as problem:
        print(f"diacritic: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
