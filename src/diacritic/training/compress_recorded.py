"""After training on a recording: forget what the run's own decisions never use.

What a run does there is what it decides: where expert actions of several classes meet under one symbol, the class whose
mean action is nearest to the run's own. Everything else that it does is the same whatever it remembers, and counts for
nothing. Symbols and classes of action are the recording's; no certificate is asked.
"""

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from certify.core.exact import Ints, pair
from certify.errors import UserError
from diacritic.training.cohort import Cohort, Plan
from diacritic.training.fit_transition import Effort, Noise
from diacritic.training.forgetting import (
    REACHED,
    ExpertTrace,
    Forgotten,
    Merged,
    choose,
    forget,
    inconsistent_share,
    merge_codes,
)
from diacritic.training.revision import demanded, revised, without_chance
from diacritic.training.unseen_time import RISE, drifting_clock, sensor_noise, unseen_clock

EFFORT = Effort(steps=2000, rate=3e-3, batch=2048)
"""Picked on the development cell: two-cues at gap 6."""
LONGER = replace(EFFORT, steps=5000, imitation=100.0)
"""Under fresh noise a policy that drifts needs precise actions most. Picked on weighing at gap 6 (`robust-search`)."""
PREVIOUS = 0.3
"""Deviation of the noise on previous actions, standardised: a policy that drifts did something else before. Picked on
weighing at gap 6 among 0, 0.1, 0.3, 0.6 and 1."""
AGAIN = (1, 4)
"""Runs that the trained carrier cannot be fitted with start again from a fresh one, for so many times as long; one that
was never trained is fresh already."""


@dataclass(frozen=True)
class Compressed(Forgotten):
    """A cohort that has forgotten, and of every run why it did or did not."""

    inconsistent: list[float]
    """Largest share of episodes in which a run decides otherwise than it usually does with that (merged) code."""
    right: list[float]
    """Least share of episodes in which it decided as the expert did, before."""
    same: list[float]
    """Least share of episodes in which the fitted run decides as it did before."""

    @property
    def codes(self) -> list[int | None]:
        """How many codes are left of each run's; none where merging found more than there are."""
        return [None if merging is None else merging.count for merging in self.merged]

    @property
    def notes(self) -> dict[str, Any]:
        """All but the weights, as JSON can hold it."""
        named = {key: getattr(self, key) for key in ("inconsistent", "right", "same", "reached")}
        shares = {key: [round(share, 6) for share in values] for key, values in named.items()}
        loss = [[round(before, 6), round(after, 6)] for before, after in self.loss]
        return {"changed": self.changed, "updates": self.steps, "codes": self.codes, **shares, "loss": loss}


def forgotten(cohort: Cohort, effort: Effort | None = None, noise: Noise | None = None) -> Compressed:
    """Every run of a cohort trained on a recording, with as few codes as its own decisions need.

    A run keeps its old weights where `forget` would keep them and where it then decides otherwise; also where it did
    not decide correctly before, or where the merged codes do not fix what it decided: such a run may have learned the
    training episodes by heart, and what it does there says nothing of what its memory is for. `noise` takes the
    place of what a robust learner fits under.
    """
    plan = replace(cohort.plan, batch=None, low=None)  # as a policy computes codes
    parameters = {name: value.detach() for name, value in cohort.parameters.items()}
    whole = _like(cohort, plan, parameters, cohort.optimiser.diverged)
    own, split = recording_traces(whole), plan.learner.split
    experts = [replace(run, behaviour=expert_decisions(run, whole)) for run in own]
    right = [agreement(run, expert.behaviour) for run, expert in zip(own, experts, strict=True)]
    experts = [without_chance(run) for run in experts] if split else experts
    merged = _revised(whole, own, experts) if split else [merge_codes(run, plan.carrier.codes) for run in own]
    if plan.learner.robust:
        noise = noise or Noise(sensor_noise(whole.data), PREVIOUS)
    effort = effort or (LONGER if plan.learner.robust else EFFORT)
    tried = forget(whole, own, effort, fresh=False, worse=RISE, merged=merged, noise=noise)
    for times in (times for times in AGAIN if split and (cohort.step > 0 or times > 1)):
        tried = _again(tried, whole, own, replace(effort, steps=times * effort.steps), noise)
    codes = [run.codes if merging is None else merging.codes for run, merging in zip(own, merged, strict=True)]
    aims = experts if split else own
    inconsistent = [inconsistent_share(replace(run, codes=new)) for run, new in zip(aims, codes, strict=True)]
    same = [agreement(run, after.behaviour) for run, after in zip(aims, recording_traces(tried.cohort), strict=True)]
    changed = [
        new and rare <= 1 - REACHED and kept >= REACHED and (split or was >= REACHED)
        for new, rare, kept, was in zip(tried.changed, inconsistent, same, right, strict=True)
    ]
    kept = choose(torch.tensor(changed, device=cohort.device), tried.cohort, cohort)
    return Compressed(
        **vars(tried) | {"cohort": kept, "changed": changed}, inconsistent=inconsistent, right=right, same=same
    )


