"""The preset `release` on CUDA: does it compute what the definition says, and how long does an update take?

    python benchmarks/release_cuda.py --out FILE.json [--quick] [--job FOLDER --results FOLDER]

It needs torch, triton, numpy and safetensors alone. Cuts of the kernels are tried and the best are taken; codes and
gradients are compared with the definition in float64; updates of 32 runs (with BFS: 8), 448 episodes and 47 steps (with
BFS: also 33) are timed, whole and by kernel. Results are written as they come. With `--job`, an exported folder is
trained instead. `--quick` takes small sizes, and runs on the CPU too, where kernels are replaced by torch.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from diacritic.memory.kernels import launch as kernels  # noqa: E402
from diacritic.memory.layers import Parameters  # noqa: E402
from diacritic.training import reference  # noqa: E402
from diacritic.training.cohort import Cohort, Plan, Run, rounded_products  # noqa: E402
from diacritic.training.data import Data, from_arrays  # noqa: E402
from diacritic.training.learner import learner  # noqa: E402
from diacritic.training.preset import preset  # noqa: E402

CHECKED = ("plain", "event-agnostic", "task-informed", "sysid", "teacher-state", "plain+bfs", "scaffold+bfs")
TIMED = (
    ("plain", 47, 32),
    ("event-agnostic", 47, 32),
    ("task-informed", 47, 32),
    ("plain+bfs", 33, 8),
    ("plain+bfs", 47, 8),
)
"""Learner, steps and runs."""
TRIED = ((16, 4), (32, 4), (32, 8), (64, 4), (64, 8), (64, 16), (128, 8), (128, 16))
"""Rows and warps of a program."""


def episodes(T: int, N: int, forecasts: int = 1) -> Data:
    """Random recorded episodes of the arm's sizes, with what the learners regress."""
    made = torch.Generator().manual_seed(0)

    def normal(*size: int) -> Tensor:
        return torch.randn(size, generator=made)

    actions = normal(T, N, 4)
    data = from_arrays(normal(T, N, 27), actions)
    later = (torch.arange(T).unsqueeze(1) + torch.arange(1, T)).clamp(max=T - 1)
    return replace(
        data,
        shape=replace(data.shape, labels=32),
        forecast=actions[later].transpose(1, 2).expand(forecasts, -1, -1, -1, -1).contiguous(),
        pending=normal(forecasts, T, N, 2, 4),
        teacher=normal(1, T, N, 32),
        label=torch.randint(32, (N,), generator=made),
        decisions=(T // 2, T - 1),
        last_reveal=1,
    )


def cohort(name: str, data: Data, runs: int, device: str, low: torch.dtype | None, batch: int) -> Cohort:
    seeds = tuple(Run(seed) for seed in range(runs))
    plan = Plan(learner(name), preset("release"), seeds, 10_000, batch=batch, low=low)
    return Cohort(plan, data, device)


def learned(one: Cohort) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Codes, losses and gradients of the next update."""
    trace = one.trace(one.episode_weight())
    losses = torch.stack([term.loss(trace, one.data, one.schedule) for term in one.plan.terms])
    flows = torch.autograd.grad(losses.sum(), list(one.parameters.values()), allow_unused=True)
    filled = [torch.zeros_like(v) if g is None else g for v, g in zip(one.parameters.values(), flows, strict=True)]
    return trace.code, losses.detach(), dict(zip(one.parameters, filled, strict=True))


def by_definition(one: Cohort) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """The same step by step in float64, on all episodes with the update's weights."""
    wide: Parameters = {name: value.detach().double().requires_grad_() for name, value in one.parameters.items()}
    data, weight = one.data.to(one.device, torch.float64), one.episode_weight().double()
    trace = reference.trace(wide, one.plan.carrier, data, weight, strength=one.strength())
    schedule = replace(one.schedule, weight=one.schedule.weight.double(), auxiliary=one.schedule.auxiliary.double())
    losses = torch.stack([term.loss(trace, data, schedule) for term in one.plan.terms])
    flows = torch.autograd.grad(losses.sum(), list(wide.values()), allow_unused=True)
    filled = [torch.zeros_like(v) if g is None else g for v, g in zip(wide.values(), flows, strict=True)]
    return trace.code, losses.detach(), dict(zip(wide, filled, strict=True))


def check(device: str, T: int, N: int, runs: int) -> dict[str, Any]:
    """Largest relative error of losses and gradients, in fp32 and in TF32, and the share of equal codes.

    In TF32, continuations have factors of bf16: their gradients differ by about a hundredth.
    """
    results = {}
    for name in CHECKED:
        for low in (None, torch.float32):
            said = f"{name}, {'fp32' if low is None else 'tf32'}"
            try:
                results[said] = compared(cohort(name, episodes(T, N), runs, device, low, N), device)
            except Exception as problem:  # the others are still worth knowing
                results[said] = {"failed": f"{type(problem).__name__}: {str(problem)[:500]}"}
    return results


def compared(one: Cohort, device: str) -> dict[str, Any]:
    """How far one update is from its definition."""
    one._slots = None  # all episodes, as the definition has them
    with rounded_products(one.plan.low is not None and device == "cuda"):
        codes, losses, flows = learned(one)
    right_codes, right_losses, right_flows = by_definition(one)
    errors = {
        key: float((flows[key].double() - right).norm() / right.norm().clamp(min=1e-9))
        for key, right in right_flows.items()
    }
    worst = max(errors, key=lambda key: errors[key])
    return {
        "equal codes": float((codes == right_codes).double().mean()),
        "losses": float(((losses.double() - right_losses) / right_losses.abs().clamp(min=1e-9)).abs().max()),
        "gradients": errors[worst],
        "worst": worst,
    }


def milliseconds(work: Callable[[], Any], device: str, times: int) -> float:
    """Median over five series of the time of one call."""
    work()
    measured = []
    for _ in range(5):
        if device == "cuda":
            torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(times):
            work()
        if device == "cuda":
            torch.cuda.synchronize()
        measured.append((time.perf_counter() - begun) / times * 1e3)
    return sorted(measured)[2]


def timed(device: str, cases: Sequence[tuple[str, int, int]], N: int, times: int) -> dict[str, Any]:
    """Milliseconds of an update in TF32, captured where there is a GPU, and of its parts one by one."""
    results: dict[str, Any] = {}
    for name, T, runs in cases:
        low, said = torch.float32 if device == "cuda" else None, f"{name}, {T} steps, {runs} runs"
        one = cohort(name, episodes(T, N, 1 if name.startswith("plain") else runs), runs, device, low, 512)
        begun = time.perf_counter()
        one.advance(2)
        entry: dict[str, Any] = {"first updates, s": time.perf_counter() - begun, "places": one._slots}
        entry["update, ms"] = milliseconds(lambda one=one: one.advance(1), device, times)
        entry["10,000 updates of one run, s"] = entry["update, ms"] * 10 / runs
        if device == "cuda":
            entry["by kernel, ms"] = by_kernel(one)
            entry["peak memory, GiB"] = torch.cuda.max_memory_allocated() / 2**30
            torch.cuda.reset_peak_memory_stats()
        results[said] = entry
        show({said: entry})
    return results


def by_kernel(one: Cohort, updates: int = 5) -> dict[str, float]:
    """Milliseconds of each GPU kernel in an update, the longest first."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        one.advance(updates)
        torch.cuda.synchronize()
    spent = {item.key[:70]: item.self_device_time_total / updates / 1e3 for item in seen.key_averages()}
    longest = sorted(spent, key=lambda key: -spent[key])[:25]
    return {key: round(spent[key], 4) for key in longest}


def normal(*size: int, scale: float = 0.1) -> Tensor:
    """Random weights or values."""
    return (scale * torch.randn(size, device="cuda")).requires_grad_()


def recurrence_work(T: int, N: int, runs: int) -> Callable[[bool], None]:
    """One pass of the recurrence forward and back, of random values."""
    from diacritic.training.kernels.recurrence import Recurrence

    codebook = torch.nn.functional.normalize(torch.randn(runs, 16, 32, device="cuda"), dim=-1)
    sizes = (T * N, 128), (1, 32), (32, 128), (128, 128), (128,), (128, 32), (32,)
    driven, *layers = (normal(runs, *size) for size in sizes)
    pull = torch.randn(runs, T * N, 32, device="cuda")

    def work(rough: bool) -> None:
        settings = T, "sphere", True, "tf32" if rough else "tf32x3"
        proposal, embedding, _ = Recurrence.apply(driven, None, *layers, codebook, *settings)
        torch.autograd.grad([proposal, embedding], [driven, *layers], [pull, pull])

    return work


def perceptron_work(T: int, N: int, runs: int) -> Callable[[bool], None]:
    """One pass of the action head forward and back, of random values."""
    from diacritic.training.kernels.perceptron import perceptron

    inputs = normal(runs, T * N, 32), normal(runs, T * N, 32)
    first = normal(runs, 32, 128), normal(runs, 32, 128), normal(runs, 128)
    inner, last = (normal(runs, 128, 128), normal(runs, 128)), (normal(runs, 128, 4), normal(runs, 4))
    pull = torch.randn(runs, T * N, 4, device="cuda")

    def work(rough: bool) -> None:
        out = perceptron(inputs, first, inner, last, rough)
        torch.autograd.grad(out, [*inputs, *first, *inner, *last], pull)

    return work


def path_work(T: int, N: int, runs: int) -> Callable[[bool], None]:
    """One pass of a scaffold's continuous path forward and back, of random values."""
    from diacritic.memory.kernels.narrow_gru import NarrowGru

    given = normal(runs, T * N, 96), normal(runs, 32, 96), normal(runs, 32)
    pull = torch.randn(runs, T * N, 32, device="cuda")

    def work(rough: bool) -> None:
        states = NarrowGru.apply(*given, T, "tf32" if rough else "tf32x3")
        torch.autograd.grad(states, given, pull)

    return work


def chains_work(T: int, N: int, runs: int) -> Callable[[bool], None]:
    """One pass of every continuation of a quarter of the runs forward and back, of random values."""
    from diacritic.training.kernels.continuations import Chains

    runs = max(1, runs // 4)
    sizes = (T * N, 384), ((T - 1) * N, 128), (128, 384), (128,), (128, 128), (128,), (128, 4), (4,)
    given = [normal(runs, *size) for size in sizes]
    target, origins = torch.randn(T * N, 4, device="cuda"), torch.arange(T * N, dtype=torch.int32, device="cuda")
    share = torch.full((runs, T - 1, N), 1 / (T * N), device="cuda")

    def work(rough: bool) -> None:
        loss = Chains.apply(*given, target, origins.expand(runs, -1), share)
        torch.autograd.grad(loss.sum(), given)

    return work


WORKS = (
    (("recurrence", "recurrence back"), recurrence_work),
    (("perceptron", "perceptron back"), perceptron_work),
    (("narrow GRU", "narrow GRU back"), path_work),
    (("chains", "chains back", "chain head", "chain sums"), chains_work),
)
"""Kernels whose cuts are tried, and what starts them."""


def cuts(T: int, N: int, runs: int) -> dict[str, Any]:
    """Milliseconds of each kernel with its weights' gradients, by cut; the best cut is taken from there on.

    A cut must do for exact products too, which need more of the chip.
    """
    spent: dict[str, Any] = {}
    for names, make in WORKS:
        work = make(T, N, runs)
        for which in names:
            usual, best = kernels.SIZES[which], {}
            for rows, warps in TRIED:
                kernels.SIZES[which] = usual._replace(rows=rows, warps=warps)
                said = f"{which}: {rows} rows, {warps} warps"
                try:
                    work(False)
                    with rounded_products(True):
                        spent[said] = best[rows, warps] = milliseconds(lambda work=work: work(True), "cuda", 10)
                except Exception as problem:  # a cut that does not fit the chip is a result too
                    spent[said] = f"{type(problem).__name__}: {str(problem)[:200]}"
                show({said: spent[said]})
            rows, warps = min(best, key=lambda cut: best[cut]) if best else (usual.rows, usual.warps)
            kernels.SIZES[which] = usual._replace(rows=rows, warps=warps)
            spent[f"{which}: taken"] = [rows, warps]
    return spent


def show(result: dict[str, Any]) -> None:
    print(json.dumps(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--job", type=Path)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if given.job is not None:
        from diacritic.training.worker import train_folder

        train_folder(given.job, given.results or given.job / "results", device)
        return
    if device == "cpu" and not given.quick:
        print("PyTorch sees no GPU here; --quick takes small sizes on the CPU")
        return
    results: dict[str, Any] = {"torch": torch.__version__, "device": device}
    if device == "cuda":
        results["device"] = torch.cuda.get_device_name()

    def keep(key: str, work: Callable[[], dict[str, Any]]) -> None:
        try:
            results[key] = work()
        except Exception as problem:  # what comes after is still worth knowing
            results[key] = {"failed": f"{type(problem).__name__}: {str(problem)[:2000]}"}
        show({key: results[key]})
        if given.out is not None:
            given.out.write_text(json.dumps(results, indent=1) + "\n")

    small = 6, 20, 2
    if device == "cuda":
        keep("cuts", lambda: cuts(*(small if given.quick else (47, 304, 32))))
    keep("check", lambda: check(device, *(small if given.quick else (12, 64, 4))))
    quick = tuple(dict.fromkeys((name, small[0], small[2]) for name, _, _ in TIMED))
    keep("time", lambda: timed(device, *((quick, small[1], 3) if given.quick else (TIMED, 448, 20))))


if __name__ == "__main__":
    main()
