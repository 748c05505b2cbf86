"""How fast recurrent memories train on a GPU, by kernels and by the loop over steps.

Run as ``python benchmarks/memories.py``. For every memory, and for few long and many short episodes, whole episodes are
first followed both ways, and by the loop in float64, of which neither way may be much further than the other; then an
update (forward and backward) of each is captured as a CUDA graph and timed. Instead of a loop, memories whose state
enters linearly have the scan by doubling. One line each is printed, and the results are written as they grow. Without a
GPU the sizes are tiny, and kernels run in Triton's interpreter where ``TRITON_INTERPRET=1`` asks for it.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

# certify.py beside this file has the package's name, so this folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]

from diacritic.files.atomic import write_text  # noqa: E402
from diacritic.memory.kinds import memory_of  # noqa: E402
from diacritic.memory.protocol import Flow, Inputs  # noqa: E402
from diacritic.memory.shape import Architecture, Shape  # noqa: E402
from diacritic.training.captured import captured  # noqa: E402
from diacritic.training.randomness import initial  # noqa: E402

MEMORIES = {
    "bistable": Architecture(memory="bistable", state_size=256),
    "GRU": Architecture(memory="gru", state_size=256),
    "chrono GRU": Architecture(memory="gru-chrono", state_size=256),
    "FSQ": Architecture(memory="fsq", width=64),
    "LFQ": Architecture(memory="lfq", width=64),
    "GRU code": Architecture(memory="gru-code"),
    "registers": Architecture(memory="registers"),
    "LRU": Architecture(memory="lru", state_size=64),
    "S5": Architecture(memory="s5", state_size=256),
    "minGRU": Architecture(memory="min-gru", state_size=256),
    "selective": Architecture(memory="selective", state_size=128),
}
CASES = {"long": (8, 8, 1000), "arm": (8, 304, 47)}
"""Runs, episodes and steps."""
QUICK = {"long": (2, 2, 5), "arm": (2, 3, 2)}
CHOOSING = ("bistable", "code_kinds", "gru", "registers", "vector")
"""Modules of memories that ask whether there are kernels."""
WORSE = 2.0
"""How many times the error of the loop that of the kernels may be, both against the loop in float64."""
ROUNDED = 1e-5
"""A relative error that fp32 may always have."""
Results = tuple[Tensor, Tensor, tuple[Tensor, ...]]
"""Codes, outputs, and the gradients of all parameters."""


@dataclass(frozen=True)
class Update:
    """One pass over whole episodes, forward and back."""

    architecture: Architecture
    parameters: dict[str, Tensor]
    episodes: Inputs
    pull: Tensor

    @staticmethod
    def of(architecture: Architecture, runs: int, episodes: int, steps: int, device: torch.device) -> "Update":
        shape, made = Shape(observation=27, action=7, horizon=steps), torch.Generator().manual_seed(0)
        begun = initial(memory_of(architecture).weights(shape, architecture), range(runs))
        shown = Inputs(*(torch.randn(runs, steps, episodes, size, generator=made).to(device) for size in (27, 7)))
        size = shape.action if memory_of(architecture).acts else architecture.code_size
        pull = torch.randn(runs, steps * episodes, size, generator=made).to(device)
        parameters = {name: value.to(device).requires_grad_() for name, value in begun.items()}
        return Update(architecture, parameters, shown, pull)

    def exact(self) -> "Update":
        """The same in float64."""
        parameters = {name: value.detach().double().requires_grad_() for name, value in self.parameters.items()}
        shown = Inputs(self.episodes.observation.double(), self.episodes.previous.double())
        return Update(self.architecture, parameters, shown, self.pull.double())

    def __call__(self) -> Results:
        """Codes, what the action head reads (or the actions), and the gradients of all parameters."""
        memory = memory_of(self.architecture)
        (record,) = memory.unroll(self.parameters, self.architecture, self.episodes, Flow("carousel"))
        read = record.embedding if record.actions is None else record.actions
        every = list(self.parameters.values())
        loss = (read * self.pull).mean()
        slopes = torch.autograd.grad(loss, every, allow_unused=True, materialize_grads=True)
        return record.code, read.detach(), slopes


@contextmanager
def kernels(used: bool) -> Iterator[None]:
    """Within, memories use their kernels, or loop over steps."""
    with ExitStack() as stack:
        for module in CHOOSING:
            stack.enter_context(patch(f"diacritic.memory.{module}.usable", lambda values: used))
        yield


def off(actual: Tensor, expected: Tensor, least: float = 0.0) -> float:
    """The error of a tensor relative to its norm, or to the least one that counts."""
    return float((actual.double() - expected).norm() / expected.norm().clamp(min=max(least, 1e-30)))


def seconds(update: Callable[[], Any], times: int, device: torch.device) -> float:
    """Of one update; on CUDA as a replay of a captured graph."""
    if device.type != "cuda":
        begun = time.perf_counter()
        update()
        return time.perf_counter() - begun
    graph = captured(update)
    graph.replay()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(times):
        graph.replay()
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) / times


def warmed(update: Update, device: torch.device) -> Results:
    """An update as it is, on a side stream where one can be captured later."""
    if device.type != "cuda":
        return update()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        results = update()
    torch.cuda.synchronize()
    return results


def errors(results: Results, exact: Results) -> tuple[float, float]:
    """Of outputs, and the largest of the gradients, relative to their norms."""
    least = 1e-3 * max(float(slope.norm()) for slope in exact[2])  # smaller gradients are rounding alone
    return off(results[1], exact[1]), max(off(*pair, least) for pair in zip(results[2], exact[2], strict=True))


def measured(architecture: Architecture, size: tuple[int, int, int], device: torch.device) -> dict[str, Any]:
    """Both ways compared, then timed."""
    update = Update.of(architecture, *size, device)
    row: dict[str, Any] = {"runs, episodes, steps": size}
    with kernels(False):
        loop, exact = warmed(update, device), warmed(update.exact(), device)
    with kernels(True):
        fast = warmed(update, device)
    row["codes that differ"] = float((fast[0] != loop[0]).double().mean())
    row["errors"] = {"kernels": errors(fast, exact), "loop": errors(loop, exact)}
    pairs = zip(row["errors"]["kernels"], row["errors"]["loop"], strict=True)
    row["agrees"] = all(own <= max(WORSE * other, ROUNDED) for own, other in pairs)
    del loop, exact, fast
    for name, used, times in (("kernels, ms", True, 10), ("loop, ms", False, 3)):
        with kernels(used):
            row[name] = 1000 * seconds(update, times, device)
    row["times faster"] = row["loop, ms"] / row["kernels, ms"]
    return row


def said(row: dict[str, Any]) -> str:
    """A row as one line."""
    if "failed" in row:
        return f"FAILED: {row['failed']}"
    ratio = f"{row['times faster']:.1f} times faster"
    times = f"{row['kernels, ms']:.2f} ms by kernels, {row['loop, ms']:.2f} by the loop, {ratio}"
    own, other = (" and ".join(f"{error:.1e}" for error in row["errors"][way]) for way in ("kernels", "loop"))
    verdict = "agrees" if row["agrees"] else "DIFFERS"
    return f"{times}; {verdict}: errors {own}, of the loop {other}, codes that differ {row['codes that differ']:.1e}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, on the CPU")
    parser.add_argument("--only", nargs="*", default=list(MEMORIES), choices=list(MEMORIES), help="memories")
    parser.add_argument("--out", type=Path, default=Path("results") / "benchmarks")
    given = parser.parse_args()
    on_gpu = torch.cuda.is_available() and not given.quick
    if not on_gpu and os.environ.get("TRITON_INTERPRET") != "1":
        print("there is no GPU, and TRITON_INTERPRET=1 does not ask for an interpreter; nothing was measured")
        return 0
    device = torch.device("cuda" if on_gpu else "cpu")
    document: dict[str, Any] = {"device": torch.cuda.get_device_name() if on_gpu else "cpu", "memories": {}}
    for case, size in (CASES if on_gpu else QUICK).items():
        for name in given.only:
            try:
                row = measured(MEMORIES[name], size, device)
            except Exception as problem:  # the others are measured all the same
                row = {"failed": f"{type(problem).__name__}: {problem}".splitlines()[0]}
            document["memories"].setdefault(name, {})[case] = row
            print(f"{case}, {name}: {said(row)}", flush=True)
            given.out.mkdir(parents=True, exist_ok=True)
            write_text(given.out / f"memories-{device.type}.json", json.dumps(document, indent=1) + "\n")
    rows = [row for cases in document["memories"].values() for row in cases.values()]
    return int(not all(row.get("agrees", False) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
