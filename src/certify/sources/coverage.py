"""What a finite recording leaves open: what was never seen (Good–Turing), and the spread of its rates (bootstrap)."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from certify.core.exact import Ints, conditional_entropy, group_sums, pair, rank, representatives
from certify.core.floors import Floor, floors
from certify.core.graph import Episodes, Graph, Laws, build
from certify.core.model import Model, episode_nodes
from certify.core.relations import Relation, compatibility, strong_classes
from certify.errors import UserError
from certify.show import bits

MOST_HISTORIES = 500  # of a model whose resamples are certified again
MOST_KINDS = 8  # in one colouring of such a model
FEW = 16  # episodes: a shorter list was written by hand, each of them once
LEVEL = 0.95
_SECONDS = 60.0  # for all colourings of a bootstrap together; what they leave open widens the intervals
_MOST_NAMES = 8


class Interval(NamedTuple):
    """Ends of a 95 % percentile interval, in bits."""

    low: float
    high: float


@dataclass(frozen=True)
class Coverage:
    """How often each latent configuration, or each trajectory, was recorded, and what is missing."""

    unit: str  # what is counted
    counts: Mapping[Hashable, int]
    unseen: tuple[Hashable, ...] | None  # of the full set, where one was given
    undrawn: int  # (history, action) pairs that a law allows and no episode took, before the last step

    @property
    def episodes(self) -> int:
        return sum(self.counts.values())

    @property
    def missing_mass(self) -> Fraction:
        """Good–Turing: the share n₁/N of the episodes whose like was recorded once."""
        return Fraction(sum(count == 1 for count in self.counts.values()), self.episodes)

    def lines(self) -> list[str]:
        """The coverage in words."""
        full = "" if self.unseen is None else f" of {len(self.counts) + len(self.unseen)}"
        said = [
            f"coverage: {len(self.counts)}{full} {self.unit} in {self.episodes} episodes; "
            f"missing mass {self.missing_mass} (Good–Turing: the chance that the next one is new)"
        ]
        if self.unseen:
            named = ", ".join(map(str, self.unseen[:_MOST_NAMES]))
            said.append(f"never recorded: {named}" + (", …" if len(self.unseen) > _MOST_NAMES else ""))
        if self.undrawn:
            said.append(f"actions that a law allows but nobody took: {self.undrawn}; what follows them is unknown")
        return said


@dataclass(frozen=True)
class Recording:
    """The model of recorded episodes: the weight of a trajectory is how often it was recorded."""

    model: Model
    latents: Mapping[Hashable, int] | None = None  # how often each latent configuration was recorded

    @property
    def episodes(self) -> Episodes:
        """The distinct trajectories; `origin` is the first episode that took each."""
        if self.model.episodes is None:
            raise UserError("", "a recording needs a model that lists its episodes")
        return self.model.episodes

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each distinct trajectory was recorded."""
        return tuple(int(weight) for weight in self.episodes.weight)

    @property
    def artefact(self) -> str:
        """Why the rates say little of the expert: most trajectories were recorded once. Empty where they were not."""
        once, every = sum(count == 1 for count in self.counts), sum(self.counts)
        if every < FEW or 2 * once <= every:
            return ""
        remedy = "merge symbols, or ask `diacritic need` of the raw numbers"
        return f"artefact: {once} of {every} trajectories were recorded once, so rates count noise as memory; {remedy}"

    @cached_property
    def floors(self) -> list[Floor]:
        """The least memory of each step for these counts, as `certify` finds it."""
        return _floors(self.model.graph, self._relations, _SECONDS)

    @cached_property
    def _relations(self) -> list[Relation]:
        return compatibility(self.model.graph)

    @cached_property
    def small(self) -> bool:
        """Whether the bootstrap certifies each resample again: few histories, and colourings of few kinds."""
        widest = max((len(matrix) for relation in self._relations for matrix in relation.conflicts.values()), default=0)
        return sum(level.size for level in self.model.graph.levels) <= MOST_HISTORIES and widest <= MOST_KINDS

    def bootstrap(self, resamples: int = 200, seed: int = 0) -> tuple[Interval, ...]:
        """A 95 % percentile interval of every step's rate: whole episodes drawn with replacement, as many as there are.

        In a small model (at most 500 histories, and no colouring of more than 8 kinds) every resample is rebuilt and
        certified again, so that a trajectory that happens to be missing changes the requirement as it would in a new
        recording. In a larger one the cells that are best on all the data are kept and only their masses drawn again.
        A resample never shows more than the data do, so the interval leans low: read it beside the missing mass.
        """
        if resamples < 1:
            raise UserError("resamples", f"expected at least one resample, not {resamples}")
        draw = np.random.default_rng(seed)
        bounds = np.cumsum(self.counts)
        kept = None if self.small else _Kept(self.model, self.floors)
        ends = np.empty((2, resamples, self.model.horizon))
        for k in range(resamples):
            drawn = np.searchsorted(bounds, draw.integers(0, bounds[-1], bounds[-1]), side="right")
            weight = np.bincount(drawn, minlength=len(bounds)).astype(np.int64)
            ends[:, k] = _resampled(self.episodes, weight, _SECONDS / resamples) if kept is None else kept.rates(weight)
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(ends[0], tail, axis=0), np.quantile(ends[1], 1 - tail, axis=0)
        return tuple(map(Interval, low.tolist(), high.tolist()))

    def coverage(self, latents: Iterable[Any] | None = None) -> Coverage:
        """What was seen and how often: latent configurations if they were recorded, else distinct trajectories.

        `latents` is the full set of configurations; those never recorded are listed.
        """
        undrawn = _undrawn(self.model.graph)
        if self.latents is None:
            if latents is not None:
                raise UserError("latents", "none were recorded; give the latent configuration of each episode")
            return Coverage("different trajectories", dict(enumerate(self.counts)), None, undrawn)
        full = None if latents is None else tally(latents)
        strange = [item for item in self.latents if full is not None and item not in full]
        if strange:
            raise UserError("latents", f"the recorded configuration {strange[0]!r} is not in the full set")
        unseen = None if full is None else tuple(item for item in full if item not in self.latents)
        return Coverage("latent configurations", self.latents, unseen, undrawn)

    def report(self, latents: Iterable[Any] | None = None, resamples: int = 200, seed: int = 0) -> str:
        """The rate of every step with its interval beside it, then the coverage."""
        graph, counts = self.model.graph, self.counts
        rows = [("t", "rate", "95 % interval")]
        for t, (floor, interval) in enumerate(zip(self.floors, self.bootstrap(resamples, seed), strict=True)):
            rate = bits(floor.upper) if floor.proved else _range(floor.lower, floor.upper)
            rows.append((str(t + 1), rate, _range(*interval)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        how = "each certified again" if self.small else "the cells of the full data kept"
        lines = [
            f"{self.model.name or 'recording'}: {sum(counts)} episodes, {len(counts)} of them different, "
            f"{graph.horizon} steps",
            *("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows),
            f"interval: {resamples} resamples of whole episodes, {how}",
            *self.coverage(latents).lines(),
            *filter(None, [self.artefact]),
        ]
        mixed = [str(t + 1) for t, level in enumerate(graph.levels) if level.mixed]
        if mixed:
            lines.append(f"(A2) fails at step {', '.join(mixed)}: everything is computed for P(A_t | H_t)")
        return "\n".join(lines)


def tally(latents: Iterable[Any]) -> dict[Hashable, int]:
    """How often each latent configuration occurs; arrays and lists count as tuples."""
    counts: dict[Hashable, int] = {}
    for k, latent in enumerate(latents):
        value = _plain(latent)
        if value is None or not isinstance(value, Hashable):
            raise UserError(f"latents[{k}]", f"{latent!r} is not a configuration; give text, a number or a tuple")
        counts[value] = counts.get(value, 0) + 1
    return counts


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _range(low: float, high: float) -> str:
    return f"[{bits(low)}, {bits(high)}]"


def _undrawn(graph: Graph) -> int:
    """Actions of positive probability after a history that lead nowhere in the model."""
    missing = 0
    for level in graph.levels[:-1]:
        drawn = rank(pair(level.source, level.action))[1]
        missing += sum(len(graph.laws[law]) for law in level.law.tolist()) - drawn
    return missing


def _floors(graph: Graph, relations: list[Relation], seconds: float) -> list[Floor]:
    return floors(graph, relations, strong_classes(graph), seconds)


def _resampled(episodes: Episodes, weight: Ints, seconds: float) -> tuple[list[float], list[float]]:
    """Both ends of every step's least memory, had only these episodes been recorded."""
    kept = np.flatnonzero(weight)
    drawn = replace(
        episodes,
        observation=episodes.observation[kept],
        action=episodes.action[kept],
        law=episodes.law[kept],
        weight=weight[kept],
        laws=Laws(episodes.laws.table),  # a copy: building interns the averages of laws that disagree
        origin=episodes.origin[kept],
        empirical=True,
    )
    graph = build(drawn)
    floors = _floors(graph, compatibility(graph), seconds)
    return [floor.lower for floor in floors], [floor.upper for floor in floors]


class _Kept:
    """Fixed cells P_t, whose H(P_t | O_t) is asked for under other weights of the episodes."""

    def __init__(self, model: Model, floors: list[Floor]) -> None:
        assert model.episodes is not None, "a recording lists its episodes"
        self.columns: list[tuple[Ints, Ints]] = []  # of each step: every episode's cell, and every cell's fiber
        for floor, node, seen in zip(floors, episode_nodes(model), model.episodes.observation.T, strict=True):
            cell, cells = rank(pair(seen, floor.cells[node]))
            self.columns.append((cell, rank(seen)[0][representatives(cell, cells)]))

    def rates(self, weight: Ints) -> list[float]:
        result: list[float] = []
        for cell, fiber in self.columns:
            masses = group_sums(cell, weight, len(fiber))
            wholes = group_sums(fiber, masses, len(fiber))[fiber]
            drawn = masses > 0
            result.append(conditional_entropy(masses[drawn], wholes[drawn], int(weight.sum())))
        return result
