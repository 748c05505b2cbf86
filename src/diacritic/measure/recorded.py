"""Codes on recorded episodes: plug-in rates and scores against the classes that the recording itself certifies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify import Model
from certify.core.colouring import Budget
from certify.core.relations import Relation
from certify.errors import UserError
from diacritic.measure.counts import Counts, Floats, Partition, correction
from diacritic.measure.plugin import Ints, conditional_entropy, joint
from diacritic.measure.scores import POSITIVE, Requirement, episode_nodes, uncoloured


@dataclass(frozen=True)
class Classes:
    """What a recording requires: Γ_t and G_t of every step and episode [T, N], and what they cost given Ō_t.

    At the `loose` steps compatibility is not transitive: `memory` numbers the kinds of ~_t there, and what is required
    is the least entropy of a proper colouring.
    """

    symbols: Ints
    memory: Ints  # Γ_t
    action: Ints  # G_t, the expert's law
    required: tuple[float, ...]  # H(Γ_t | Ō_t), or R_t
    decision: tuple[float, ...]  # H(G_t | Ō_t)
    loose: Mapping[int, Relation] = field(default_factory=dict)  # ~_t by step, from 0

    @staticmethod
    def of(symbols: ArrayLike, choices: ArrayLike) -> "Classes":
        """From symbols Ō_t and symbolic actions, both [T, N]; every episode counts once."""
        seen, acted = np.asarray(symbols, np.int64), np.asarray(choices, np.int64)
        if seen.shape != acted.shape or seen.ndim != 2:
            raise UserError("choices", f"shape {acted.shape}, but symbols have shape {seen.shape}")
        model = Model.from_arrays(seen.T, acted.T, empirical=True)
        relations = Requirement.of(model).relations
        unsettled = [t + 1 for t, relation in enumerate(relations) if not relation.decided]
        if unsettled:
            reason = f"compatibility is undecided at steps {unsettled}; record fewer episodes or coarser symbols"
            raise UserError("symbols", reason)
        nodes = episode_nodes(model)
        memory = [relation.kind[node] for relation, node in zip(relations, nodes, strict=True)]
        law = [level.law[node] for level, node in zip(model.graph.levels, nodes, strict=True)]
        loose = {t: relation for t, relation in enumerate(relations) if not relation.transitive}
        return Classes.costed(seen, np.stack(memory), np.stack(law), loose)

    @staticmethod
    def costed(symbols: Ints, memory: Ints, action: Ints, loose: Mapping[int, Relation]) -> "Classes":
        """Known classes, with what they cost among these episodes."""
        required = tuple(
            uncoloured(loose[t], memory[t], seen) if t in loose else conditional_entropy(memory[t], seen)
            for t, seen in enumerate(symbols)
        )
        decision = tuple(conditional_entropy(g, o) for g, o in zip(action, symbols, strict=True))
        return Classes(symbols, memory, action, required, decision, loose)

    def take(self, episodes: slice | Ints) -> "Classes":
        """Some of the episodes: the classes stay, their cost is counted again."""
        seen, memory, action = (values[:, episodes] for values in (self.symbols, self.memory, self.action))
        return Classes.costed(seen, memory, action, self.loose)

    @cached_property
    def partition(self) -> Partition:
        """The cells of (Ō, Γ, G); the classes are those of one Ō each."""

        def paired(values: Ints) -> Ints:
            return np.stack([joint(seen, x) for seen, x in zip(self.symbols, values, strict=True)])

        return Partition.of(symbols=self.symbols, memory=paired(self.memory), action=paired(self.action))


@dataclass(frozen=True)
class CohortScores:
    """Every run and step [S, T] in bits and scores; NaN where a score is not defined since nothing is required."""

    rate: Floats  # Ĥ(C_t | Ō_t)
    corrected_rate: Floats  # the same after Miller and Madow
    sufficiency: Floats  # S_Γ, or S_t by colouring
    corrected_sufficiency: Floats  # NaN also at loose steps
    instantaneous: Floats  # S_G
    surplus: Floats  # Ĥ(C_t | Γ_t, Ō_t); NaN at loose steps
    required: Floats  # [T]
    decision: Floats  # [T]


def score_cohort(codes: ArrayLike, classes: Classes, codebook: int | None = None) -> CohortScores:
    """Every step of many runs' hard codes [S, T, N] under the occupancy of the recording."""
    cells = classes.partition
    counts = Counts.of(codes, cells, codebook)
    symbol, memory, action = (cells.coarse[name] for name in ("symbols", "memory", "action"))
    required, decision = np.array(classes.required), np.array(classes.decision)
    rate, left = counts.code_entropy(symbol), counts.left(memory, symbol)
    met, occupied = counts.occupied(symbol), counts.occupied(memory)
    seen, classed = (_kinds(cells, labels) for labels in (symbol, memory))
    episodes = cells.cell.shape[1]
    sufficiency, surplus = _explained(left, required).clip(0, 1), counts.code_entropy(memory)
    corrected = _explained(left + correction(occupied, met, episodes), required + correction(classed, seen, episodes))
    budget = Budget(60.0)
    for t, relation in classes.loose.items():
        surplus[:, t] = corrected[:, t] = np.nan
        open_bits = [
            uncoloured(relation, classes.memory[t], joint(classes.symbols[t], code), budget)
            for code in np.asarray(codes)[:, t]
        ]
        sufficiency[:, t] = _explained(np.array(open_bits), required[t]).clip(0, 1)
    return CohortScores(
        rate,
        rate + correction(met, seen, episodes),
        sufficiency,
        corrected,
        _explained(counts.left(action, symbol), decision).clip(0, 1),
        surplus,
        required,
        decision,
    )


def until_the_end(codes: Ints, mask: NDArray[np.bool_] | None) -> Ints:
    """Codes [S, T, N] that say nothing after an episode's end; `mask` is that of the recording."""
    return codes if mask is None else np.where(mask, codes, 0)


def _explained(left: Floats, whole: Floats | float) -> Floats:
    """1 − left/whole, NaN where nothing is required."""
    whole = np.broadcast_to(whole, left.shape)
    return np.where(whole > POSITIVE, 1 - left / np.where(whole > POSITIVE, whole, 1.0), np.nan)


def _kinds(cells: Partition, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many values a variable takes at each step."""
    first = np.unique(labels, return_index=True)[1]
    return np.bincount(cells.step[first], minlength=len(cells.cell))