def _again(tried: Forgotten, cohort: Cohort, own: list[ExpertTrace], effort: Effort, noise: Noise | None) -> Forgotten:
    """Runs that could not be fitted, from a fresh carrier, where that is better."""
    failed = [k for k, merging in enumerate(tried.merged) if merging is not None and not tried.changed[k]]
    if not failed:
        return tried
    merged = [tried.merged[k] for k in failed]
    second = forget(_some(cohort, failed), [own[k] for k in failed], effort, worse=RISE, merged=merged, noise=noise)
    better = {run: k for k, run in enumerate(failed) if second.changed[k]}

    def pick(old: list[Any], new: list[Any]) -> list[Any]:
        return [new[better[run]] if run in better else value for run, value in enumerate(old)]

    parameters = {
        name: torch.stack(pick(list(value.detach()), list(second.cohort.parameters[name].detach())))
        for name, value in tried.cohort.parameters.items()
    }
    return replace(
        tried,
        cohort=_like(tried.cohort, tried.cohort.plan, parameters, tried.cohort.optimiser.diverged),
        steps=tried.steps + second.steps,
        **{key: pick(getattr(tried, key), getattr(second, key)) for key in ("changed", "reached", "loss")},
    )


def _some(cohort: Cohort, runs: list[int]) -> Cohort:
    """Some runs of a cohort."""
    plan = replace(cohort.plan, runs=tuple(cohort.plan.runs[k] for k in runs))
    parameters = {name: value.detach()[runs] for name, value in cohort.parameters.items()}
    return _like(cohort, plan, parameters, cohort.optimiser.diverged[runs])


def _like(cohort: Cohort, plan: Plan, parameters: dict[str, Tensor], diverged: Tensor) -> Cohort:
    """A cohort on the same recording at the same step."""
    made = Cohort(plan, cohort.given, str(cohort.device), parameters)
    made.optimiser.diverged |= diverged
    made.resume_at(cohort.step)
    return made


def _revised(cohort: Cohort, own: list[ExpertTrace], experts: list[ExpertTrace]) -> list[Merged | None]:
    """Revised codes that also keep the time where an action depends on it and nothing shows it, if codes suffice.

    Those of a robust learner at best also where a policy that has drifted may confuse steps.
    """
    (scene, clock), count = unseen_clock(cohort.data), cohort.plan.carrier.codes
    chance = experts[0].free if experts[0].free is not None else False
    words = pair(scene, experts[0].symbols)
    clocks: list[tuple[Ints, Ints | None]] = [(clock, None), (np.zeros_like(clock), None)]
    if cohort.plan.learner.robust:
        cluster, drifting = drifting_clock(cohort.data)
        clocks.insert(0, (drifting, np.where(drifting > 0, cluster, len(cluster) + words)))

    def seen(run: ExpertTrace, clock: Ints, shown: Ints | None) -> ExpertTrace:
        free = (clock == 0) & ((run.behaviour == 0) | chance)
        return replace(run, symbols=words, behaviour=pair(clock, run.behaviour), free=free, scene=shown)

    demands = [cache(partial(demanded, seen(experts[0], *now))) for now in clocks]  # experts differ in codes alone
    mergers = []
    for run, expert in zip(own, experts, strict=True):
        tries = (
            revised(seen(run, *now), seen(expert, *now), count, 1 - REACHED, demand)
            for now, demand in zip(clocks, demands, strict=True)
        )
        mergers.append(next((merged for merged in tries if merged is not None), None))
    return mergers


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
    decisions = np.zeros_like(symbols)
    for t, seen in enumerate(symbols):
        for symbol in np.unique(seen):
            here = np.flatnonzero(seen == symbol)
            kinds = np.unique(classes[t, here])
            if len(kinds) > 1:
                means = np.stack([expert[t, here[classes[t, here] == one]].mean(0) for one in kinds])
                apart = np.square(actions[t, here, None] - means).sum(-1)
                decisions[t, here] = 1 + kinds[apart.argmin(1)]
    return decisions


def expert_decisions(trace: ExpertTrace, cohort: Cohort) -> Ints:
    """What the expert decided, where there was something to decide."""
    if cohort.data.classes is None:
        raise UserError("data", "has no classes of action; only recordings with them can be compressed")
    return np.where(trace.behaviour > 0, 1 + cohort.data.classes.cpu().numpy(), 0)


def agreement(trace: ExpertTrace, behaviour: Ints) -> float:
    """The least weight, at any step, of the episodes that behave in the given way, or that may behave in any."""
    weight = trace.weight / trace.weight.sum()
    alike = (trace.behaviour == behaviour) | (False if trace.free is None else trace.free)
    return min(float(weight[row].sum()) for row in alike)
