"""How fast the certifier is: against the literal twin of the tests, on a million histories, and on the zoo.

Run with ``make bench``; with names of functions below, such as ``on_disk``, those alone. Every claim prints its target
beside what was measured in this run.
"""

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

# this file has the package's name, so its folder must not be searched; the literal twin lives with the tests
sys.path[:] = [str(Path(__file__).parents[1] / "tests"), *(p for p in sys.path if Path(p) != Path(__file__).parent)]

from certify import Model, certify  # noqa: E402
from certify.core.relations import compatibility, strong_classes  # noqa: E402
from certify.zoo import build, instances  # noqa: E402

Arrays = tuple[np.ndarray, np.ndarray]
R = TypeVar("R")


def few_classes(n: int, horizon: int = 10) -> Arrays:
    """An id is shown once; after a wait the expert acts on its last two bits: four classes."""
    observations, actions = np.full((n, horizon), n), np.zeros((n, horizon), np.int64)
    observations[:, 0] = np.arange(n)
    actions[:, -1] = 1 + np.arange(n) % 4
    return observations, actions


def many_strong_classes(n: int, horizon: int = 10) -> Arrays:
    """An id is shown, hidden and shown again: n strong classes, (A4) fails, nothing needs to be carried."""
    observations, actions = few_classes(n, horizon)
    observations[:, -1] = np.arange(n)
    return observations, actions


def many_pairs(n: int) -> Arrays:
    """A world and a bit are shown, the world comes back, the bit is asked for: n/2 conflicts, no classes."""
    world, bit = np.arange(n) // 2, np.arange(n) % 2
    observations = np.stack([np.arange(n), np.full(n, n), n + 1 + world], axis=1)
    return observations, np.stack([np.zeros(n, np.int64), np.zeros(n, np.int64), 1 + bit], axis=1)


def finer_ids(n: int, horizon: int = 10) -> Arrays:
    """More and more of an id is shown, and its last bit is asked for: every fiber of every step is without classes."""
    observations, actions = few_classes(n, horizon)
    for t in range(1, horizon):
        observations[:, t] = n + (np.arange(n) >> (horizon - t))
    actions[:, -1] = 1 + np.arange(n) % 2
    return observations, actions


