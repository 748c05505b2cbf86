"""Revision: after training, split codes that confuse demonstrations, and merge what nothing later uses.

A run confuses two episodes where it is in one state (Ō_t, C_t) for both and the expert acts differently. Such a run is
given the codes that its own training demonstrations ask for: their histories are the states, the expert's action is the
behaviour, and what no later action under a common continuation distinguishes is merged. A run that confuses nothing
forgets as before. Symbols and actions of the training episodes are all that is used: no certificate, no other episode.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from certify.core.exact import Ints, pair, rank
from diacritic.training.cohort import Cohort
from diacritic.training.data import Data
from diacritic.training.fit_transition import Effort
from diacritic.training.forgetting import (
    ExpertTrace,
    Forgotten,
    Machine,
    Merged,
    cohort_traces,
    forget,
    inconsistent_share,
    merge_codes,
)

MOST_STATES = 200_000  # histories of all steps that are compared


@dataclass(frozen=True)
class Conflict:
    """Episodes of one state in which the expert acts differently; steps count from 0."""

    step: int
    """Where the actions differ."""
    symbol: int
    code: int
    share: float
    """The weight of the episodes that act otherwise than is usual in the state."""
    episodes: tuple[int, int]
    """One that acts as usual, and one that does not."""
    parted: int
    """The first step at which what they saw or did differs."""
    merged: int | None
    """The first step from which on their codes agree; none: they never differed, so that nothing was ever noticed."""

    def __str__(self) -> str:
        lost = "was never encoded" if self.merged is None else f"was lost at step {self.merged}"
        first, second = self.episodes
        where = f"step {self.step}, symbol {self.symbol}, code {self.code}: {self.share:.1%} of the episodes"
        return f"{where}; what parts episodes {first} and {second} at step {self.parted} {lost}"


def conflicts(trace: ExpertTrace) -> list[Conflict]:
    """Every confused state of a run, the heaviest first; `trace.behaviour` is the expert's."""
    listed, words, weight = [], trace.words, trace.weight / trace.weight.sum()
    for t, (seen, code, did) in enumerate(zip(trace.symbols, trace.codes, trace.behaviour, strict=True)):
        label, count = rank(pair(seen, code))
        for state in range(count):
            here = np.flatnonzero(label == state)
            acts, kind = np.unique(did[here], return_inverse=True)
            if len(acts) == 1:
                continue
            mass = np.bincount(kind, weight[here])
            usual, other = here[kind == mass.argmax()], here[kind != mass.argmax()]
            a, b = _latest_parting(words[: t + 1], usual, other)
            differ = np.flatnonzero(trace.codes[: t + 1, a] != trace.codes[: t + 1, b])
            merged = int(differ[-1]) + 1 if len(differ) else None
            parted = int(np.flatnonzero(words[: t + 1, a] != words[: t + 1, b])[0])
            share = float(weight[other].sum())
            listed.append(Conflict(t, int(seen[here[0]]), int(code[here[0]]), share, (int(a), int(b)), parted, merged))
    return sorted(listed, key=lambda one: -one.share)


def _latest_parting(words: Ints, usual: Ints, other: Ints) -> tuple[int, int]:
    """Of the first episodes of either kind, the two that agree for longest: the fewest differences to explain it."""
    a, b = usual[:64], other[:64]
    apart = words[:, a, None] != words[:, None, b]
    first = np.where(apart.any(0), apart.argmax(0), -1)
    row, column = np.unravel_index(int(first.argmax()), first.shape)
    return int(a[row]), int(b[column])


def histories(words: Ints) -> Ints:
    """Of every step and episode the number of its history so far, [T, N]; numbers of different steps are unrelated."""
    numbers = [rank(words[0])[0]]
    for now in words[1:]:
        numbers.append(rank(pair(numbers[-1], now))[0])
    return np.stack(numbers)


def without_chance(trace: ExpertTrace) -> ExpertTrace:
    """The same, free wherever the expert acts by chance: where equal histories show different actions."""
    behaviour, free = trace.behaviour.copy(), np.zeros(trace.codes.shape, bool)
    for t, past in enumerate(histories(trace.words)):
        _, first = np.unique(pair(past, behaviour[t]), return_index=True)
        several = np.bincount(past[first])[past] > 1
        free[t] = np.isin(trace.symbols[t], trace.symbols[t][several])
    return replace(trace, behaviour=np.where(free, 0, behaviour), free=free)


def demanded(trace: ExpertTrace) -> Machine | None:
    """The machine that the demonstrations ask for, whatever codes a run has; None: too many histories to compare."""
    past = histories(trace.words)
    return None if int((past.max(1) + 1).sum()) > MOST_STATES else Machine.of(replace(trace, codes=past))


def expert_actions(data: Data, own: ExpertTrace) -> ExpertTrace:
    """A run of a symbolic task with the expert's behaviour in place of its own."""
    laws, law = np.unique(data.target.flatten(0, 1).cpu().numpy(), axis=0, return_inverse=True)
    law = law.reshape(own.codes.shape)
    sure = laws.max(-1)[law] == 1
    return without_chance(replace(own, behaviour=np.where(sure, laws.argmax(-1)[law], data.shape.action + law)))


def revise(cohort: Cohort, effort: Effort | None = None) -> Forgotten:
    """Every run of a cohort on a symbolic task, with the codes that it needs; one that cannot be fitted stays."""
    count, own = cohort.plan.carrier.codes, cohort_traces(cohort)
    expert = [expert_actions(cohort.data, run) for run in own]
    return forget(cohort, own, effort, merged=[revised(*both, count) for both in zip(own, expert, strict=True)])


def revised(
    own: ExpertTrace,
    expert: ExpertTrace,
    count: int,
    tolerance: float = 0.0,
    demand: Callable[[], Machine | None] | None = None,
) -> Merged | None:
    """New codes of a run: its own, merged, where these fix what the expert does; else what the demonstrations ask for.

    At every step episodes of this weight may differ from what is usual in their state. Runs of one recording share its
    `demand`, that of `demanded(expert)`.
    """
    merged = merge_codes(own, count)
    if merged is not None and inconsistent_share(replace(expert, codes=merged.codes)) <= tolerance:
        return merged
    machine = demanded(expert) if demand is None else demand()
    return None if machine is None else machine.named(expert, count)
