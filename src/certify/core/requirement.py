"""What a model asks of every memory, step by step, without the search for one machine that `certify` adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from certify.core.exact import Ints
from certify.core.floors import floors
from certify.core.graph import Graph
from certify.core.model import Model
from certify.core.relations import Relation, compatibility, settled, strong_classes


@dataclass(frozen=True)
class Requirement:
    """What the model asks of every memory: ~_t and R_t. Computed once, it serves every machine of the model."""

    model: Model
    relations: tuple[Relation, ...]
    bits: tuple[float | None, ...]  # R_t = H(Γ_t|O_t) where ~_t is transitive; None where no minimum is proved

    @staticmethod
    def of(model: Model, seconds: float = 60.0) -> Requirement:
        """By refinement and colouring, without the searches for one machine that `certify` adds."""
        strong = strong_classes(model.graph)
        relations = _relations(model.graph, strong)
        bounds = floors(model.graph, relations, strong, seconds)
        return Requirement(model, tuple(relations), tuple(f.upper if f.proved else None for f in bounds))

    @staticmethod
    def stated(model: Model, bits: Sequence[float | None]) -> Requirement:
        """R_t from elsewhere, a certificate say."""
        return Requirement(model, tuple(_relations(model.graph, strong_classes(model.graph))), tuple(bits))


def _relations(graph: Graph, strong: list[Ints]) -> list[Relation]:
    return [settled(relation, classes) for relation, classes in zip(compatibility(graph), strong, strict=True)]
