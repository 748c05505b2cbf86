"""How fast cohorts train: seeds stacked, steps in parallel, against the literal loop of one seed.

Run as ``python benchmarks/training.py [--cpu | --cuda] [--out FOLDER] [--sizes 1,8,32,64] [--profile]``. The CUDA part
has the shape of two-cues at gap 20, on a stand-in without simulator; the CPU part is the gap toy and the corridor. With
`--pixels` the preset `release` learns from frames instead: first every way to compute the convolutions, each checked
against the strided one; then 200 updates, extrapolated to 10,000. `--whole` takes more learners and cohorts; `--quick`
takes tiny sizes, also on the CPU.
FOLDER/training-DEVICE.json (with `--pixels`, pixels-DEVICE.json) grows with every result; a part that fails is recorded
there and the rest goes on.
"""

import argparse
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# certify.py beside this file has the package's name, so this folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]

from certify.zoo import build  # noqa: E402
from diacritic.memory.layers import Parameters  # noqa: E402
from diacritic.memory.protocol import Inputs  # noqa: E402
from diacritic.memory.quantise import look_up  # noqa: E402
from diacritic.memory.shape import Architecture  # noqa: E402
from diacritic.memory.sole_carrier import drive, observe, propose  # noqa: E402
from diacritic.training import parallel, reference, scan  # noqa: E402
from diacritic.training.cohort import Cohort, Plan, Run  # noqa: E402
from diacritic.training.data import Data, from_arrays  # noqa: E402
from diacritic.training.forecaster import every_offset, form, train_forecaster  # noqa: E402
from diacritic.training.learner import learner  # noqa: E402
from diacritic.training.preset import PRESETS  # noqa: E402
from diacritic.training.supervision import FORECASTER_STEPS  # noqa: E402
from diacritic.training.symbolic import from_model  # noqa: E402
from diacritic.training.trace import Trace  # noqa: E402

UPDATES = 10_000
READINGS = ("inverse-only", "open-loop", "open-loop-world")
HORIZON, SHOWN, DECISIONS = 47, range(3, 6), (8, 38)
Results = dict[str, Any]
Save = Callable[[str, Callable[[], Any]], None]


