"""After training on a recording: forget what the run's own decisions never use.

What a run does there is what it decides: where expert actions of several classes meet under one symbol, the class whose
mean action is nearest to the run's own. Everything else that it does is the same whatever it remembers, and counts for
nothing. Symbols and classes of action are the recording's; no certificate is asked.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from certify.core.exact import Ints, pair
from certify.errors import UserError
from diacritic.training.cohort import Cohort
from diacritic.training.fit_transition import Effort
from diacritic.training.forgetting import REACHED, ExpertTrace, choose, forget, most_frequent

RISE = 0.002  # largest rise of the squared error of standardised actions, beside the relative one
EFFORT = Effort(steps=2000, rate=3e-3, batch=2048)
"""Picked on the development cell: two-cues at gap 6."""


@dataclass(frozen=True)
class Compressed:
    """A cohort that has forgotten, and of every run why it did or did not."""

    cohort: Cohort
    changed: list[bool]
    updates: int
    codes: list[int | None]
    """How many codes are left of each run's; none where merging found more than there are."""
    inconsistent: list[float]
    """Largest share of episodes in which a run decides otherwise than it usually does with that (merged) code."""
    right: list[float]
    """Least share of episodes in which it decided as the expert did, before."""
    same: list[float]
    """Least share of episodes in which the fitted run decides as it did before."""
    reached: list[float]
    """Share of steps at which the fitted recurrence reaches its new code."""
    loss: list[tuple[float, float]]
    """The imitation loss before, and of the fitted run."""

    @property
    def notes(self) -> dict[str, Any]:
        """All but the weights, as JSON can hold it."""
        named = {key: getattr(self, key) for key in ("inconsistent", "right", "same", "reached")}
        shares = {key: [round(share, 6) for share in values] for key, values in named.items()}
        loss = [[round(before, 6), round(after, 6)] for before, after in self.loss]
        return {"changed": self.changed, "updates": self.updates, "codes": self.codes, **shares, "loss": loss}


def forgotten(cohort: Cohort, effort: Effort | None = None) -> Compressed:
    """Every run of a cohort trained on a recording, with as few codes as its own decisions need.

    A run keeps its old weights where `forget` would keep them and where it then decides otherwise; also where it did
    not decide correctly before, or where the merged codes do not fix what it decided: such a run may have learned the
    training episodes by heart, and what it does there says nothing of what its memory is for.
    """
    plan = replace(cohort.plan, batch=None, low=None)  # as a policy computes codes
    whole = Cohort(plan, cohort.given, str(cohort.device), {k: v.detach() for k, v in cohort.parameters.items()})
    whole.optimiser.diverged.copy_(cohort.optimiser.diverged)
    whole.resume_at(plan.steps)
    traces = recording_traces(whole)
    tried = forget(whole, traces, effort or EFFORT, fresh=False, worse=RISE)
    codes = [run.codes if found is None else found.codes for run, found in zip(traces, tried.merged, strict=True)]
    inconsistent = [inconsistent_share(replace(run, codes=own)) for run, own in zip(traces, codes, strict=True)]
    right = [agreement(run, expert_decisions(run, whole)) for run in traces]
    same = [agreement(run, after.behaviour) for run, after in zip(traces, recording_traces(tried.cohort), strict=True)]
    changed = [
        new and rare <= 1 - REACHED and min(shares) >= REACHED
        for new, rare, *shares in zip(tried.changed, inconsistent, right, same, strict=True)
    ]
    kept = choose(torch.tensor(changed, device=cohort.device), tried.cohort, cohort)
    counts = [None if found is None else found.count for found in tried.merged]
    return Compressed(kept, changed, tried.steps, counts, inconsistent, right, same, tried.reached, tried.loss)


@torch.no_grad()
def recording_traces(cohort: Cohort) -> list[ExpertTrace]:
    """What every run of a cohort decides on its training episodes; its previous actions distinguish no episodes."""
    data = cohort.data
    if data.symbol is None or data.classes is None or data.shape.symbolic:
        raise UserError("data", "has no symbols or no classes of action; only recordings with both can be compressed")
    trace = cohort.trace()
    codes, actions = trace.step_code.cpu().numpy(), trace.steps(trace.read("act")).float().cpu().numpy()
    symbols, classes = data.symbol.cpu().numpy(), data.classes.cpu().numpy()
    expert, weight = data.target.float().cpu().numpy(), data.weight.double().cpu().numpy()
    none = np.zeros_like(symbols)
    return [
        ExpertTrace(code, symbols, none, decided(action, expert, symbols, classes), weight)
        for code, action in zip(codes, actions, strict=True)
    ]


def decided(actions: NDArray[Any], expert: NDArray[Any], symbols: Ints, classes: Ints) -> Ints:
    """1 + the class of action that is nearest among those of the expert at (t, Ō_t); 0 where there is but one.

    Actions are [T, N, A], the run's own and the expert's, whose means in each class are what is compared with.
    """
    found = np.zeros_like(symbols)
    for t, seen in enumerate(symbols):
        for symbol in np.unique(seen):
            here = np.flatnonzero(seen == symbol)
            known = np.unique(classes[t, here])
            if len(known) > 1:
                means = np.stack([expert[t, here[classes[t, here] == one]].mean(0) for one in known])
                apart = np.square(actions[t, here, None] - means).sum(-1)
                found[t, here] = 1 + known[apart.argmin(1)]
    return found


def inconsistent_share(trace: ExpertTrace) -> float:
    """The largest weight, at any step, of the episodes that do not behave as is usual in their state (t, Ō_t, C_t)."""
    steps = zip(trace.symbols, trace.codes, trace.behaviour, strict=True)
    weight = trace.weight / trace.weight.sum()
    return max(float(weight[most_frequent(pair(seen, code), did, weight) != did].sum()) for seen, code, did in steps)


def expert_decisions(trace: ExpertTrace, cohort: Cohort) -> Ints:
    """What the expert decided, where there was something to decide."""
    if cohort.data.classes is None:
        raise UserError("data", "has no classes of action; only recordings with them can be compressed")
    return np.where(trace.behaviour > 0, 1 + cohort.data.classes.cpu().numpy(), 0)


def agreement(trace: ExpertTrace, behaviour: Ints) -> float:
    """The least weight, at any step, of the episodes that behave in the given way."""
    weight = trace.weight / trace.weight.sum()
    return min(float(weight[a == b].sum()) for a, b in zip(trace.behaviour, behaviour, strict=True))
