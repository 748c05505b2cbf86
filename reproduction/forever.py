"""Every horizon, on the models that other people published: `python -m reproduction forever FOLDER`.

Every `.pomdp` file under the folder is asked with four experts, every PRISM model with a random controller; each case
in a process of its own, with a limit of time and memory. Rows go to results/forever.jsonl; files stay where they are.
"""

import hashlib
import multiprocessing
import multiprocessing.connection
import re
import resource
import signal
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from certify.errors import UserError
from certify.sources.planning import Planner
from certify.sources.pomdp import load_pomdp
from certify.sources.process import load_world
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.beliefs import belief_controller
from certify.stationary.process import Process
from certify.stationary.world import World
from reproduction.random_controllers import random_controller

Row = dict[str, Any]
ROUNDING, ROUNDED = Fraction(1, 4), Fraction(1, 1000)  # by which rows of a file may miss the sum 1, and by rounding
MEMORY = 4 * 2**30
EFFORT = Effort(posteriors=20_000, window=3, horizon=2, steps=2, seconds=1.0)
CONSTANTS = {"N": "4", "R": "1", "RADIUS": "2", "ENERGY": "3", "sl": "1/10", "K": "2", "T": "4"}  # where left open
EXPERTS = ("random controller", "policy graph", "QMDP", "privileged")


def cases(folder: Path) -> list[tuple[Path, str]]:
    """Every file that holds a world, once by content, with the experts to ask; small files and simple experts first."""
    result: list[tuple[Path, str]] = []
    seen: set[str] = set()
    for path in sorted(folder.rglob("*")):
        symbolic = path.suffix in (".drn", ".templ", ".prism", ".nm") and path.is_file() and _is_pomdp(_text(path))
        if not symbolic and path.suffix != ".pomdp":
            continue
        content = _text(path) if symbolic else _content(path)
        if content not in seen:
            seen.add(content)
            result += [(path, expert) for expert in (EXPERTS[:1] if symbolic else EXPERTS)]
    return sorted(result, key=lambda case: (EXPERTS.index(case[1]), case[0].stat().st_size))


def _is_pomdp(text: str) -> bool:
    return re.search(r"^(pomdp|@type: POMDP)\b", text, re.MULTILINE) is not None


def _content(path: Path) -> str:
    """A digest of what a `.pomdp` file states, whatever it looks like; of the file itself where it is not read."""
    try:
        problem = load_pomdp(path, ROUNDING)
    except UserError:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    rewards = [(pattern, value) for pattern, (_, value) in problem.rewards.entries.items()]
    stated = (problem.start, problem.transitions, problem.emissions, problem.ends, rewards)
    return hashlib.sha256(repr(stated).encode()).hexdigest()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def process_of(path: Path, expert: str) -> tuple[Process, Row]:
    """The expert in the world of a file, and what is said of both."""
    if path.suffix != ".pomdp":
        names = re.findall(r"^\s*const\s+(?:\w+\s+)?(\w+)\s*;", _text(path), re.MULTILINE)
        constants = ",".join(f"{name}={CONSTANTS[name]}" for name in names if name in CONSTANTS)
        world = load_world(path, constants)
        row = {"states": len(world.states), **({"constants": constants} if constants else {})}
        return world.process(random_controller(world)), row
    problem = load_pomdp(path, ROUNDING)
    world = World.from_problem(problem)
    row = {"states": len(problem.states), "renormalised_rows": len(problem.renormalised)}
    if repaired := len(problem.renormalised) and _repaired(path):
        row["repaired_rows"] = repaired
    if expert == "random controller":
        return world.process(random_controller(world)), row
    if expert == "policy graph":
        return world.process(Planner(problem).policy_graph()), row
    if expert == "privileged":
        return world.process(Planner(problem).privileged()), row
    rule = belief_controller(world, Planner(problem).qmdp())
    return world.process(rule.controller), row | {"rule": rule.method, "rule_window": rule.window}


def _repaired(path: Path) -> int:
    """Rows whose sum is further from 1 than rounding can explain; 0 where the file is read without them."""
    try:
        load_pomdp(path, ROUNDED)
    except UserError:
        return len(load_pomdp(path, ROUNDING).renormalised)
    return 0


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


class Limited:
    """Some work in a process of its own; its row has a reason where it takes too much time of a core, or memory."""

    def __init__(self, work: Callable[[], Row], seconds: int) -> None:
        context = multiprocessing.get_context("fork")
        self.seconds = seconds
        self.receive, send = context.Pipe(duplex=False)
        self.child = context.Process(target=_child, args=(work, send, seconds), daemon=True)
        self.child.start()
        send.close()

    def row(self) -> Row:
        try:
            return self.receive.recv()
        except EOFError:
            self.child.join()
            late = self.child.exitcode == -signal.SIGXCPU
            return {"reason": f"more than {self.seconds} s" if late else "the builder failed"}
        finally:
            self.child.join()


def _child(work: Callable[[], Row], send: Connection, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    started = time.process_time()
    try:
        row = work()
    except MemoryError:
        row = {"reason": f"more than {MEMORY // 2**30} GB"}
    send.send(row | {"seconds": round(time.process_time() - started, 2)})


def run(folder: Path, seconds: int, done: Iterable[Row] = (), only: str = "", jobs: int = 1) -> Iterable[Row]:
    """One row for each case that has none yet, as they come; `seconds` limit each, `jobs` run side by side."""
    held = {(row["file"], row["expert"]) for row in done}
    waiting = [case for case in cases(folder) if only in case[0].name and (_name(folder, case), case[1]) not in held]
    running: dict[Connection, tuple[tuple[Path, str], Limited]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            case = waiting.pop(0)
            child = Limited(partial(answer_row, *case), seconds)
            running[child.receive] = case, child
        for ready in multiprocessing.connection.wait(list(running)):
            assert isinstance(ready, Connection), "only pipes are waited for"
            case, child = running.pop(ready)
            digest = hashlib.sha256(case[0].read_bytes()).hexdigest()
            row = {"study": "forever", "file": _name(folder, case), "expert": case[1]}
            yield {**row, **child.row(), "file_sha256": digest}


def _name(folder: Path, case: tuple[Path, str]) -> str:
    return str(case[0].relative_to(folder))
