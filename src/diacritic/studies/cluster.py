"""The Ray engine: cohorts where the GPUs are, rollouts on CPUs, and the ledgers written by one driver alone.

All machines must see the folders of the settings. A task whose worker dies is started again by Ray; since results and
rows are found by what decides them, nothing is lost and nothing is entered twice. The driver is a process of its own:
when the head of a cluster goes away, Ray ends whatever process is connected to it.
"""

import importlib
import logging
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from certify.errors import UserError
from diacritic.files.ledger import Row
from diacritic.studies import symbolic
from diacritic.studies.collect import Say, StudySettings, enter
from diacritic.studies.engine import Job, judge_one, train_one

Work = Callable[[Any, Callable[[Any], None]], None]
RETRIES = 3
PATIENCE = 5.0  # seconds for a cluster to answer
AHEAD = 2  # tasks that wait for every CPU, at most


def run_on_ray(jobs: Sequence[Job], settings: StudySettings, address: str | None = None, say: Say = print) -> None:
    """All jobs on a cluster, or on one that is started here; rows are entered as they come."""
    in_driver(partial(_run, list(jobs), replace(settings, threads=1)), address, say)


def in_driver(work: Work, address: str | None, receive: Callable[[Any], object]) -> None:
    """Do some work, given Ray and a way to send, in a process that is connected to a cluster; take what it sends."""
    _ray()
    _knock(address)
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    driver = context.Process(target=_drive, args=(work, address, there))
    driver.start()
    there.close()
    ended = False
    try:
        while not ended:
            kind, *parts = here.recv()
            if kind == "error":
                raise UserError(*parts)
            ended = kind == "end"
            if not ended:
                receive(parts[0])
    except EOFError:
        reason = "the cluster went away; start it again and give the same command: what is finished is in the ledger"
        raise UserError("ray", reason) from None
    finally:
        if not ended:
            driver.terminate()
        driver.join()
        here.close()


def _knock(address: str | None) -> None:
    """Whether anything listens there: Ray itself would end the process that asks."""
    host, _, port = (address or "").rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except OSError as problem:
        reason = f"no Ray cluster answers at {address!r} ({problem.strerror or problem}); start one with `ray start`"
        raise UserError("--address", reason) from None


def _drive(work: Work, address: str | None, back: Connection) -> None:
    """The driver: what it sends goes back piece by piece, then how it ended."""
    ray = _ray()
    try:
        try:
            ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as problem:
            raise UserError("--address", f"no Ray cluster answers at {address!r} ({problem})") from None
        work(ray, lambda piece: back.send(("piece", piece)))
        back.send(("end",))
    except UserError as problem:
        back.send(("error", problem.where, problem.reason))
    except OSError as problem:
        back.send(("error", str(problem.filename or "disk"), f"{problem.strerror}; then give the same command again"))
    finally:
        ray.shutdown()
        back.close()


def _run(jobs: Sequence[Job], settings: StudySettings, ray: Any, say: Say) -> None:
    gpus = 1 if settings.device.startswith("cuda") else 0
    first = ray.remote(_first_stage).options(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)
    judge = ray.remote(judge_one).options(num_cpus=1, max_retries=RETRIES)
    room = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting, stages = deque(jobs), dict[Any, tuple[Job, bool]]()
    while waiting or stages:
        while waiting and len(stages) < room:
            job = waiting.popleft()
            stages[first.remote(job, settings)] = job, job.train_job is None
        (ready, *_), _ = ray.wait(list(stages), num_returns=1)
        job, judged = stages.pop(ready)
        result = _get(ray, ready, job)
        if not judged:
            stages[judge.remote(job, settings)] = job, True
            continue
        rows: list[Row] = result
        enter(rows, job.cells, settings.results, say)
        for cell in job.cells if job.train_job is None else ():
            symbolic.discard(cell, settings.work)


def _first_stage(job: Job, settings: StudySettings) -> list[Row] | None:
    """Training, which may need a GPU; a symbolic job is judged in the same breath."""
    train_one(job, settings)
    return judge_one(job, settings) if job.train_job is None else None


def _get(ray: Any, reference: Any, job: Job) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as problem:
        if isinstance(problem.cause, UserError):
            raise UserError(problem.cause.where, problem.cause.reason) from None
        raise UserError(job.name, f"failed: {problem.cause!r}; the other jobs are in the ledger") from None
    except ray.exceptions.WorkerCrashedError:
        reason = f"its worker died {RETRIES + 1} times, for lack of memory perhaps; the other jobs are in the ledger"
        raise UserError(job.name, reason) from None
    except ray.exceptions.RayError as problem:
        reason = f"the cluster went away ({type(problem).__name__}); start it again and give the same command"
        raise UserError("ray", reason) from None


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError:
        reason = "is not installed; install the extra 'cluster': pip install 'diacritic[cluster]'"
        raise UserError("ray", reason) from None
