"""Attribution by intervention: is it the code that decides, and nothing else?

Two episodes i ≠ j show the same symbols Ō_t … Ō_s and act alike until s, where the expert's laws differ: only what is
remembered can tell them apart. Between steps t and s the running policy is changed, and its decision at s is compared
with those that it makes unchanged. *Swap*: the code of j, everything else from i. *Shuffle*: everything else from a
policy that really saw the past of j, the code of i. *Reset*: no code yet. *Freeze*: the code of step t, put back before
every later step. Where the code alone carries the memory, a swap moves the decision of i to that of j, a shuffle moves
nothing, and after a reset i and j are no longer distinguished: their decisions are then the same or random. A freeze
passes no judgement: it shows whether the code of step t holds all the rest of the way. Steps count from 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from certify import Model
from certify.errors import UserError
from diacritic.measure.plugin import Floats, Ints, joint
from diacritic.measure.scores import episode_nodes
from diacritic.rollout.machine import CodeMachine

CODE = ("code", "embedding")  # fields of a state that are the code; the embedding is its vector
MOST_PAIRS = 4096  # more than these are drawn instead of listed
CLEAR = 0.9  # share of the pairs that must behave as named
DECISIVE = 0.1  # and share that may not
DOUBT = 0.1  # level of the sign test where pairs are drawn
TOLD = 0.8  # share that must be distinguished where noise could do it, too


class Policy(Protocol):
    """Anything with an explicit state: a dataclass with a field `code`, or an array that is all of the memory."""

    def begin(self, batch: int) -> Any: ...

    def step(self, state: Any, observation: Any, previous_action: Any) -> tuple[Any, Any, Any]:
        """The new state, the code C_t [batch] and the action [batch, …]."""
        ...


@dataclass(frozen=True)
class Episodes:
    """N weighted episodes of T steps: what a policy reads, and what is known of it in symbols."""

    observations: Any  # [T, N, …]
    previous: Any  # [T, N, …]: the action before each step, as the policy reads it
    symbols: Ints  # Ō_t, [T, N]
    actions: Ints  # the expert's symbolic actions, [T, N]
    laws: Ints  # G_t: what the expert does there, [T, N]; the actions themselves where they are a function of history
    weights: Floats  # [N]


@dataclass(frozen=True)
class Effect:
    """Shares of the pairs, by weight: the decision became the partner's, stayed the own, or is a third one."""

    partner: float
    own: float

    @property
    def excess(self) -> float:
        """Own beyond the partner's: decisions by lot are as often the one as the other."""
        return self.own - self.partner


@dataclass(frozen=True)
class Trial:
    """One decision, interfered with after one step. Effects are None where it tells too few pairs apart."""

    name: str
    after: int  # t
    decision: int  # s
    pairs: int
    exact: bool  # every pair with its weight, not a draw of them
    decided: float  # share of the pairs that the unchanged policy distinguishes
    swap: Effect | None = None
    shuffle: Effect | None = None
    reset: Effect | None = None  # own: both keep their decisions; partner: they exchange them
    freeze: Effect | None = None

    @property
    def against(self) -> dict[str, str]:
        """What speaks against the code as the only carrier, by intervention; nothing where nothing is decided."""
        if self.swap is None or self.shuffle is None or self.reset is None:
            return {}
        reasons = {}
        if not self.swap.partner > CLEAR:
            reasons["swap"] = f"{self.name}: swapped codes swap {self.swap.partner:.0%} of the decisions"
        if not self.shuffle.own > CLEAR:
            changed = 1 - self.shuffle.own
            reasons["shuffle"] = f"{self.name}: another past with the same code changes {changed:.0%} of them"
        if not self.reset.excess < DECISIVE and (self.exact or self._beyond_chance(self.reset)):
            told = self.reset.excess
            reasons["reset"] = f"{self.name}: {told:.0%} of the pairs are still distinguished without a code"
        return reasons

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(self.against.values())

    def _beyond_chance(self, effect: Effect) -> bool:
        """A sign test of own against partner; of pairs that are drawn every one counts half, for it may come twice."""
        half = self.pairs * self.decided / 2
        own, other = round(half * effect.own), round(half * effect.partner)
        return sum(comb(own + other, k) for k in range(own, own + other + 1)) <= DOUBT * 2 ** (own + other)


