"""`python -m reproduction certificates`: those that the paper reports, against the suite or its stand-ins."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from certify.answer import Answer, certify
from certify.core.model import Model
from certify.errors import UserError
from certify.progress import track
from certify.sources.adapter import to_model
from certify.sources.bridge import Bridge, from_bridge, script
from certify.zoo import build

CHAINS = tuple((bits, delay) for bits in (1, 2, 3) for delay in (10, 30, 100))
MAZES = (10, 20, 50, 100)


@dataclass(frozen=True)
class Row:
    """One certification and what the paper says of it."""

    instance: str
    source: str
    model: Callable[[], Model]
    matches: Callable[[Answer], bool]


def rows(chain: Callable[[int, int], Model], maze: Callable[[int], Model], sources: tuple[str, str]) -> Iterator[Row]:
    """The thirteen benchmark instances, then the two that test the certifier itself."""
    for bits, delay in CHAINS:
        profile = [0, 0, *[bits] * (delay - 2), 1]
        name = f"memory chain b={bits} delay={delay}"
        yield Row(name, sources[0], lambda b=bits, d=delay: chain(b, d), _regular(profile))
    for length in MAZES:
        name = f"Passive T-maze L={length}"
        yield Row(name, sources[1], lambda n=length: maze(n), _regular([0, *[1] * length]))
    yield Row("three histories (no classes)", "zoo", lambda: build("three-histories"), _refuses)
    yield Row("re-reveal (A4 fails)", "zoo", lambda: build("re-reveal-t0"), _falls)


def _regular(profile: list[int]) -> Callable[[Answer], bool]:
    """(A2), (A4) and transitivity hold, the requirement is the profile, and nothing is decided before the end."""

    def matches(answer: Answer) -> bool:
        regular = all(s.a2 and s.a4 and s.transitive for s in answer.steps)
        idle = all(s.instantaneous == 0 for s in answer.steps[:-1])
        return regular and idle and _close([s.rate for s in answer.steps], profile)

    return matches


def _refuses(answer: Answer) -> bool:
    """No classes at the middle step, and 0 ≤ 0.918 ≤ log2 3 there."""
    step = answer.steps[1]
    bracket = _close([step.instantaneous, step.rate, step.strong], [0, 0.9182958340544896, 1.584962500721156])
    return bracket and not step.transitive and not step.a4 and step.classes is None


def _falls(answer: Answer) -> bool:
    """The requirement falls from 2 to 1 to 0 while the strong classes stay at 2; transitive although (A4) fails."""
    inner = answer.steps[1:4]
    regular = all(s.transitive for s in answer.steps) and not all(s.a4 for s in answer.steps)
    return regular and _close([s.rate for s in inner], [2, 1, 0]) and _close([s.strong for s in inner], [2, 2, 2])


def _close(values: list[float | None], expected: list[int] | list[float]) -> bool:
    pairs = zip(values, expected, strict=True)
    return len(values) == len(expected) and all(v is not None and abs(v - e) < 1e-12 for v, e in pairs)


def print_certificates(checkout: Path | None) -> int:
    """Certify every row and print the table; 1 if one does not match the paper."""
    began = time.perf_counter()
    with ExitStack() as stack:
        if checkout is None:
            from certify.sources.dm import memory_chain

            def chain(bits: int, delay: int) -> Model:
                return to_model(memory_chain(bits, delay))

            def maze(length: int) -> Model:
                return build("passive-t-maze", L=length)

            sources = ("bsuite", "zoo")
        else:
            if not Path(checkout, "mikasa_base").is_dir():
                raise UserError("--mikasa", f"{checkout} has no folder mikasa_base; give a checkout of MIKASA-Base")
            worker = script(str(Path(__file__).with_name("mikasa_worker.py")), str(checkout))
            bridge = stack.enter_context(Bridge(worker))

            def chain(bits: int, delay: int) -> Model:
                return to_model(from_bridge(bridge, task="memory-chain", bits=bits, delay=delay))

            def maze(length: int) -> Model:
                return to_model(from_bridge(bridge, task="passive-t-maze", length=length))

            sources = ("MIKASA-Base", "MIKASA-Base")
        table = [_line(row) for row in track(list(rows(chain, maze, sources)), "certifying")]
    heads = ("instance", "source", "A2", "A4", "transitive", "requirement", "matches the paper")
    widths = [max(len(line[k]) for line in [heads, *table]) for k in range(len(heads))]
    for line in [heads, *table]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    good = sum(line[-1] == "yes" for line in table)
    print(f"{good} of {len(table)} match, in {time.perf_counter() - began:.1f} s")
    return 0 if good == len(table) else 1


def _line(row: Row) -> tuple[str, ...]:
    answer = certify(row.model())
    flags = ["yes" if all(getattr(s, name) for s in answer.steps) else "no" for name in ("a2", "a4", "transitive")]
    return row.instance, row.source, *flags, profile_text(answer), "yes" if row.matches(answer) else "NO"


def profile_text(answer: Answer) -> str:
    """Requirements with runs written once: ``0 x2, 3 x98, 1``."""
    runs: list[tuple[str, int]] = []
    for step in answer.steps:
        text = f"{step.upper:.3f}".rstrip("0").rstrip(".") if step.rate is not None else f"≤{step.upper:.3f}"
        runs = [*runs[:-1], (text, runs[-1][1] + 1)] if runs and runs[-1][0] == text else [*runs, (text, 1)]
    return ", ".join(text if count == 1 else f"{text} x{count}" for text, count in runs)
