"""How far the general case reaches: the corridor certified and checked, and exact colourings of random conflict graphs.

Run with ``make bench``. Writes the growth curves to out/general.png.
"""

import random
import statistics
import sys
import time
from pathlib import Path

from matplotlib.figure import Figure

# certify.py beside this file has the package's name, so this folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]

from certify import certify, check  # noqa: E402
from certify.certificate import certificate_json  # noqa: E402
from certify.core.colouring import Limits, minimum_entropy  # noqa: E402
from certify.zoo import build  # noqa: E402

DRIFTS = (3, 5, 7, 9, 11, 13)
DENSITIES = (0.2, 0.5, 0.8)
SIZES = (10, 20, 30, 40, 45)
GRAPHS = 5


def corridor() -> list[float]:
    """Certify and check every corridor of the paper."""
    spent: list[float] = []
    for drift in DRIFTS:
        began = time.perf_counter()
        answer = certify(build("signpost-corridor", W=drift))
        check.check(certificate_json(answer), answer.model.to_json())
        spent.append(time.perf_counter() - began)
        assert answer.certified
        assert answer.simultaneous
    print(
        f"corridor W = 3…13 certified and checked in {sum(spent):.1f} s together (target 60; the paper's exact search"
    )
    print("did not end within 25 minutes at W = 3)")
    return spent


def random_graph(size: int, density: float, seed: int) -> tuple[list[int], list[int]]:
    rng = random.Random(seed)
    conflicts = [0] * size
    for i in range(size):
        for j in range(i):
            if rng.random() < density:
                conflicts[i] |= 1 << j
                conflicts[j] |= 1 << i
    return [rng.randint(1, 1000) for _ in range(size)], conflicts


def colourings() -> dict[float, list[float]]:
    """Median seconds per size for each density, with the widest bracket that was left."""
    curves: dict[float, list[float]] = {}
    for density in DENSITIES:
        for size in SIZES:
            seconds, width, exact = [], 0.0, 0
            for seed in range(GRAPHS):
                weights, conflicts = random_graph(size, density, seed)
                began = time.perf_counter()
                colouring = minimum_entropy(weights, conflicts, Limits(seconds=10.0))
                seconds.append(time.perf_counter() - began)
                exact += colouring.optimal
                width = max(width, 0.0 if colouring.optimal else colouring.upper.bits - colouring.lower.bits)
            curves.setdefault(density, []).append(statistics.median(seconds))
            print(
                f"conflict density {density}, {size} vertices: median {curves[density][-1]:.2f} s, "
                f"exact {exact}/{GRAPHS}, widest bracket {width:.4f} bit"
            )
    return curves


def picture(curves: dict[float, list[float]], spent: list[float], path: Path) -> None:
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (density, seconds), colour in zip(curves.items(), ("#0072b2", "#e69f00", "#009e73"), strict=True):
        left.plot(SIZES, seconds, "o-", color=colour, label=f"density {density}")
    left.set(
        xlabel="vertices of a fiber", ylabel="seconds (median)", yscale="log", title="exact minimum-entropy colouring"
    )
    left.legend(frameon=False)
    right.plot(DRIFTS, spent, "o-", color="#0072b2")
    right.set(xlabel="drifts W", ylabel="seconds", title="corridor, certified and checked", ylim=(0, None))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    spent = corridor()
    picture(colourings(), spent, Path("out/general.png"))