def measured(make: Callable[[int], Arrays], n: int) -> tuple[float, float, float, bool]:
    """Seconds from arrays to answer, peak memory in GB, bits at step 2, all certified or not; in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (make, n))


def _measure(make: Callable[[int], Arrays], n: int) -> tuple[float, float, float, bool]:
    arrays = make(n)
    began = time.perf_counter()
    answer = certify(Model.from_arrays(*arrays))
    seconds = time.perf_counter() - began
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, answer.steps[1].upper, answer.certified


def against_the_twin(n: int = 2000, horizon: int = 4) -> None:
    from certify_twin import Twin

    model = Model.from_arrays(*few_classes(n, horizon))
    twin = Twin(json.loads(model.to_json()))
    slow = _timed(lambda: (twin.compatible, twin.strong))[0]
    fast = min(_timed(lambda: (compatibility(model.graph), strong_classes(model.graph)))[0] for _ in range(3))
    print(f"literal twin, {n} histories per level: {slow:.2f} s; solver {fast * 1000:.1f} ms")
    print(f"  ratio {slow / fast:,.0f} (target 500)")


def building() -> None:
    """Models from callables against the literal way, in this process: a PIN, a random walk, a two-armed bandit."""
    import building_twin

    from certify.sources.adapter import Adapter, to_model

    def pin(code: str, actions: tuple[str, ...]) -> tuple[str, str]:
        t = len(actions)
        return (code[t], "wait") if t < 5 else ("ask", code[t - 5])

    def walk(start: int, actions: tuple[str, ...]) -> tuple[str, dict[str, str]]:
        return str(start), {"left": "1/2", "right": "1/2"}

    codes = [f"{k:05d}" for k in range(5000)]
    env = _Pin()
    steps = _Walk()
    walks = Adapter("walk", 12, [0, 1], steps.reset, steps.step, lambda h, past: {"left": "1/2", "right": "1/2"})
    task = Adapter("pin", 10, codes, env.reset, env.step, lambda h, past: pin(h, past[1::2])[1])
    half = Fraction(1, 2)
    chances = (Fraction(1, 4), Fraction(3, 4))
    bandit = (
        20,
        {(p, q, "start"): half * half for p in chances for q in chances},
        lambda t, s: s[2],
        lambda t, s: {"0": half, "1": half},
        lambda t, s, a: {(*s[:2], "win"): s[int(a)], (*s[:2], "lose"): 1 - s[int(a)]},
    )
    even = {code: Fraction(1, len(codes)) for code in codes}
    cases: list[tuple[str, Callable[[], Model], Callable[[], Model]]] = [
        ("from_latents, 5,000 PINs", *_both(Model.from_latents, building_twin.from_latents, 10, even, pin)),
        (
            "from_latents, 2^13 walks",
            *_both(Model.from_latents, building_twin.from_latents, 12, {0: half, 1: half}, walk),
        ),
        ("to_model, 2^13 walks", *_both(to_model, building_twin.to_model, walks)),
        ("to_model, 5,000 PINs", *_both(to_model, building_twin.to_model, task)),
        ("from_generative, bandit", *_both(Model.from_generative, building_twin.from_generative, *bandit)),
    ]
    for name, fast, slow in cases:
        quick, literal = (min(_processor(work) for _ in range(times)) for work, times in ((fast, 7), (slow, 3)))
        print(f"{name}: {quick:.3f} s, literally {literal:.2f} s, ratio {literal / quick:.1f} (target 10)")


class _Pin:
    """Five digits are shown, then asked for."""

    def reset(self, code: str) -> str:
        self.code, self.t = code, 0
        return code[0]

    def step(self, action: str) -> tuple[str, bool]:
        self.t += 1
        return self.code[self.t] if self.t < 5 else "ask", False


class _Walk:
    """A walk from a hidden start, shown as it goes."""

    def reset(self, start: int) -> int:
        self.at = start
        return start

    def step(self, action: str) -> tuple[int, bool]:
        self.at += 1 if action == "right" else -1
        return self.at, False


def _both(
    fast: Callable[..., Model], slow: Callable[..., Model], *parts: Any
) -> tuple[Callable[[], Model], Callable[[], Model]]:
    return (lambda: fast(*parts)), (lambda: slow(*parts))


def large_models() -> None:
    for make in (few_classes, many_strong_classes):
        small, large = (min(measured(make, n) for _ in range(2)) for n in (10**5, 10**6))
        print(
            f"{make.__name__}: 10^6 histories x 10 levels: {large[0]:.1f} s (target 10), {large[1]:.1f} GB (target 4), "
            f"growth from 10^5 {large[0] / small[0]:.1f}x (target 12), certified {large[3]}"
        )
    seconds, _, bits, certified = measured(finer_ids, 10**5)
    print(f"finer_ids: 10^5 histories x 10 levels, no classes: {seconds:.1f} s, certified {certified}, {bits:.2f} bits")
    seconds, _, bits, certified = measured(many_pairs, 10**5)
    print(f"many_pairs: 10^5 histories, past the pair limit: {seconds:.1f} s, certified {certified}, upper {bits:.2f}")


def on_disk(n: int = int(os.environ.get("HISTORIES", 10**7))) -> None:
    """Ten levels of 10⁷ histories that lie on disk; a tenth of them also in memory, for the same rates."""
    for make in (few_classes, many_strong_classes):
        seconds, memory, rates, nodes = _measure_on_disk(make, n)
        fewer = _measure_on_disk(make, n // 10)[2]
        same = fewer == [step.upper for step in certify(Model.from_arrays(*make(n // 10))).steps]
        print(
            f"{make.__name__} on disk: {n:,} histories x 10 levels, {nodes:,} nodes when merged: {seconds:.1f} s "
            f"(target 90), {memory:.1f} GB (target 6), at most {max(rates):.2f} bits; "
            f"{n // 10:,} histories as in memory: {same}",
            flush=True,
        )


def _measure_on_disk(make: Callable[[int], Arrays], n: int) -> tuple[float, float, list[float], int]:
    """Seconds from files to answer, peak memory in GB, the rates, and the nodes of the merged graph."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("observations.npy", "actions.npy")]
        for path, array in zip(paths, make(n), strict=True):
            file = np.lib.format.open_memmap(path, "w+", np.int32, array.shape, fortran_order=True)
            for t in range(array.shape[1]):
                file[:, t] = array[:, t]
            file.flush()
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(_certify_files, (paths, folder))


