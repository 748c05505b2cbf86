"""Forgetting: after training, merge what the learned memory itself never uses, and fit the carrier to the merged codes.

Nothing but the learned policy's own behaviour is asked. Two codes of one fiber (t, Ō_t) are merged where no later
behaviour under a common continuation distinguishes them; the merged states are then coded again, each keeping its code
for as long as possible; a carrier is fitted to those codes, every step in parallel, with the imitation loss kept. A run
whose transition does not reach its codes, or that imitates worse than before, keeps its old weights.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from certify.core.exact import Ints, pair, rank, representatives
from certify.errors import UserError
from certify.machines.merging import NONE, Coded, Merger, States, coded, minimise, persist
from diacritic.training.certified import adopt
from diacritic.training.cohort import Cohort, start
from diacritic.training.fit_transition import Effort, Noise, fit_transition
from diacritic.training.randomness import normal, uniform
from diacritic.training.transition_dataset import transition_dataset

Floats = NDArray[np.float64]
REACHED = 0.99  # share of steps at which the recurrence must reach its new code
_JUDGED = 105  # stream of random numbers
WORSE = 0.05  # largest rise of the imitation loss, relative and (on symbols) absolute


@dataclass(frozen=True)
class ExpertTrace:
    """What a run does on the expert's N episodes of T steps; everything is [T, N], and numbers stand for symbols."""

    codes: Ints  # C_t
    symbols: Ints  # Ō_t
    previous: Ints  # what was done before, as the transition distinguishes it; 0 at the first step
    behaviour: Ints  # what the policy does: its action, or its decision where there is one and a constant elsewhere
    weight: Floats  # [N]
    free: NDArray[np.bool_] | None = None  # where any behaviour will do, by step and symbol; none: nowhere
    scene: Ints | None = None  # what a look shows, by step and symbol; none: the symbol

    def __post_init__(self) -> None:
        shape = self.codes.shape
        for name in ("symbols", "previous", "behaviour"):
            if getattr(self, name).shape != shape:
                raise UserError(name, f"have shape {getattr(self, name).shape}, but codes have {shape}")
        if self.weight.shape != shape[1:]:
            raise UserError("weight", f"has shape {self.weight.shape}; expected one number for {shape[1]} episodes")

    @property
    def words(self) -> Ints:
        """(previous, symbol) as one number."""
        return self.previous * (int(self.symbols.max()) + 1) + self.symbols


@dataclass(frozen=True)
class Merged:
    """New codes of every step and episode, on the numbers of the learned ones."""

    codes: Ints  # [T, N]
    count: int  # how many different ones
    followed: float  # weight of the steps at which the merged machine and the merged learned codes agree


def learned_states(trace: ExpertTrace) -> States:
    """The learned machine on its episodes: states (t, Ō_t, C_t), each with its most frequent behaviour and successors.

    On a symbolic task a sole carrier's successors are certain; in a recording the symbol leaves some of O_t open.
    """
    words = trace.words
    states = States([], [], [], [], [], {}, int(words.max()) + 1, [])
    for t, (code, symbol) in enumerate(zip(trace.codes, trace.symbols, strict=True)):
        cell = pair(symbol, code)
        usual = most_frequent(cell, trace.behaviour[t], trace.weight)
        behaviour = usual if trace.free is None else np.where(trace.free[t], NONE, usual)
        shown = (symbol, code) if trace.scene is None else (trace.scene[t], cell)
        states.add(t, *shown, behaviour, trace.weight)
    for word, state in zip(words[0].tolist(), most_frequent(words[0], states.nodes[0], trace.weight), strict=True):
        states.first[word] = int(state)
    for t, (before, after) in enumerate(zip(states.nodes, states.nodes[1:], strict=False), 1):
        read = pair(before, words[t])
        one = representatives(*rank(read))
        moves = before[one], words[t][one], most_frequent(read, after, trace.weight)[one]
        for source, word, to in zip(*(column.tolist() for column in moves), strict=True):
            states.moves[source][word] = to
    return states


