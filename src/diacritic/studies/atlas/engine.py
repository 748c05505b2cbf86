"""Making cards on the cores of this machine or on Ray; a row is written as soon as it is there, so that a run goes on
where it was stopped."""

import json
import resource
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

from certify.errors import UserError
from certify.progress import working
from diacritic.files.atomic import make_folder, write_text
from diacritic.files.ledger import read_ledger
from diacritic.studies.atlas import listing
from diacritic.studies.atlas.cards import LIMIT, Card, card, heading
from diacritic.studies.atlas.entry import Checkouts, Entry
from diacritic.studies.cluster import in_driver

Name = tuple[str, str]  # family and task
Engine = Literal["local", "ray"]
MEMORY = 8 * 2**30  # of one task in a process of its own
PRELOADED = ("minigrid.envs", "popgym.envs", "bsuite", "stormpy")  # once for all processes, where they are installed


def run(
    names: Iterable[str],
    out: Path,
    checkouts: Checkouts | None = None,
    *,
    only: str = "*",
    limit: int | None = None,
    seconds: float = 2.0,
    jobs: int = 1,
    engine: Engine = "local",
    address: str | None = None,
) -> list[Card]:
    """Certify what the file lacks, and write it after every task."""
    checkouts = checkouts or Checkouts()
    rows = {(row["family"], row["task"]): row for row in load(out)}
    wanted = [entry for entry in _entries(names, checkouts) if fnmatchcase(entry.task, only)]
    left = [entry for entry in wanted if (entry.family, entry.task) not in rows][:limit]
    make_folder(out.parent)
    with working("atlas") as say:

        def enter(row: Card) -> None:
            rows[row["family"], row["task"]] = row
            lines = (json.dumps(rows[key], ensure_ascii=False) + "\n" for key in sorted(rows))
            write_text(out, "".join(lines))
            say(f"{sum((e.family, e.task) in rows for e in left)} of {len(left)}, {row['task']}")

        if engine == "ray":
            in_driver(partial(_on_ray, [(e.family, e.task) for e in left], checkouts, seconds), address, enter)
        else:
            for row in _here(left, seconds) if jobs == 1 else _in_processes(left, checkouts, seconds, jobs):
                enter(row)
    return [rows[key] for key in sorted(rows)]


def load(path: Path) -> list[Card]:
    """The rows of a file; none if there is no file."""
    return read_ledger(path) if path.exists() else []


def _entries(names: Iterable[str], checkouts: Checkouts) -> list[Entry]:
    families = listing.families(checkouts)
    for name in names:
        if name not in families:
            raise UserError(name, f"no family is called so; there are {', '.join(families)}")
    return [entry for name in names for entry in families[name]()]


def make(name: Name, checkouts: Checkouts, seconds: float) -> Card:
    """The card of a task by its name, wherever this runs."""
    (entry,) = (entry for entry in _entries([name[0]], checkouts) if entry.task == name[1])
    return card(entry, seconds)


def _here(left: Sequence[Entry], seconds: float) -> Iterator[Card]:
    return (card(entry, seconds) for entry in left)


def _in_processes(left: Sequence[Entry], checkouts: Checkouts, seconds: float, jobs: int) -> Iterator[Card]:
    """Each task in a process of its own, so many at once; one that dies leaves a row with the reason."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, *PRELOADED])
    waiting, running = deque(left), dict[Any, tuple[Any, Entry]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                entry = waiting.popleft()
                here, there = context.Pipe(duplex=False)
                arguments = (there, (entry.family, entry.task), checkouts, seconds)
                child = context.Process(target=_child, args=arguments, daemon=True)
                child.start()
                there.close()
                running[here] = child, entry
            for here in wait(list(running)):
                child, entry = running.pop(here)
                yield _received(here, child, entry)
    finally:
        for child, _ in running.values():
            child.kill()


def _received(here: Any, child: Any, entry: Entry) -> Card:
    try:
        return here.recv()
    except EOFError:
        child.join()
        return heading(entry) | {"reason": f"its process died (exit code {child.exitcode})"}
    finally:
        child.join()
        here.close()


def _child(back: Connection, name: Name, checkouts: Checkouts, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(2 * LIMIT), int(2 * LIMIT) + 5))  # for code that no alarm stops
    back.send(make(name, checkouts, seconds))


def _on_ray(names: Sequence[Name], checkouts: Checkouts, seconds: float, ray: Any, send: Callable[[Any], None]) -> None:
    """In the driver of a cluster: every task somewhere, each row back as it comes."""
    remote = ray.remote(make).options(num_cpus=1, max_retries=3)
    waiting = {remote.remote(name, checkouts, seconds): name for name in names}
    while waiting:
        (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
        name = waiting.pop(ready)
        try:
            send(ray.get(ready))
        except ray.exceptions.RayError as problem:
            reason = f"failed on the cluster ({type(problem).__name__}); give the same command again for the rest"
            raise UserError(name[1], reason) from None