def two_cues(episodes: int = 448, seed: int = 0) -> tuple[Data, Tensor]:
    """An arm that moves 10 cm to one of two sides, twice, each time as a cue told it; and the cues, [2, N].

    Both cues show at steps 3 to 5 and are used at steps 8 and 38; 2 mm of noise on positions and commands.
    """
    made = torch.Generator().manual_seed(seed)
    cue = torch.stack([torch.arange(episodes) % 2, torch.arange(episodes) // 2 % 2])
    clutter = 0.1 * torch.randn(episodes, 18, generator=made)
    position, clean, actions, observations = torch.zeros(episodes, 3), [], [], []
    for t in range(HORIZON):
        goal, lit = torch.zeros(episodes, 3), torch.zeros(episodes, 6)
        for which, decision in enumerate(DECISIONS):
            if decision <= t < decision + 4:
                goal[:, which] = 0.1 * (2 * cue[which] - 1)
                lit[:, 4 + which] = 1.0
            if t in SHOWN:
                lit[torch.arange(episodes), 2 * which + cue[which]] = 1.0
        noise = 0.002 * torch.randn(episodes, 25, generator=made)
        observations.append(torch.cat([position + noise[:, :3], clutter + noise[:, 3:21], lit], 1))
        command = torch.cat([0.5 * (goal - position), goal[:, :1].abs() + goal[:, 1:2].abs()], 1)
        clean.append(command)
        actions.append(command + noise[:, 21:])
        position = position + actions[-1][:, :3]
    seen, done, wanted = torch.stack(observations), torch.stack(actions), torch.stack(clean)
    middle, spread = done.mean((0, 1)), done.std((0, 1))
    seen = (seen - seen.mean((0, 1))) / seen.std((0, 1))
    data = from_arrays(seen, (done - middle) / spread)
    return replace(data, forecast=_forecast((wanted - middle) / spread), decisions=DECISIONS), cue


def _forecast(clean: Tensor) -> Tensor:
    """The noiseless later actions, [1, T, N, T−1, A]; before the cues have shown, their mean over episodes."""
    later = torch.arange(HORIZON).unsqueeze(1) + torch.arange(1, HORIZON)
    certain = clean[later.clamp(max=HORIZON - 1)].transpose(1, 2)
    unknown = certain.mean(1, keepdim=True).expand_as(certain)
    time = torch.arange(HORIZON).view(-1, 1, 1, 1)
    return torch.where(time < SHOWN[0], unknown, certain).unsqueeze(0)


def plan_of(runs: int, **changes: Any) -> Plan:
    """The event-agnostic learner as it is measured."""
    seeds = tuple(Run(seed) for seed in range(runs))
    return Plan(learner("event-agnostic"), PRESETS["carousel"], seeds, UPDATES, batch=512, **changes)


def wait(device: str) -> None:
    torch.cuda.synchronize() if device == "cuda" else None


def clocked(work: Callable[[], object], device: str) -> float:
    """Seconds, with everything done that was asked for."""
    wait(device)
    began = time.perf_counter()
    work()
    wait(device)
    return time.perf_counter() - began


def forget() -> None:
    """Give back the memory of what was trained before."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def literal_loop(cohort: Cohort) -> Callable[[], None]:
    """One update of the reference engine on a batch of episodes gathered by index: the loop that everyone writes."""
    batch, made = cohort.plan.batch or 1, torch.Generator().manual_seed(0)

    def update() -> None:
        drawn = torch.multinomial(cohort.data.weight.cpu(), batch, True, generator=made).to(cohort.device)
        data = gathered(cohort.data, drawn)
        trace = reference.trace(
            cohort.parameters, cohort.plan.carrier, data, data.weight.unsqueeze(0), cohort.plan.preset.gradient
        )
        losses = [term.loss(trace, data, cohort.schedule) for term in cohort.plan.learner.terms]
        cohort.optimiser.descend(torch.stack(losses).sum())
        cohort.schedule.step.add_(1)

    return update


def gathered(data: Data, episodes: Tensor) -> Data:
    """Some episodes, equally weighted."""
    return replace(
        data,
        observation_index=data.observation_index[:, episodes],
        previous_index=data.previous_index[:, episodes],
        target=data.target[:, episodes],
        forecast=None if data.forecast is None else data.forecast[:, :, episodes],
        weight=torch.full_like(data.weight[:1], 1 / len(episodes)).expand(len(episodes)),
    )


@torch.no_grad()
def sufficient(cohort: Cohort, cue: Tensor) -> Tensor:
    """Which runs decide rightly in every episode, from codes that tell the classes apart just before: [S]."""
    trace = cohort.trace()
    prediction, codes = trace.steps(trace.read("act")), trace.step_code
    good = torch.ones(len(codes), dtype=torch.bool, device=codes.device)
    for which, step in enumerate(DECISIONS):
        target = cohort.data.target[step, :, which]
        second = cue[which].to(codes.device).bool()
        half = (target[second].mean() - target[~second].mean()).abs() / 2
        good &= ((prediction[:, step, :, which] - target).abs() < half).all(1)
        held = torch.nn.functional.one_hot(codes[:, step - 1], cohort.plan.carrier.codes).bool()
        good &= ~(held[:, second].any(1) & held[:, ~second].any(1)).any(1)
    return good


def in_float64(cohort: Cohort) -> tuple[dict[str, Tensor], Inputs]:
    """Parameters and inputs of every step."""
    parameters = {name: value.detach().double() for name, value in cohort.parameters.items()}
    return parameters, parallel.tokens(cohort.data.to(cohort.device, torch.float64))


def driven(parameters: Parameters, shown: Inputs) -> Tensor:
    """The driven part of f's first layer, by the definition."""
    return drive(parameters, "residual", observe(parameters, shown), shown.previous)


@torch.no_grad()
def agreement(cohort: Cohort) -> Results:
    """How far codes are from the nearest in float64, each step given the code before it."""
    code = cohort.trace().step_code
    exact, shown = in_float64(cohort)
    before = torch.cat([torch.full_like(code[:, :1], cohort.plan.carrier.codes), code[:, :-1]], 1).flatten(1)
    start = torch.cat([exact["codebook"], torch.zeros_like(exact["codebook"][:, :1])], 1)
    carried = look_up(start, before)
    proposal = carried + propose(exact, "residual", carried, driven(exact, shown))
    distance = torch.stack([(proposal - e.unsqueeze(1)).square().sum(-1) for e in exact["codebook"].unbind(1)], -1)
    excess = distance.gather(-1, code.flatten(1).unsqueeze(-1)).squeeze(-1) - distance.min(-1).values
    return {
        "steps": code.numel(),
        "not_nearest": int((excess > 0).sum()),
        "beyond_1e-5": int((excess > 1e-5).sum()),
        "largest_excess": float(excess.max()),
    }


def gradient_error(plan: Plan, data: Data, device: str) -> float:
    """‖g − g₆₄‖ / ‖g₆₄‖ of the worst run in the first update, against float64 autograd of the reference."""
    plan = replace(plan, preset=replace(plan.preset, clip=None))
    cohort = Cohort(plan, data, device)
    exact = {name: value.detach().double() for name, value in cohort.parameters.items()}
    twin = Cohort(replace(plan, engine="reference", precision=torch.float64, low=None), data, device, exact)
    cohort.update()
    twin.update()
    expected = twin.optimiser.gradient
    return float(((cohort.optimiser.gradient - expected).norm(dim=1) / expected.norm(dim=1)).max())


def kernels(cohort: Cohort) -> Results:
    """Milliseconds of the kernels that find the codes, and the error of the drive."""
    from triton.testing import do_bench

    from diacritic.training.kernels import drive as drive_kernel
    from diacritic.training.kernels import scan as scan_kernel

    parameters = {name: value.detach() for name, value in cohort.parameters.items()}
    shown = parallel.tokens(cohort.data)
    rows = torch.arange(len(shown.observation), dtype=torch.int32, device="cuda").expand(len(cohort.plan.runs), -1)
    inputs, results = (parameters, shown.observation, shown.previous, rows), Results()

    def timed(name: str, work: Callable[[], Tensor]) -> None:
        try:
            results[name] = do_bench(work, warmup=20, rep=60, return_mode="median")
        except RuntimeError as problem:  # a tile that is too large for the chip is a result too
            results[name] = str(problem).splitlines()[0]
        print(f"  {name}: {results[name]}", flush=True)

    expected = driven(*in_float64(cohort))
    exact = drive_kernel.exact_drive_cuda(*inputs)
    results["drive error"] = float((exact - expected).norm() / expected.norm())
    print(f"  drive error against float64: {results['drive error']:.2e}")
    del expected
    timed("drive", lambda: drive_kernel.exact_drive_cuda(*inputs))
    steps = exact.unflatten(1, (cohort.data.horizon, cohort.data.episodes))
    tables = scan.code_tables(parameters)
    for sizes in ((16, 32, 1, 2), (16, 16, 1, 2), (32, 32, 2, 2)):
        timed(f"scan {sizes}", lambda sizes=sizes: scan_kernel.launch(steps, *tables, *sizes))
    return results


def speed(data: Data, runs: int, updates: int = 100, **changes: Any) -> Results:
    """Milliseconds per update and seconds per run of 10⁴ updates, for a cohort of one size."""
    forget()
    cohort = Cohort(replace(plan_of(runs, low=torch.bfloat16), **changes), data, "cuda")
    cohort.advance(106)  # past the first restart, which compiles what the later ones use
    seconds = clocked(lambda: cohort.advance(updates), "cuda") / updates
    row = {"runs": runs, "ms_per_update": 1e3 * seconds, "s_per_run": UPDATES * seconds / runs}
    return {**row, "gib": torch.cuda.max_memory_reserved() / 2**30}


def first_update(data: Data) -> float:
    """Seconds from the data to the first update of 32 runs, with all that has to be compiled for it."""

    def begin() -> None:
        Cohort(plan_of(32, low=torch.bfloat16), data, "cuda").advance(1)

    return clocked(begin, "cuda")


def profile(cohort: Cohort, path: Path) -> str:
    """The kernels of one update, dearest first, as a table in a file."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    for _ in range(3):
        cohort.update()
    wait("cuda")
    with profiler(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as watched:
        cohort.update()
        wait("cuda")
    kernels = [row for row in watched.key_averages() if row.self_device_time_total > 0]
    kernels.sort(key=lambda row: -row.self_device_time_total)
    total = sum(row.self_device_time_total for row in kernels)
    lines = [f"{row.self_device_time_total:10.1f} µs  {row.count:4d} ×  {row.key[:140]}" for row in kernels]
    path.write_text("\n".join([f"{total:10.1f} µs in all", *lines]) + "\n")
    print("\n".join(lines[:25]), flush=True)
    return path.name


def to_sufficiency(data: Data, cue: Tensor, runs: int, most: int = 2000) -> Results:
    """When each seed is first sufficient, looked at every 100 updates; only training is clocked."""
    cohort = Cohort(plan_of(runs, low=torch.bfloat16), data, "cuda")
    cohort.advance(1)
    first, spent = torch.full((runs,), -1), 0.0
    for at in range(100, most + 1, 100):
        spent += clocked(lambda at=at: cohort.advance(at - cohort.step), "cuda")
        first[(first < 0) & sufficient(cohort, cue).cpu()] = at
        if (first > 0).all():
            break
    reached = first[first > 0]
    each = spent / cohort.step / runs
    print(f"  {len(reached)}/{runs} seeds sufficient after {cohort.step} updates", flush=True)
    return {
        "updates": first.tolist(),
        "sufficient": len(reached),
        "median_s_per_seed": float(reached.double().median()) * each if len(reached) else None,
        "wall_s": spent,
        "agreement": agreement(cohort),
    }


def literal_seconds(data: Data, updates: int = 20) -> float:
    """Seconds per run of the literal loop."""
    forget()
    update = literal_loop(Cohort(plan_of(1, engine="reference"), data, "cuda"))
    update()
    return UPDATES * clocked(lambda: [update() for _ in range(updates)], "cuda") / updates


def forecaster_seconds(data: Data, seeds: int = 8, updates: int = 200) -> float:
    """Seconds per forecaster of 3,000 updates, so many seeds together; what the first updates compile is left out."""
    forget()
    data = data.to("cuda")
    asked = every_offset(data.horizon, "cuda")

    def train(steps: int) -> None:
        train_forecaster(data, asked, range(seeds), steps)

    train(10)
    short, long = (clocked(lambda steps=steps: train(steps), "cuda") for steps in (updates, 3 * updates))
    return FORECASTER_STEPS * (long - short) / (2 * updates) / seeds


def on_cuda(save: Save, sizes: list[int], folder: Path, profiled: bool) -> None:
    """Everything that is claimed for the H200, the dearest claims first."""
    print(torch.cuda.get_device_name())
    data, cue = two_cues()
    save("first_update_s", lambda: first_update(data))
    save("carousel_32", lambda: speed(data, 32))
    if profiled:
        forget()
        path = folder / "training-profile.txt"
        save("profile", lambda: profile(Cohort(plan_of(32, low=torch.bfloat16), data, "cuda"), path))
    save("literal_loop_s_per_run", lambda: literal_seconds(data))
    for runs in sizes:
        if runs != 32:
            save(f"carousel_{runs}", lambda runs=runs: speed(data, runs))
    full, low = replace(PRESETS["carousel"], gradient="full"), plan_of(2, low=torch.bfloat16)
    save("full_gradient_32", lambda: speed(data, 32, 100, preset=full))
    forget()
    for name, plan in (("float32", plan_of(2)), ("bfloat16", low), ("bfloat16_full", replace(low, preset=full))):
        save(f"gradient_error_{name}", lambda plan=plan: gradient_error(plan, data, "cuda"))
    forget()
    save("all_offsets_8", lambda: speed(data, 8, 50, learner=learner("event-agnostic-all")))
    named = replace(data, label=cue[0] + 2 * cue[1], shape=replace(data.shape, labels=4))
    for codes in (16, 1024):
        many = {"learner": learner("sysid"), "architecture": Architecture(codes=codes)}
        save(f"identification_{codes}_codes_8", lambda many=many: speed(named, 8, 50, **many))
    forget()
    history = {"learner": learner("full-history"), "preset": PRESETS["release"]}
    save("full_history_8", lambda: speed(data, 8, 50, **history))
    save("forecaster_8_s_per_run", lambda: forecaster_seconds(data))
    forget()
    save("to_sufficiency", lambda: to_sufficiency(data, cue, 32))
    forget()
    save("kernels", lambda: kernels(Cohort(plan_of(32, low=torch.bfloat16), data, "cuda")))


PIXELS = ("plain", "event-agnostic", "task-informed")
"""Learners that are timed on frames."""


def seen_cues(episodes: int, horizon: int = HORIZON) -> Data:
    """Frames as random bytes with eleven numbers beside each, and what the learners regress."""
    made = torch.Generator().manual_seed(0)
    actions = torch.randn(horizon, episodes, 4, generator=made)
    data = from_arrays(torch.randn(horizon, episodes, 11, generator=made), actions)
    frames = torch.randint(0, 256, (horizon * episodes, 64, 64, 3), generator=made, dtype=torch.uint8)
    later = (torch.arange(horizon).unsqueeze(1) + torch.arange(1, horizon)).clamp(max=horizon - 1)
    return replace(
        data,
        shape=replace(data.shape, frames=True),
        frames=frames,
        forecast=actions[later].transpose(1, 2).unsqueeze(0).contiguous(),
        pending=torch.randn(1, horizon, episodes, 2, 4, generator=made),
        decisions=(horizon // 2, horizon - 1),
        last_reveal=1,
    )


def seeing(data: Data, name: str, runs: int, device: str, low: torch.dtype | None) -> Cohort:
    """Runs of a learner in the settings of the release, on frames."""
    forget()
    seeds = tuple(Run(seed) for seed in range(runs))
    return Cohort(Plan(learner(name), PRESETS["release"], seeds, UPDATES, batch=512, low=low), data, device)


def pixel_speed(data: Data, name: str, runs: int, updates: int, device: str, low: torch.dtype | None) -> Results:
    """Milliseconds per update of stacked runs on frames; seconds of 10,000 updates, of all runs and of each."""
    cohort = seeing(data, name, runs, device, low)
    first = clocked(lambda: cohort.advance(2), device)
    seconds = clocked(lambda: cohort.advance(updates), device) / updates
    row = {"runs": runs, "updates": updates, "first_updates_s": first, "ms_per_update": 1e3 * seconds}
    row |= {"s_for_10000_updates": UPDATES * seconds, "s_per_run": UPDATES * seconds / runs}
    row |= {"episodes_encoded": cohort._slots or data.episodes, "diverged": int(cohort.optimiser.diverged.sum())}
    return row | ({"gib": torch.cuda.max_memory_reserved() / 2**30} if device == "cuda" else {})


FRONTS = {
    "strided": (),
    "first layer in blocks": (1, 0, 0),
    "two layers, first in pairs": (2, 1, 0),
}
"""Ways to compute the convolutions of the release in bf16, by `Front.blocks`."""
AGREES = 1.5
"""A way agrees with the strided one if its errors against fp32 are at most so many times those of strided bf16."""


def front_of(blocks: tuple[int, ...]) -> Callable[[Parameters, Tensor], Tensor]:
    """The convolutions of the release in bf16, computed in that way."""
    from diacritic.memory import pixel_blocks, pixels

    front = replace(pixels.FRONTS["beside"], blocks=blocks)
    if blocks:
        return lambda parameters, frames: pixel_blocks.in_blocks(front, parameters, frames, torch.bfloat16)
    return lambda parameters, frames: pixels._in_turn(front, parameters, frames, torch.bfloat16)


def front_inputs(data: Data, rows: int, device: str) -> tuple[Parameters, Tensor]:
    """Weights of the convolutions of one run, and so many frames."""
    from diacritic.memory.pixels import FRONTS as fronts
    from diacritic.training.randomness import initial

    own = {name: weight for name, weight in fronts["beside"].weights().items() if ".out." not in name}
    parameters = {name: value.to(device).requires_grad_() for name, value in initial(own, [0]).items()}
    assert data.frames is not None
    return parameters, data.frames[:rows].to(device)


def front_errors(blocks: tuple[int, ...], parameters: Parameters, frames: Tensor) -> dict[str, float]:
    """Relative errors of outputs, and of the worst gradient, against fp32: in that way, strided, and between both."""
    from diacritic.memory import pixels

    def exact(parameters: Parameters, frames: Tensor) -> Tensor:
        with pixels.unrounded():
            return pixels._in_turn(pixels.FRONTS["beside"], parameters, frames, torch.float32)

    results = []
    for front in (front_of(blocks), front_of(()), exact):
        seen = front(parameters, frames).float()
        pull = torch.randn(seen.shape, generator=torch.Generator().manual_seed(1)).to(seen.device)
        results.append([seen.detach(), *torch.autograd.grad((seen * pull).sum(), list(parameters.values()))])
    own, strided, truth = results
    errors = {}
    for name, first, second in (("", own, truth), ("_strided", strided, truth), ("_apart", own, strided)):
        apart = [float((a - b).norm() / b.norm()) for a, b in zip(first, second, strict=True)]
        errors |= {f"output_error{name}": apart[0], f"gradient_error{name}": max(apart[1:])}
    return errors


def pixel_front(data: Data, blocks: tuple[int, ...], device: str, rows: int, times: int) -> Results:
    """Milliseconds of the convolutions of one run, forward and back, once they agree with the strided ones."""
    forget()
    parameters, frames = front_inputs(data, rows, device)
    errors = front_errors(blocks, parameters, frames[:512])
    if not all(errors[f"{part}_error"] <= AGREES * errors[f"{part}_error_strided"] for part in ("output", "gradient")):
        raise ValueError(f"is not the strided front: {errors}")
    front = front_of(blocks)

    def work() -> None:
        torch.autograd.grad(front(parameters, frames).float().sum(), list(parameters.values()))

    work()
    work()
    return {"ms": 1e3 * clocked(lambda: [work() for _ in range(times)], device) / times, "frames": rows} | errors


def front_table(results: Results) -> list[str]:
    """Every way to compute the front beside the strided one."""
    lines = []
    slow = number(results, "front: strided", "ms")
    for key, row in results.items():
        if key.startswith("front: ") and isinstance(row, dict):
            errors = f"{row['output_error']:.1e} and {row['gradient_error']:.1e}"
            told = f"{row['ms']:8.2f} ms, {slow / row['ms']:.2f}× the speed of strided"
            lines.append(f"{key:45} {told}; agrees; errors against fp32 {errors}")
    return lines


def pixel_forecaster(data: Data, seeds: int, updates: int, device: str) -> float:
    """Seconds per forecaster of 3,000 updates on frames, so many seeds together."""
    forget()
    asked = every_offset(data.horizon, device)

    def train(steps: int) -> None:
        train_forecaster(data, asked, range(seeds), steps, form(PRESETS["release"], True))

    train(5)
    short, long = (clocked(lambda steps=steps: train(steps), device) for steps in (updates, 3 * updates))
    return FORECASTER_STEPS * (long - short) / (2 * updates) / seeds


def on_pixels(save: Save, device: str, quick: bool, whole: bool, profiled: Path | None) -> None:
    """The preset `release` on frames, at gap 20 with 448 episodes; `quick` takes a few tiny episodes.

    First the front in every way, then training: one run of each of two learners, four together, the forecaster. The
    `whole` of it takes further cohorts and learners; the kernels of an update are `profiled` into a file.
    """
    data = seen_cues(*((8, 5) if quick else (448, HORIZON)))
    size = (8, 1) if quick else (336 * HORIZON, 10)
    for name, blocks in FRONTS.items():
        save(f"front: {name}", lambda blocks=blocks: pixel_front(data, blocks, device, *size))
    updates, low = 2 if quick else 200, torch.float32 if device == "cuda" else None
    cohorts = [("plain", 1, updates), ("event-agnostic", 1, updates), ("plain", 4, -(-updates // 4))]
    if whole:
        cohorts += [
            (name, runs, updates) for name in PIXELS for runs in (1, 2, 4) if (name, runs, updates) not in cohorts
        ]
    if profiled is not None and device == "cuda":
        save("profile", lambda: profile(seeing(data, "plain", 1, device, low), profiled))
    for name, runs, times in cohorts:
        save(f"{name}_{runs}", lambda given=(name, runs, times): pixel_speed(data, *given, device, low))
    save("forecaster_s_per_run", lambda: pixel_forecaster(data, 2, 2 if quick else 20, device))
    if whole and device == "cuda":
        save("plain_1_exact", lambda: pixel_speed(data, "plain", 1, updates // 4, device, None))


def threads_ratio(cohort: Cohort, updates: int = 50) -> float:
    """Time of an update on all threads over its time on the threads that training chooses."""
    chosen = clocked(lambda: cohort.advance(updates), "cpu")
    return clocked(lambda: [cohort.update() for _ in range(updates)], "cpu") / chosen


def readings_ratio(learning: str, updates: int = 10, **size: int) -> float:
    """Time of an update whose heads read every step over that of one in which they read each distinct case once."""
    plan = Plan(learner(learning), PRESETS["release-corridor"], tuple(Run(seed) for seed in range(8)), 6000)
    cohort = Cohort(plan, from_model(build("signpost-corridor", **size)))
    cohort.advance(2)
    once = clocked(lambda: cohort.advance(updates), "cpu")
    traced = cohort.trace

    def of_every_step(episode_weight: Tensor | None = None, sampled: bool = True) -> Trace:
        trace = traced(episode_weight, sampled)
        return replace(trace, rows=replace(trace.rows, law=None, futures=None))

    cohort.trace = of_every_step
    return clocked(lambda: cohort.advance(updates), "cpu") / once


def on_cpu(save: Save, updates: int = 300) -> None:
    """Toys, 8 seeds × 6,000 steps: both loops are timed for some updates and extrapolated."""
    for name in READINGS:
        save(f"readings_{name}", lambda name=name: readings_ratio(name, M=16, W=5, hall1=3, hall2=6, sign=1))
    for name, toy, learning in (
        ("", build("gap", gap2=6), "plain"),
        ("event_agnostic_", build("signpost-corridor", M=16, hall1=3, hall2=6), "event-agnostic-recorded"),
    ):
        data, seeds, steps = from_model(toy), 8, 6000
        plan = Plan(learner(learning), PRESETS["carousel"], tuple(Run(seed) for seed in range(seeds)), steps, batch=512)
        cohort = Cohort(plan, data)
        cohort.advance(10)
        if not name:
            save("all_threads_over_chosen", lambda cohort=cohort: threads_ratio(cohort))
        fast = clocked(lambda cohort=cohort: cohort.advance(updates), "cpu") * steps / updates
        save(f"{name}cohort_s", lambda fast=fast: fast)
        update = literal_loop(Cohort(replace(plan, runs=plan.runs[:1], engine="reference"), data))
        update()
        literal = clocked(lambda update=update: [update() for _ in range(updates)], "cpu") * steps / updates * seeds
        save(f"{name}literal_loops_s", lambda literal=literal: literal)
        save(f"{name}ratio", lambda fast=fast, literal=literal: literal / fast)
    print(f"8 seeds × 6000 updates, extrapolated from {updates} updates of the cohort and of one seed")


def number(results: Results, *path: str) -> float:
    """A measured number, or none where its part failed."""
    value: Any = results
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) else float("nan")


def summary(results: Results) -> str:
    """What was claimed beside what was measured."""
    if "plain_1" in results:
        lines = []
        for name, runs in ((name, runs) for name in PIXELS for runs in (1, 2, 4) if f"{name}_{runs}" in results):
            update, each = (number(results, f"{name}_{runs}", key) for key in ("ms_per_update", "s_per_run"))
            said = f"{update:.1f} ms an update, {each:.0f} s per run of 10,000 updates"
            lines.append(f"release on frames, {name}, {runs} together: {said}")
        each = number(results, "forecaster_s_per_run")
        lines = [*front_table(results), *lines]
        return "\n".join([*lines, f"forecaster on frames: {each:.0f} s per run of 3,000 updates"])
    if "ratio" in results:
        gap, corridor = number(results, "ratio"), number(results, "event_agnostic_ratio")
        lines = [
            f"cohort against literal loops: gap toy {gap:.0f}× (target 20), event-agnostic corridor {corridor:.0f}×"
        ]
        lines.append(
            f"all threads against the chosen ones, gap toy: {number(results, 'all_threads_over_chosen'):.2f}× the time"
        )
        told = ", ".join(f"{name} {number(results, f'readings_{name}'):.0f}×" for name in READINGS)
        lines.append(f"every step read against each distinct case once, corridor with drift: {told}")
        return "\n".join(lines)
    each, literal = number(results, "carousel_32", "s_per_run"), number(results, "literal_loop_s_per_run")
    update = number(results, "carousel_32", "ms_per_update")
    done = "to_sufficiency"
    lines = [
        f"cohort of 32: {update:.2f} ms an update, {each:.2f} s per run (target 1.5)",
        f"literal loop, one seed: {literal:.0f} s per run; ratio {literal / each:.0f} (target 300)",
        f"full gradient, cohort of 32: {number(results, 'full_gradient_32', 's_per_run'):.2f} s per run (target 5)",
        f"forecaster, 8 together: {number(results, 'forecaster_8_s_per_run'):.2f} s per run (aim 2); full history: "
        f"{number(results, 'full_history_8', 's_per_run'):.2f} s (aim 15)",
        f"time to first update: {number(results, 'first_update_s'):.1f} s (target 30)",
        f"first sufficient state: {number(results, done, 'sufficient'):.0f}/32, median "
        f"{number(results, done, 'median_s_per_seed'):.2f} s per seed; codes farther than 1e-5 from the nearest: "
        f"{number(results, done, 'agreement', 'beyond_1e-5'):.0f}",
        f"gradient error: fp32 {number(results, 'gradient_error_float32'):.1e}, "
        f"bf16 {number(results, 'gradient_error_bfloat16'):.1e}",
    ]
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    device = options.add_mutually_exclusive_group()
    device.add_argument("--cpu", action="store_true", help="the gap toy and the corridor, on the CPU")
    device.add_argument("--cuda", action="store_true", help="the two-cues shape (default with a GPU)")
    options.add_argument("--out", type=Path, default=Path("out"), help="where the JSON goes")
    options.add_argument("--sizes", default="1,8,32,64", help="cohort sizes of the curve on CUDA")
    options.add_argument("--profile", action="store_true", help="also write a table of the kernels of one update")
    options.add_argument("--pixels", action="store_true", help="the preset release on camera frames instead")
    options.add_argument("--quick", action="store_true", help="with --pixels, tiny sizes")
    options.add_argument("--whole", action="store_true", help="with --pixels, every learner in cohorts of 1, 2 and 4")
    chosen = options.parse_args()
    if chosen.cuda and not torch.cuda.is_available():
        options.error("--cuda: PyTorch sees no GPU here; use --cpu")
    name = "cuda" if chosen.cuda or (torch.cuda.is_available() and not chosen.cpu) else "cpu"
    results: Results = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if name == "cuda" else "cpu"}
    if chosen.pixels and name == "cpu" and not chosen.quick:
        options.error("--pixels: PyTorch sees no GPU here; --quick takes tiny sizes")
    path = chosen.out / f"{'pixels' if chosen.pixels else 'training'}-{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)

    def save(key: str, work: Callable[[], Any]) -> None:
        began = time.perf_counter()
        try:
            results[key] = work()
        except Exception as problem:  # what fails is a result too, and the rest is still wanted
            traceback.print_exc()
            results[key] = f"failed: {type(problem).__name__}: {str(problem)[:300]}"
        print(f"{key}: {results[key]}  [{time.perf_counter() - began:.1f} s]", flush=True)
        fresh = path.with_suffix(".part")
        fresh.write_text(json.dumps(results, indent=1) + "\n")
        os.replace(fresh, path)

    if chosen.pixels:
        on_pixels(save, name, chosen.quick, chosen.whole, chosen.out / "pixels-profile.txt" if chosen.profile else None)
    elif name == "cuda":
        on_cuda(save, [int(size) for size in chosen.sizes.split(",")], chosen.out, chosen.profile)
    else:
        on_cpu(save)
    print(summary(results))
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
