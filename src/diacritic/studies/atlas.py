"""The atlas: tasks that people use, each with a card of the memory it needs. Rows are kept, so that a run can go on.

A card holds bits per step, the peak, bits without a clock, codes, the smallest frame stack that suffices, how long
something is carried, and the command that makes it again; a task that cannot be certified is listed with the reason.
"""

import json
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from certify import Answer, Model, certify
from certify.core.exact import pair, rank
from certify.core.graph import Graph
from certify.errors import UserError
from certify.progress import working
from certify.sources import cards, dm
from certify.sources.adapter import to_model
from certify.sources.minigrid import from_minigrid, ids
from certify.sources.pomdp import classic, classics
from certify.zoo import build
from diacritic.files.atomic import read_text, write_text

Card = dict[str, Any]
ZERO = 1e-9


@dataclass(frozen=True)
class Entry:
    """A task of a family; `full` marks the twin that shows everything, which must need no memory."""

    family: str
    task: str
    make: Callable[[], Model]
    modified: str = ""
    full: bool = False


def families() -> dict[str, Callable[[], Iterator[Entry]]]:
    """Every family by name; its entries are listed when they are asked for."""
    return {"zoo": _zoo, "bsuite": _bsuite, "popgym": _popgym, "pomdp": _pomdp, "minigrid": _minigrid}


def _zoo() -> Iterator[Entry]:
    grids: dict[str, dict[str, Iterable[int]]] = {
        "gap": {"gap1": (1, 3), "gap2": (1, 3), "R1": (2, 4)},
        "re-reveal": {"gap1": (1, 3), "gap2": (1, 3)},
        "memory-chain": {"bits": (1, 2, 3), "delay": (2, 10, 40)},
        "passive-t-maze": {"L": (3, 10, 40)},
        "cue-corridor": {"L": (4, 16), "R": (2, 4)},
        "signpost-corridor": {"W": (1, 3, 5)},
        "running-parity": {"horizon": (5, 20)},
    }
    for name, grid in grids.items():
        for values in product(*grid.values()):
            given = dict(zip(grid, values, strict=True))
            label = " ".join([name, *(f"{key}={value}" for key, value in given.items())])
            yield Entry("zoo", label, lambda name=name, given=given: build(name, **given))
    for name in ("lost-cue", "mass-sketch", "modulo-counter", "reveal", "re-reveal-t0", "three-histories"):
        yield Entry("zoo", name, lambda name=name: build(name))


def _bsuite() -> Iterator[Entry]:
    for bits, delay in product((1, 2, 3), (1, 5, 20)):
        name = f"memory_chain bits={bits} delay={delay}"
        yield Entry("bsuite", name, lambda b=bits, d=delay: to_model(dm.memory_chain(b, d)))
    for length in (5, 20):
        yield Entry("bsuite", f"umbrella_chain length={length}", lambda n=length: dm.umbrella_model(n))
    yield Entry("bsuite", "discounting_chain", lambda: to_model(dm.discounting_chain()))


def _popgym() -> Iterator[Entry]:
    games = [(cards.repeat_first, {"horizon": t}) for t in (4, 13)]
    games += [(cards.repeat_previous, {"k": k, "horizon": 8}) for k in (2, 3, 4)]
    games += [(cards.count_recall, {"horizon": t}) for t in (4, 6)]
    games += [(cards.autoencode, {"cards": n}) for n in (4, 8)]
    games += [(cards.higher_lower, {"ranks": r, "horizon": 6}) for r in (2, 3)]
    for make, given in games:
        game = make(**given)
        yield Entry("popgym", " ".join([game.name, *(f"{k}={v}" for k, v in given.items())]), game.model, game.modified)


def _pomdp() -> Iterator[Entry]:
    for name, horizon in product(classics(), (2, 4)):
        yield Entry("pomdp", f"{name}, best policy for {horizon} actions", lambda n=name, h=horizon: _planned(n, h))


def _planned(name: str, horizon: int) -> Model:
    problem = classic(name)
    return problem.model(problem.optimal(horizon), horizon)


def _minigrid(horizon: int = 24) -> Iterator[Entry]:
    for name in ids():
        layouts = 64 if "Memory" in name else 8  # as many as it takes to see the same place with another object
        for full in (False, True) if name.startswith("MiniGrid-") else (False,):
            label = name + " (full view)" * full
            modified = f"{layouts} layouts, first {horizon} steps"
            make = lambda n=name, k=layouts, f=full: to_model(from_minigrid(n, k, horizon, f))  # noqa: E731
            yield Entry("minigrid", label, make, modified, full)


def run(names: Iterable[str], out: Path, limit: int | None = None, seconds: float = 2.0) -> list[Card]:
    """Certify what is not yet in the file, and write it after every task."""
    kept = {(card["family"], card["task"]): card for card in load(out)}
    known = families()
    for name in names:
        if name not in known:
            raise UserError(name, f"no family is called so; there are {', '.join(known)}")
    entries = [entry for name in names for entry in known[name]()]
    left = [entry for entry in entries if (entry.family, entry.task) not in kept][:limit]
    out.parent.mkdir(parents=True, exist_ok=True)
    with working("atlas") as say:
        for k, entry in enumerate(left):
            say(f"{k} of {len(left)}, {entry.task}")
            kept[entry.family, entry.task] = card(entry, seconds)
            cards_ = [kept[key] for key in sorted(kept)]
            write_text(out, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in cards_))
    return [kept[key] for key in sorted(kept)]


