"""One card: what a task needs, how it was computed, and how to compute it again; or the reason why it has none."""

import re
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from certify import Answer, Model, certify
from certify.core.graph import Graph
from certify.errors import UserError
from certify.stationary.answer import Effort, StationaryAnswer, certify_forever
from certify.stationary.frames import frames
from certify.stationary.observer import model_observer
from certify.stationary.relation import compatibility
from certify.witness import distinguish, history_text, word_text
from diacritic.studies.atlas.entry import Entry

Card = dict[str, Any]
ZERO = 1e-9
LIMIT = 60.0  # seconds of the processor for one task
MOST_HISTORIES, MOST_CLASSES = 40_000, 2_000  # whose frames are compared
LONGEST = 800  # letters of a witness


def card(entry: Entry, seconds: float = 2.0, limit: float = LIMIT) -> Card:
    """One task, or why it has no card; building and certifying it may take `limit` seconds."""
    began = time.perf_counter()
    head = heading(entry)
    try:
        with _alarm(limit):
            made = entry.make()
            body = _finite(certify(made, seconds=seconds)) if isinstance(made, Model) else _endless(made, seconds)
    except Exception as error:  # whatever a package of somebody else raises is the reason in this row
        said = str(error) if isinstance(error, UserError | TooLong) else f"{type(error).__name__}: {error}"
        return head | {"reason": re.sub(r"(?:/[^/\s]+)+/", "", " ".join(said.split())[:300])}
    return head | body | {"seconds": round(time.perf_counter() - began, 2)}


def heading(entry: Entry) -> Card:
    """What a row says of its task, whether there is a card or not."""
    head = {key: getattr(entry, key) for key in ("family", "task", "modified", "expert")}
    return head | {"full_view": entry.full, "memory_task": entry.memory, "command": entry.command}


class TooLong(Exception):
    """A task was broken off; not a TimeoutError, which the searches of the certifier take as their own."""


@contextmanager
def _alarm(limit: float) -> Iterator[None]:
    """Break off after so many seconds of the processor, or ten times as many by the clock; an expert may never end."""

    def ring(number: int, _: Any) -> None:
        busy = number == signal.SIGPROF
        raise TooLong(f"took more than {limit:g} s" if busy else f"waited more than {10 * limit:g} s")

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, limit), (signal.SIGALRM, signal.ITIMER_REAL, 10 * limit))
    before = [signal.signal(number, ring) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def _finite(answer: Answer) -> Card:
    bits, free = [step.upper for step in answer.steps], answer.clock_free
    stacks, distance = _frames(answer.model.graph)
    return {
        "horizon": len(bits),
        "histories": str(answer.steps[-1].histories),
        "bits": _rounded(bits),
        "lower": None if answer.certified else _rounded(step.lower for step in answer.steps),
        "peak": _rounded([max(bits)])[0],
        "mean": _rounded([sum(bits) / len(bits)])[0],
        "certified": answer.certified,
        "a2": answer.a2,
        "clock_free": _rounded([free.lower, free.upper]),
        "states": list(answer.codes_found.brackets["stationary"]),
        "states_with_clock": list(answer.codes_found.brackets["time_indexed"]),
        "needs_memory": max(bits) > ZERO,
        "longest_carry": longest(value > ZERO for value in bits),
        "frames": stacks[0],
        "frames_without_actions": stacks[1],
        "decision_distance": distance,
        "witness": _witness(answer),
        "digest": answer.model.digest,
    }


def _endless(process: Any, seconds: float) -> Card:
    """The same card for a task without a last step; `bits` are those of its first steps."""
    answer = certify_forever(process, Effort(seconds=seconds, posteriors=5_000, window=2, horizon=2, steps=12))
    facts = answer.to_dict()
    low, high = facts["lower"], facts["upper"]
    if high is None:
        raise UserError(answer.name, "the long run is too large for exact numbers")
    bits = [value if isinstance(value, float) else value[1] for value in facts["profile"]]
    clock = facts["bits_with_clock"]
    stacks = {f["actions"]: _stack(f["k"]) for f in facts["frames"]}
    codes = facts["codes"]
    return {
        "horizon": None,
        "histories": str(facts["nodes"]),
        "bits": _rounded(bits),
        "lower": None,
        "peak": _rounded([max([*bits, high])])[0],
        "mean": _rounded([clock if isinstance(clock, float) else clock[1] if clock else high])[0],
        "certified": facts["certified"],
        "a2": facts["a2"],
        "clock_free": _rounded([low or 0.0, high]),
        "states": [codes["low"], codes["high"]] if codes else None,
        "states_with_clock": None,
        "needs_memory": max([*bits, high]) > ZERO,
        "longest_carry": None,
        "frames": stacks.get(True),
        "frames_without_actions": stacks.get(False),
        "decision_distance": facts["lookahead"],
        "witness": _first_conflict(answer),
        "digest": facts["process_sha256"],
    }


def _first_conflict(answer: StationaryAnswer) -> str | None:
    return next((_short(line) for line in answer.witnesses if "kept apart" in line), None)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def _frames(graph: Graph) -> tuple[list[int | None], int | None]:
    """The fewest last observations that fix the law without a clock, with the actions between them and alone; and how
    many steps ahead the decision may lie by which two histories differ.

    None where no stack does, and where histories are too many to compare.
    """
    observer = model_observer(graph)
    relation = compatibility(observer) if observer.size <= MOST_HISTORIES else None
    if relation is None or relation.observer.size > MOST_CLASSES:
        return [None, None], None
    return [_stack(frames(relation.observer, actions).k) for actions in (True, False)], relation.lookahead


def _stack(past: int | None) -> int | None:
    return None if past is None else past + 1


def _witness(answer: Answer) -> str | None:
    """Two histories with one observation that must be kept apart, at the step that needs most, and why."""
    step = max(answer.steps, key=lambda step: step.lower)
    if step.lower <= ZERO:
        return None
    graph, t = answer.model.graph, step.t - 1
    relation, level = answer.relations[t], graph.levels[t]
    for o in np.unique(level.observation):
        nodes = np.flatnonzero(level.observation == o)
        other = next((int(node) for node in nodes[1:] if relation.in_conflict(int(nodes[0]), int(node))), None)
        if other is not None:
            first = int(nodes[0])
            word, one, two = distinguish(graph, answer.relations, t, first, other)
            pair = " and ".join(f"({history_text(graph, t, node)})" for node in (first, other))
            laws = f"{graph.law_text(one)} or {graph.law_text(two)}"
            return _short(f"{pair}: after {word_text(graph, word)} the expert does {laws}, respectively")
    return None


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 6) + 0.0 for value in values]


def longest(flags: Iterable[bool]) -> int:
    """The length of the longest run of true values."""
    best = here = 0
    for flag in flags:
        here = here + 1 if flag else 0
        best = max(best, here)
    return best
