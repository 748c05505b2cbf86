"""Every horizon, on the models that other people published: `python -m reproduction forever FOLDER`.

Every `.pomdp` file under the folder is asked with four experts, every PRISM model with a random controller; each case
in a process of its own, with a limit of time and memory. Rows go to results/forever.jsonl; files stay where they are.
"""

import hashlib
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from certify.errors import UserError
from certify.sources.planning import Planner, random_controller
from certify.sources.pomdp import load_pomdp
from certify.sources.process import load_world
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.beliefs import belief_controller
from certify.stationary.process import Process
from certify.stationary.world import World

Row = dict[str, Any]
ROUNDING = Fraction(1, 1000)  # by which the rows of a file may miss the sum 1
MEMORY = 4 * 2**30
EFFORT = Effort(posteriors=5_000, window=2, horizon=2, steps=2, seconds=1.0)
EXPERTS = ("random controller", "policy graph", "QMDP", "privileged")


def cases(folder: Path) -> list[tuple[Path, str]]:
    """Every file that holds a world, once by content, with the experts to ask; small files and simple experts first."""
    result: list[tuple[Path, str]] = []
    seen: set[str] = set()
    for path in sorted(folder.rglob("*")):
        symbolic = path.suffix in (".templ", ".prism", ".nm") and path.is_file() and "\npomdp" in "\n" + _text(path)
        if not symbolic and path.suffix != ".pomdp":
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest not in seen:
            seen.add(digest)
            result += [(path, expert) for expert in (EXPERTS[:1] if symbolic else EXPERTS)]
    return sorted(result, key=lambda case: (EXPERTS.index(case[1]), case[0].stat().st_size))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def process_of(path: Path, expert: str) -> tuple[Process, Row]:
    """The expert in the world of a file, and what is said of both."""
    if path.suffix != ".pomdp":
        world = load_world(path)
        return world.process(random_controller(world)), {"states": len(world.states)}
    problem = load_pomdp(path, ROUNDING)
    world = World.from_problem(problem)
    row = {"states": len(problem.states), "renormalised_rows": len(problem.renormalised)}
    if expert == "random controller":
        return world.process(random_controller(world)), row
    if expert == "policy graph":
        return world.process(Planner(problem).policy_graph()), row
    if expert == "privileged":
        return world.process(Planner(problem).privileged()), row
    rule = belief_controller(world, Planner(problem).qmdp())
    return world.process(rule.controller), row | {"rule": rule.method, "rule_window": rule.window}


def answer_row(path: Path, expert: str) -> Row:
    """What is required for ever, or why no answer was found."""
    try:
        process, row = process_of(path, expert)
        answer = certify_forever(process, EFFORT)
    except UserError as refusal:
        return {"reason": str(refusal)}
    said = answer.to_dict()
    keys = (
        "regime",
        "certified",
        "nodes",
        "strong_classes",
        "transitive",
        "classes",
        "lower",
        "upper",
        "error",
        "codes",
    )
    frames = {f"frames_{'with' if f['actions'] else 'without'}_actions": f["k"] for f in said["frames"]}
    row |= {"atoms": process.size, **{key: said[key] for key in keys}, **frames}
    return row | ({} if answer.certified else {"reason": _reason(said)})


def _reason(said: Row) -> str:
    if said["error"] != "0":
        return "more posteriors than were followed: a bracket"
    return "the long run is too large for exact numbers" if said["upper"] is None else "the bracket is open"


def limited(work: Callable[[], Row], seconds: int) -> Row:
    """The row of some work in a process of its own; a reason where it takes too much time of a core, or memory."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(work, send, seconds), daemon=True)
    child.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        child.join()
        return {"reason": f"more than {seconds} s" if child.exitcode == -signal.SIGXCPU else "the builder failed"}
    finally:
        child.join()


def _child(work: Callable[[], Row], send: Connection, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    started = time.process_time()
    try:
        row = work()
    except MemoryError:
        row = {"reason": f"more than {MEMORY // 2**30} GB"}
    send.send(row | {"seconds": round(time.process_time() - started, 2)})


def run(folder: Path, seconds: int, done: Iterable[Row] = (), only: str = "") -> Iterable[Row]:
    """One row for each case that has none yet; `seconds` limit each."""
    held = {(row["file"], row["expert"]) for row in done}
    for path, expert in cases(folder):
        name = str(path.relative_to(folder))
        if (name, expert) not in held and only in name:
            row = limited(lambda path=path, expert=expert: answer_row(path, expert), seconds)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            yield {"study": "forever", "file": name, "expert": expert, **row, "file_sha256": digest}