def load(path: Path) -> list[Card]:
    """The cards of a file; none if there is no file."""
    text = read_text(path, "delete it to begin again") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def card(entry: Entry, seconds: float = 2.0, limit: float = 60.0) -> Card:
    """One task, or why it has no card; building and certifying it may take `limit` seconds."""
    began = time.perf_counter()
    head: Card = {"family": entry.family, "task": entry.task, "modified": entry.modified, "full_view": entry.full}
    head["command"] = f"diacritic atlas {entry.family}"
    try:
        with _alarm(limit):
            body = _facts(certify(entry.make(), seconds=seconds))
    except Exception as error:  # whatever a package of somebody else raises is the reason in this row
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        return head | {"reason": re.sub(r"(?:/[^/\s]+)+/", "", said)}  # files by their names, wherever they are here
    return head | body | {"seconds": round(time.perf_counter() - began, 2)}


class TooLong(Exception):
    """A task was broken off; not a TimeoutError, which the searches of the certifier take as their own."""


@contextmanager
def _alarm(limit: float) -> Iterator[None]:
    """Break off after so many seconds; the expert of somebody else may never end."""

    def ring(*_: Any) -> None:
        raise TooLong(f"took more than {limit:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _facts(answer: Answer) -> Card:
    bits = [step.upper for step in answer.steps]
    free = answer.clock_free
    return {
        "horizon": len(bits),
        "histories": str(answer.steps[-1].histories),
        "bits": [round(value, 6) + 0.0 for value in bits],
        "peak": round(max(bits), 6) + 0.0,
        "mean": round(sum(bits) / len(bits), 6) + 0.0,
        "certified": answer.certified,
        "lower": [round(step.lower, 6) + 0.0 for step in answer.steps] if not answer.certified else None,
        "a2": answer.a2,
        "clock_free": [round(free.lower, 6) + 0.0, round(free.upper, 6) + 0.0],
        "codes": answer.codes_found.brackets,
        "needs_memory": max(bits) > ZERO,
        "longest_carry": longest(value > ZERO for value in bits),
        "frames": frame_stack(answer.model.graph),
        "digest": answer.model.digest,
    }


def page(found: list[Card]) -> str:
    """The cards as Markdown: what they say together, the surprises, and every task."""
    certified = [card for card in found if "reason" not in card]
    named = [card for card in certified if "memory" in card["task"].lower() and not card["full_view"]]
    twins = [card for card in certified if card["full_view"]]
    free = [card for card in certified if not card["needs_memory"] and not card["full_view"]]
    lines = [
        "# Atlas",
        "",
        f"{len(certified)} tasks of {len({card['family'] for card in certified})} families, certified one by one by",
        "`diacritic atlas`; the rows are in `results/atlas/atlas.jsonl`. Bits are those of the experts that families",
        "come with, in the layouts and steps that a row names. *Without a clock* are the least bits of one update for",
        "all steps, at a random step; *frames* the fewest last observations that determine what the expert does.",
        "",
        f"- {len(free)} of {len(certified) - len(twins)} need no memory with a clock, and "
        f"{sum(card['clock_free'][1] <= ZERO for card in free)} of these none without one either.",
        f"- {sum(not card['needs_memory'] for card in twins)} of {len(twins)} twins in full view need none.",
        f"- Called memory tasks, need none: {_listed(card for card in named if not card['needs_memory'])}.",
        "",
        "| family | task | steps | peak bits | mean | without a clock | codes | frames | note |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    lines += [_line(card) for card in certified]
    lines += ["", "## Without a card", "", "| family | task | reason |", "|---|---|---|"]
    lines += [f"| {card['family']} | {card['task']} | {card['reason']} |" for card in found if "reason" in card]
    return "\n".join(lines) + "\n"


def _listed(found: Iterable[Card]) -> str:
    return ", ".join(card["task"] for card in found) or "none"


def _line(card: Card) -> str:
    low, high = card["clock_free"]
    free = f"{high:.3f}" if high - low < 1e-6 else f"{low:.3f}–{high:.3f}"
    fewest, most = card["codes"]["stationary"]
    codes = str(fewest) if fewest == most else f"{fewest}–{most}"
    notes = [
        card["modified"],
        "" if card["a2"] else "the expert knows more than is seen",
        "" if card["certified"] else "bracket",
    ]
    shown = [
        card["family"],
        card["task"],
        str(card["horizon"]),
        f"{card['peak']:.3f}",
        f"{card['mean']:.3f}",
        free,
        codes,
    ]
    return f"| {' | '.join([*shown, str(card['frames'] or '–'), '; '.join(filter(None, notes))])} |"


def longest(flags: Iterable[bool]) -> int:
    """The length of the longest run of true values."""
    best = here = 0
    for flag in flags:
        here = here + 1 if flag else 0
        best = max(best, here)
    return best


def frame_stack(graph: Graph) -> int | None:
    """The fewest last observations, with the actions between them, that determine the law at every step.

    None for merged graphs, whose nodes have several pasts, and where even the whole history does not.
    """
    if any((level.paths != 1).any() for level in graph.levels):
        return None
    sizes = [level.size for level in graph.levels]
    starts = np.cumsum([0, *sizes])
    parent = np.concatenate([level.parent + (starts[t - 1] if t else 0) for t, level in enumerate(graph.levels)])
    arrival = np.concatenate([level.arrival + 1 if t else level.arrival * 0 for t, level in enumerate(graph.levels)])
    observation, law = (np.concatenate([getattr(x, name) for x in graph.levels]) for name in ("observation", "law"))
    window = rank(observation)[0]
    for frames in range(1, graph.horizon + 1):
        if rank(pair(window, law))[1] == rank(window)[1]:
            return frames
        before = np.where(np.arange(len(window)) < sizes[0], 0, window[parent] + 1)
        window = rank(pair(pair(rank(observation)[0], arrival), before))[0]
    return None