@dataclass(frozen=True)
class Attribution:
    """All trials of one policy."""

    trials: tuple[Trial, ...]

    @property
    def passed(self) -> bool | None:
        """None where the policy tells no two histories apart that look alike and ask for different actions."""
        return not self.failures if any(trial.swap for trial in self.trials) else None

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(text for trial in self.trials for text in trial.failures)


Decide = Callable[[Any, int], Ints]


def likeliest(actions: Any, step: int) -> Ints:
    """The decision of a policy that gives logits or probabilities."""
    return np.asarray(actions).argmax(-1)


def attribute(
    policy: Policy,
    episodes: Episodes,
    decisions: Sequence[int],
    decide: Decide = likeliest,
    seed: int = 0,
    most: int = MOST_PAIRS,
    least: float = 0.0,
) -> Attribution:
    """Interfere before every decision step s: after the last step before it, the first that allows pairs, and midway.

    Every pair counts with the product of its weights; of more than `most` pairs so many are drawn by that weight.
    Where observations are noisy, noise alone tells some pairs apart: `least` is the share that memory must exceed.
    """
    T = len(episodes.symbols)
    for s in decisions:
        if not 0 <= s < T:
            raise UserError("decisions", f"step {s} lies outside the {T} steps of the episodes")
    rng, trials = np.random.default_rng(seed), []
    own = _decisions(policy, episodes, decisions, decide)
    for s in decisions:
        for t in _moments(episodes, s):
            pairs = _pairs(episodes, t, s, rng, most)
            trials.append(_try(policy, episodes, decide, own[s], pairs, t, s, least))
    return Attribution(tuple(trials))


def with_code(state: Any, donor: Any) -> Any:
    """The state with the code of another; an array is all code."""
    if not hasattr(state, "__dataclass_fields__"):
        return donor
    names = [name for name in CODE if getattr(state, name, None) is not None]
    if not names:
        raise UserError("policy", f"its state {type(state).__name__} has no field {' or '.join(CODE)} to intervene on")
    return replace(state, **{name: getattr(donor, name) for name in names})


class MachinePolicy:
    """A code machine on symbols: reads numbers of observations and actions (A: none yet)."""

    def __init__(self, machine: CodeMachine) -> None:
        self.machine = machine

    def begin(self, batch: int) -> Ints:
        return np.full(batch, self.machine.codes)

    def step(self, state: Ints, observation: Ints, previous_action: Ints) -> tuple[Ints, Ints, Floats]:
        code = self.machine.advance(*(np.asarray(part, np.int64) for part in (state, observation, previous_action)))
        return code, code, self.machine.act[code, observation]


def model_episodes(model: Model) -> Episodes:
    """Every episode of a model with its probability, as `MachinePolicy` reads it."""
    episodes = model.episodes
    if episodes is None:
        raise UserError("model", "its histories are merged, so they cannot all be listed; draw demonstrations instead")
    action = episodes.action.T
    none = np.full((1, action.shape[1]), len(model.graph.actions))
    nodes = zip(model.graph.levels, episode_nodes(model), strict=True)
    laws = np.stack([level.law[node] for level, node in nodes])
    weight = episodes.weight.astype(np.float64)
    seen = episodes.observation.T
    return Episodes(seen, np.concatenate([none, action[:-1]]), seen, action, laws, weight / weight.sum())


def _play(
    policy: Policy, episodes: Episodes, rows: Ints, state: Any, first: int, last: int, held: Any = None
) -> tuple[Any, Any]:
    """The state and action after steps first … last of these episodes; `held` puts a code back before each."""
    action = None
    for u in range(first, last + 1):
        state = state if held is None else with_code(state, held)
        state, _, action = policy.step(state, episodes.observations[u][rows], episodes.previous[u][rows])
    return state, action


