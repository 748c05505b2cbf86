"""Codes on recorded episodes: plug-in rates and scores against the classes that the recording itself certifies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify import Model
from certify.errors import ModelError
from diacritic.measure.plugin import conditional_entropy, joint
from diacritic.measure.scores import POSITIVE, Requirement, episode_nodes

Ints = NDArray[np.integer[Any]]
SUFFICIENT = 0.9


@dataclass(frozen=True)
class Classes:
    """What a recording requires: Γ_t and G_t of every step and episode [T, N], and what they cost given Ō_t."""

    symbols: Ints
    memory: Ints  # Γ_t
    action: Ints  # G_t, the expert's law
    required: tuple[float, ...]  # H(Γ_t | Ō_t)
    decision: tuple[float, ...]  # H(G_t | Ō_t)

    @staticmethod
    def of(symbols: ArrayLike, choices: ArrayLike) -> "Classes":
        """From symbols Ō_t and symbolic actions, both [T, N]; every episode counts once."""
        seen, acted = np.asarray(symbols, np.int64), np.asarray(choices, np.int64)
        if seen.shape != acted.shape or seen.ndim != 2:
            raise ModelError("choices", f"shape {acted.shape}, but symbols have shape {seen.shape}")
        model = Model.from_arrays(seen.T, acted.T, empirical=True)
        requirement = Requirement.of(model)
        unsettled = [t + 1 for t, relation in enumerate(requirement.relations) if not relation.transitive]
        if unsettled:
            raise ModelError("symbols", f"compatibility is not transitive at steps {unsettled}; Γ does not exist there")
        nodes = episode_nodes(model)
        memory = [relation.kind[node] for relation, node in zip(requirement.relations, nodes, strict=True)]
        law = [level.law[node] for level, node in zip(model.graph.levels, nodes, strict=True)]
        return Classes(
            seen,
            np.stack(memory),
            np.stack(law),
            tuple(conditional_entropy(g, o) for g, o in zip(memory, seen, strict=True)),
            tuple(conditional_entropy(g, o) for g, o in zip(law, seen, strict=True)),
        )


@dataclass(frozen=True)
class CodeScore:
    """One step: bits, and scores in [0, 1] where something is required."""

    t: int
    rate: float  # Ĥ(C_t | Ō_t)
    required: float  # Ĥ(Γ_t | Ō_t)
    sufficiency: float | None  # S_Γ
    instantaneous: float | None  # S_G
    surplus: float  # Ĥ(C_t | Γ_t, Ō_t)


def score_codes(codes: ArrayLike, classes: Classes) -> tuple[CodeScore, ...]:
    """Every step of one run's hard codes [T, N] under the occupancy of the recording."""
    table = np.asarray(codes)
    if table.shape != classes.symbols.shape:
        raise ModelError("codes", f"shape {table.shape}, but the recording has {classes.symbols.shape}")
    found = []
    for t, (code, seen) in enumerate(zip(table, classes.symbols, strict=True)):
        given = joint(code, seen)
        need, now = classes.required[t], classes.decision[t]
        found.append(
            CodeScore(
                t + 1,
                conditional_entropy(code, seen),
                need,
                1 - conditional_entropy(classes.memory[t], given) / need if need > POSITIVE else None,
                1 - conditional_entropy(classes.action[t], given) / now if now > POSITIVE else None,
                conditional_entropy(code, joint(classes.memory[t], seen)),
            )
        )
    return tuple(found)


def full_gate(scores: Sequence[CodeScore], gaps: Sequence[range], decisions: Sequence[int]) -> bool:
    """S_Γ > 0.9 wherever memory is required in the gaps and S_G > 0.9 at each decision; steps count from 0."""
    memory = [scores[t].sufficiency for gap in gaps for t in gap]
    deciding = [scores[t].instantaneous for t in decisions]
    return all(value is None or value > SUFFICIENT for value in (*memory, *deciding))
