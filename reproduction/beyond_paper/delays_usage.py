"""Codes in use over training: how many, and their perplexity exp H(C) over all steps of all episodes."""

import time
from collections.abc import Iterator

import torch
from torch import Tensor

from diacritic.files.ledger import Row
from diacritic.training.codebook_restart import usage
from diacritic.training.cohort import Cohort
from diacritic.training.symbolic import from_model
from reproduction.beyond_paper.delays_cells import CAROUSEL, RELEASE, STEPS, chain, plan_for, rows_now, without

STUDY, EVERY, CELLS = "long-delays-code-usage", 50, ((3, 10), (3, 100))
PRESETS = (
    CAROUSEL,
    *(without(name) for name in ("restarts", "persistent start", "restarts and persistent start")),
    RELEASE,
)


def spread(used: Tensor) -> tuple[list[int], list[float]]:
    """The number of codes with positive probability, and exp H, of laws [S, K]."""
    entropy = -torch.special.xlogy(used, used).sum(1)
    return (used > 0).sum(1).tolist(), entropy.exp().tolist()


def measure(device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    """Memory chains of three bits, which ask for eight of the sixteen codes, with and without the two remedies."""
    for bits, delay in CELLS:
        bench = chain(bits, delay)
        for chosen in PRESETS:
            if only not in f"{bench.name} {chosen.name}":
                continue
            plan = plan_for(bench, chosen, steps or STEPS)
            cohort = Cohort(plan, from_model(bench.model), device)
            begun = time.perf_counter()
            looks = [0, *range(EVERY, plan.steps, EVERY), plan.steps]
            seen = []
            for update in looks:
                cohort.advance(update - cohort.step)
                with torch.no_grad():
                    seen.append(spread(usage(cohort.trace()).double()))
            rows = rows_now(STUDY, bench, cohort, time.perf_counter() - begun)
            for k, row in enumerate(rows):
                row |= {"updates": looks, "codes_used": [used[k] for used, _ in seen]}
                row["perplexity"] = [perplexity[k] for _, perplexity in seen]
            yield rows
