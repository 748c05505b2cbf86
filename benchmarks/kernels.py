"""Check the CUDA kernels against the definition on a GPU: run as ``python benchmarks/kernels.py``; exit 0 if all agree.

It needs torch with CUDA, triton, numpy and safetensors. Every line is one check with its largest error.
"""

import sys
from pathlib import Path

import torch

# certify.py beside this file has the package's name, so this folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]

from diacritic.memory.protocol import Inputs  # noqa: E402
from diacritic.memory.quantise import look_up, lowest_twin  # noqa: E402
from diacritic.memory.shape import Architecture  # noqa: E402
from diacritic.training.cohort import Cohort, Plan, Run  # noqa: E402
from diacritic.training.data import from_arrays  # noqa: E402
from diacritic.training.learner import learner  # noqa: E402
from diacritic.training.preset import preset  # noqa: E402
from diacritic.training.randomness import uniform  # noqa: E402
from diacritic.training.scan import code_tables, scan_codes  # noqa: E402

NEAR = 1e-4
"""Codes may differ where the two best scores are this close."""


def cohort_of(codes: int, low: torch.dtype | None, device: str) -> Cohort:
    """Eight runs on random vectors, without an update yet."""
    made = torch.Generator().manual_seed(0)
    data = from_arrays(torch.randn(12, 96, 27, generator=made), torch.randn(12, 96, 7, generator=made))
    runs = tuple(Run(seed) for seed in range(8))
    plan = Plan(learner("plain"), preset("carousel"), runs, 400, Architecture(codes=codes), batch=64, low=low)
    return Cohort(plan, data, device)


def check_draws() -> float:
    """Counted random numbers are the same bits on CPU and GPU."""
    seeds, step = torch.tensor([0, 1, 12345, 2**31 - 1]), torch.tensor(77)
    own, other = uniform(seeds, step, 6, (1000,)), uniform(seeds.cuda(), step.cuda(), 6, (1000,))
    return float((own - other.cpu()).abs().max())


def check_scan(codes: int, twins: bool) -> float:
    """The lost score of the codes that the kernel scans; with twins also that it meets the lower one alone."""
    cohort = cohort_of(codes, None, "cuda")
    parameters = {name: value.detach().clone() for name, value in cohort.parameters.items()}
    parameters["codebook"] = 3 * parameters["codebook"]
    if twins:
        parameters["codebook"][:, codes // 2 :] = parameters["codebook"][:, : codes - codes // 2]
    made = torch.Generator("cuda").manual_seed(1)
    driven = torch.randn(8, 12, 96, 128, generator=made, device="cuda")
    scanned = scan_codes(parameters, driven)
    if twins and int(scanned.max()) >= codes // 2:
        return float("inf")
    exact = {name: value.double() for name, value in parameters.items()}
    entering, scoring, fixed, _ = code_tables(exact)
    before = torch.cat([torch.full_like(scanned[:, :1], codes), scanned[:, :-1]], 1).flatten(1)
    scores = torch.relu(driven.double().flatten(1, 2) + look_up(entering, before)) @ scoring + look_up(fixed, before)
    return float((scores.amax(-1) - scores.gather(-1, scanned.flatten(1).unsqueeze(-1)).squeeze(-1)).max())


def check_restarts(low: torch.dtype | None) -> float:
    """Past two restarts no two codes have the same vector, and no run has diverged."""
    cohort = cohort_of(64, low, "cuda")
    cohort.advance(210)
    twin = lowest_twin(cohort.parameters["codebook"].detach())
    alone = torch.equal(twin, torch.arange(64, device="cuda").expand_as(twin))
    return 0.0 if alone and not bool(cohort.optimiser.diverged.any()) else float("inf")


def check_gradient(low: torch.dtype | None) -> float:
    """The relative error of the first update's gradient against the reference engine in float64."""
    from dataclasses import replace

    cohort = cohort_of(16, low, "cuda")
    exact = {name: value.detach().double() for name, value in cohort.parameters.items()}
    plan = replace(cohort.plan, engine="reference", precision=torch.float64, low=None)
    reference = Cohort(plan, cohort.given, "cuda", exact)
    cohort.update()
    reference.update()
    wanted = reference.optimiser.gradient
    return float(((cohort.optimiser.gradient - wanted).norm(dim=1) / wanted.norm(dim=1)).max())


def check_history() -> float:
    """The full-history memory step by step against whole episodes, on the GPU."""
    cohort = cohort_of(16, None, "cuda")
    plan = Plan(learner("full-history"), preset("release"), cohort.plan.runs, 10)
    history = Cohort(plan, cohort.given, "cuda")
    from diacritic.memory.kinds import memory_of

    memory, data = memory_of(plan.carrier), history.data
    whole = Inputs(data.observation[data.observation_index], data.previous[data.previous_index])
    with torch.no_grad():
        (records,) = memory.unroll(history.parameters, plan.carrier, whole)
        state = memory.start(history.parameters, plan.carrier, data.episodes)
        worst = 0.0
        for t in range(data.horizon):
            state, record = memory.step(history.parameters, plan.carrier, state, whole.at(t))
            there = records.proposal.unflatten(1, (data.horizon, -1))[:, t]
            worst = max(worst, float((record.proposal - there).abs().max()))
    return worst


def main() -> int:
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU here; nothing was checked")
        return 0
    checks = [("counted draws", check_draws, 0.0)]
    for codes in (16, 100, 300):
        for twins in (False, True):
            name = f"scan of {codes} codes{' with twins' if twins else ''}"
            checks.append((name, lambda codes=codes, twins=twins: check_scan(codes, twins), NEAR))
    for low, most in ((None, 1e-3), (torch.bfloat16, 0.2)):
        checks.append((f"gradient, {low or 'float32'}", lambda low=low: check_gradient(low), most))
        checks.append((f"restarts, {low or 'float32'}", lambda low=low: check_restarts(low), 0.0))
    checks.append(("full history", check_history, 1e-4))
    failed = 0
    for name, check, most in checks:
        error = check()
        failed += not error <= most
        print(f"{'ok    ' if error <= most else 'FAILED'} {name}: {error:.2e} (at most {most:.0e})", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