@dataclass(frozen=True)
class Machine:
    """The merged machine of a trace, its codes numbered from 0 by weight."""

    states: States
    coding: Coded
    codes: Ints  # [T, N]
    followed: float

    @staticmethod
    def of(trace: ExpertTrace) -> "Machine":
        """Merge what no later behaviour distinguishes."""
        states = learned_states(trace)
        merger = Merger(states)
        minimise(merger)
        persist(merger)
        coding = coded(merger)
        own = np.stack([coding.of_state[nodes] for nodes in states.nodes])
        walked = coding.walk(trace.words)
        new = np.where(walked == NONE, own, walked)
        share = float(((new == own) * trace.weight).sum() / trace.weight.sum() / len(new))
        return Machine(states, coding, new, share)

    def named(self, learned: ExpertTrace, count: int) -> Merged | None:
        """Its codes on the numbers of the learned ones that they overlap most with; None if they exceed `count`."""
        if self.coding.codes > count:
            return None
        names = _overlap(self.coding, self.states, learned, count)
        return Merged(names[self.codes], len(np.unique(self.codes)), self.followed)


def merge_codes(trace: ExpertTrace, count: int) -> Merged | None:
    """Codes that carry no more than the run's own later behaviour needs; None if they would be more than `count`."""
    return Machine.of(trace).named(trace, count)


def cohort_traces(cohort: Cohort) -> list[ExpertTrace]:
    """What every run of a cohort on a symbolic task does on its training episodes.

    That is its most probable action; where the expert chooses at random, the law that it was taught there, since which
    of equally good actions a code happens to prefer is nothing to remember.
    """
    data = cohort.data
    if data.symbol is None or not data.shape.symbolic:
        raise UserError("data", "is not a symbolic task; give `ExpertTrace` arrays of the recording instead")
    with torch.no_grad():
        trace = cohort.trace()
        codes, acts = trace.step_code.cpu().numpy(), trace.steps(trace.read("act").argmax(-1)).cpu().numpy()
    laws, law = torch.unique(data.target.flatten(0, 1).cpu(), dim=0, return_inverse=True)
    law = law.view(data.horizon, data.episodes).numpy()
    acts = np.where(laws.amax(-1).numpy()[law] < 1, data.shape.action + law, acts)
    symbols, previous = data.symbol.cpu().numpy(), data.previous_index.cpu().numpy()
    weight = data.weight.double().cpu().numpy()
    return [ExpertTrace(code, symbols, previous, act, weight) for code, act in zip(codes, acts, strict=True)]


@dataclass(frozen=True)
class Forgotten:
    """A cohort after forgetting, which of its runs have new weights, and the codes that each was to learn."""

    cohort: Cohort
    changed: list[bool]
    merged: list[Merged | None]
    steps: int
    reached: list[float]
    """Share of steps at which the fitted recurrence reaches its new code."""
    loss: list[tuple[float, float]]
    """The imitation loss before, and of the fitted run."""