def _certify_files(paths: list[Path], folder: str) -> tuple[float, float, list[float], int]:
    began = time.perf_counter()
    model = Model.from_arrays(*(np.load(path, mmap_mode="r") for path in paths), folder=folder)
    rates = [step.upper for step in certify(model).steps]
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, memory, rates, sum(level.size for level in model.graph.levels)


def soft_experts(count: int = 10_000) -> None:
    """10⁴ histories at every step. Laws on a line, a few of which one state may stand for: log₂ 10 bits within 0.05.
    And a bit that matters beside a nuisance that moves the law by 1.5 %: one bit within 0.02."""
    from certify.tolerance import within

    def line(latent: int) -> Fraction:
        return Fraction(latent, count)

    def nuisance(latent: int) -> Fraction:
        return Fraction(1 + 2 * (latent % 2), 4) + Fraction(15, 1000) * Fraction(latent, count)

    for name, left, tolerance in (("line", line, "0.05"), ("nuisance", nuisance, "0.02")):

        def step(latent: int, actions: tuple[str, ...], left: Any = left) -> tuple[str, str | dict[str, Fraction]]:
            law = {"left": left(latent), "right": 1 - left(latent)}
            return ("fork", law) if len(actions) == 4 else (f"cue {latent * (not actions)}", "wait")

        model = Model.from_latents(5, dict.fromkeys(range(1, count + 1), Fraction(1, count)), step)
        for divergence in ("tv", "kl"):
            seconds, answer = _timed(lambda d=divergence, m=model, e=tolerance: within(m, e, d))
            low, high = answer.steps[-1].lower, answer.steps[-1].upper
            print(
                f"soft expert, {name} ({divergence}), {count:,} histories x 5 levels: {seconds:.1f} s (target 5), "
                f"[{low:.2f}, {high:.2f}] bits"
            )


def json_reading(n: int = 20_000) -> None:
    model = Model.from_arrays(*few_classes(n))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(model.to_json())
        parse = _timed(lambda: json.loads(path.read_text()))[0]
        seconds = _timed(lambda: Model.load(path))[0]
        size = path.stat().st_size / 2**20
    print(f"reading {n} episodes x 10 steps ({size:.0f} MB): {seconds:.2f} s, {seconds / parse:.1f}x json.loads alone")


def the_zoo() -> None:
    cases = [(item.name, {}) for item in instances()]
    cases += [("signpost-corridor", {"W": w}) for w in (3, 13)] + [("cue-corridor", {"L": 80, "R": 4})]
    cases += [("memory-chain", {"bits": 3, "delay": 100}), ("running-parity", {"horizon": 1000})]
    for name, parameters in cases:
        seconds, answer = _timed(lambda name=name, parameters=parameters: certify(build(name, **parameters)))
        print(f"{answer.name}: {seconds:.3f} s, certified {answer.certified}")


def _processor(work: Callable[[], object]) -> float:
    """Seconds of processor time, which other programs do not lengthen."""
    began = time.process_time()
    work()
    return time.process_time() - began


def _timed(work: Callable[[], R]) -> tuple[float, R]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


if __name__ == "__main__":
    every = (the_zoo, building, soft_experts, json_reading, large_models, on_disk, against_the_twin)
    for part in every:
        if not sys.argv[1:] or part.__name__ in sys.argv[1:]:
            part()