def _decisions(policy: Policy, episodes: Episodes, steps: Sequence[int], decide: Decide) -> dict[int, Ints]:
    """What the unchanged policy decides in every episode."""
    everyone = np.arange(episodes.symbols.shape[1])
    state, decisions, before = policy.begin(len(everyone)), {}, -1
    for s in sorted(set(steps)):
        state, action = _play(policy, episodes, everyone, state, before + 1, s)
        decisions[s], before = decide(action, s), s
    return decisions


def _moments(episodes: Episodes, s: int) -> list[int]:
    """The last, the middle and the first step before s from which histories run alike and yet part at s."""
    first, alike = s, joint(episodes.symbols[s])
    while first > 0:
        alike = joint(alike, episodes.symbols[first - 1], episodes.actions[first - 1])
        if not (joint(alike, episodes.laws[s]).max() > alike.max()):
            break
        first -= 1
    return sorted({first, (first + s - 1) // 2, s - 1}) if first < s else []


class _Pairs(NamedTuple):
    host: Ints
    donor: Ints
    weight: Floats
    exact: bool  # these are all


def _pairs(episodes: Episodes, t: int, s: int, rng: np.random.Generator, most: int) -> _Pairs:
    alike = joint(*episodes.symbols[t : s + 1], *episodes.actions[t:s])
    law, weight = episodes.laws[s], episodes.weights
    size = np.bincount(alike)[alike] - np.bincount(part := joint(alike, law))[part]
    if int(size.sum()) <= most:
        some = np.flatnonzero(size)
        one, two = np.nonzero((alike[some, None] == alike[some]) & (law[some, None] != law[some]))
        host, donor = some[one], some[two]
        mass = weight[host] * weight[donor]
        return _Pairs(host, donor, mass / mass.sum(), True)
    others = np.bincount(alike, weight)[alike] - np.bincount(part, weight)[part]
    chance = np.where(size > 0, weight * others, 0.0)
    host = rng.choice(len(law), most, p=chance / chance.sum())
    donor = np.empty_like(host)
    for label in np.unique(part[host]):
        mine = np.flatnonzero(part[host] == label)
        one = host[mine[0]]
        share = np.where((alike == alike[one]) & (law != law[one]), weight, 0.0)
        donor[mine] = rng.choice(len(law), len(mine), p=share / share.sum())
    return _Pairs(host, donor, np.full(most, 1 / most), False)


def _try(
    policy: Policy, episodes: Episodes, decide: Decide, own: Ints, pairs: _Pairs, t: int, s: int, least: float
) -> Trial:
    decided, weight = own[pairs.host] != own[pairs.donor], pairs.weight
    total = float(weight[decided].sum() / weight.sum())
    trial = Trial(f"step {s + 1}, changed after {t + 1}", t, s, len(decided), pairs.exact, total)
    if not trial.decided > least:
        return trial
    host, donor = pairs.host[decided], pairs.donor[decided]
    share = weight[decided] / weight[decided].sum()

    def after(rows: Ints) -> Any:
        return _play(policy, episodes, rows, policy.begin(len(rows)), 0, t)[0]

    def then(rows: Ints, state: Any, held: Any = None) -> Ints:
        return decide(_play(policy, episodes, rows, state, t + 1, s, held)[1], s)

    mine, theirs, none = after(host), after(donor), policy.begin(len(host))
    swap = then(host, with_code(after(host), theirs))
    shuffle = then(host, with_code(after(donor), mine))
    reset = then(host, with_code(after(host), none)), then(donor, with_code(after(donor), none))
    frozen = then(host, after(host), mine)

    def effect(decided: Ints) -> Effect:
        return Effect(_mass(share, decided == own[donor]), _mass(share, decided == own[host]))

    kept = (reset[0] == own[host]) & (reset[1] == own[donor])
    crossed = (reset[0] == own[donor]) & (reset[1] == own[host])
    erased = Effect(_mass(share, crossed), _mass(share, kept))
    return replace(trial, swap=effect(swap), shuffle=effect(shuffle), reset=erased, freeze=effect(frozen))


def _mass(share: Floats, chosen: NDArray[np.bool_]) -> float:
    return float(min(1.0, share[chosen].sum()))