def forget(
    cohort: Cohort,
    traces: list[ExpertTrace] | None = None,
    effort: Effort | None = None,
    fresh: bool = True,
    worse: float = WORSE,
    merged: list[Merged | None] | None = None,
    noise: Noise | None = None,
) -> Forgotten:
    """Fit every run to its own merged codes; runs that would lose by it stay as they are.

    The imitation loss may rise by 5 % and by `worse`. With `merged`, these codes are learned; a run with None stays.
    With `noise`, rows are fitted to, and imitation is judged, under fresh noise, which no run can know by heart.

    A fresh carrier learns them faster than the trained one unlearns its own; without `fresh` the trained one goes on.
    """
    traces = cohort_traces(cohort) if traces is None else traces
    count, data = cohort.plan.carrier.codes, cohort.data
    merged = [merge_codes(run, count) for run in traces] if merged is None else merged
    codes = [run.codes if merging is None else merging.codes for run, merging in zip(traces, merged, strict=True)]
    given = torch.from_numpy(np.stack(codes)).to(cohort.device, torch.int64)
    before = _imitation(cohort, noise)
    begun = start(cohort.plan, cohort.given) if fresh else cohort.parameters
    begun = {name: value.to(cohort.device) for name, value in begun.items()}
    fit = fit_transition(begun, cohort.plan.carrier, data, transition_dataset(data, given, count), effort, noise)
    after = adopt(cohort.plan, cohort.given, fit, str(cohort.device))
    with torch.no_grad():
        reached = (after.trace().step_code == given).flatten(1).to(before.dtype).mean(1)
    loss = _imitation(after, noise)
    losing = loss > before + WORSE * before.abs() + worse
    mergeable = torch.tensor([merging is not None for merging in merged]).to(reached.device)
    good = (reached >= REACHED) & ~losing & ~fit.diverged & mergeable
    losses = list(zip(before.tolist(), loss.tolist(), strict=True))
    return Forgotten(choose(good, after, cohort), good.tolist(), merged, fit.steps, reached.tolist(), losses)


def choose(good: Tensor, after: Cohort, before: Cohort) -> Cohort:
    """The runs of one cohort where they are good, [S], and those of the other elsewhere."""
    parameters = {
        name: torch.where(good.view(-1, *[1] * (value.dim() - 1)), after.parameters[name], value).detach()
        for name, value in before.parameters.items()
    }
    chosen = Cohort(before.plan, before.given, str(before.device), parameters)
    chosen.optimiser.diverged |= before.optimiser.diverged
    chosen.resume_at(before.step)
    return chosen


@torch.no_grad()
def _imitation(cohort: Cohort, noise: Noise | None = None) -> Tensor:
    """The imitation loss of every run in the closed recurrence, on observations as they are or with more noise."""
    if noise is not None:
        seen, parameters = cohort.given.observation, {name: value.detach() for name, value in cohort.parameters.items()}
        luck = normal(uniform(torch.zeros(1, dtype=torch.int64), 0, _JUDGED, (2, *seen.shape)))[0]
        given = replace(cohort.given, observation=seen + (noise.observation.cpu() * luck).to(seen))
        cohort = Cohort(cohort.plan, given, str(cohort.device), parameters)
    return cohort.plan.learner.terms[0].loss(cohort.trace(), cohort.data, cohort.schedule)


def most_frequent(group: Ints, value: Ints, weight: Floats) -> Ints:
    """Of each entry: the value that carries most weight in its group, the smallest among equals."""
    groups = rank(group)[0]
    cell, cells = rank(pair(groups, value))
    mass = np.bincount(cell, weight, minlength=cells)
    order = np.lexsort((value, -mass[cell], groups))
    first = order[np.r_[True, np.diff(groups[order]) > 0]]
    return value[first][groups]


def inconsistent_share(trace: ExpertTrace) -> float:
    """The largest weight, at any step, of the episodes that do not behave as is usual in their state (t, Ō_t, C_t)."""
    steps = zip(trace.symbols, trace.codes, trace.behaviour, strict=True)
    weight = trace.weight / trace.weight.sum()
    return max(float(weight[most_frequent(pair(seen, code), did, weight) != did].sum()) for seen, code, did in steps)


def _overlap(coding: Coded, states: States, trace: ExpertTrace, count: int) -> Ints:
    """For every merged code one of the learned ones, different for each: the heaviest overlaps first."""
    shared = np.zeros((coding.codes, count))
    for nodes, codes in zip(states.nodes, trace.codes, strict=True):
        np.add.at(shared, (coding.of_state[nodes], codes), trace.weight)
    names = np.full(coding.codes, NONE)
    for index in np.argsort(-shared, axis=None, kind="stable"):
        new, old = divmod(int(index), count)
        if names[new] == NONE and old not in names:
            names[new] = old
    return names
