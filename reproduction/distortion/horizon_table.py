"""How much of the requirement shows within J steps: classes of histories that differ no later than that."""

from certify.core.graph import Graph
from certify.core.rates import conditional_rate
from certify.core.relations import PAIR_LIMIT, Relation, instantaneous, refined


def compatibility_within(graph: Graph, steps: int, pair_limit: int = PAIR_LIMIT) -> list[Relation]:
    """~^(J)_t at every level: the same, looking only J = `steps` steps ahead."""
    relations = [instantaneous(level) for level in graph.levels]
    for _ in range(min(steps, graph.horizon - 1)):
        relations = [
            refined(graph, t, relations[t + 1], pair_limit) if t + 1 < graph.horizon else relations[t]
            for t in range(graph.horizon)
        ]
    return relations


def horizon_table(graph: Graph, pair_limit: int = PAIR_LIMIT) -> list[list[float | None]]:
    """H(Γ^(J)_t | O_t) for J = 0…T−1 (rows) and every step (columns); None where ~^(J) is not transitive.

    Non-decreasing in J: looking further ahead can only distinguish more histories.
    """
    return [
        [
            conditional_rate(level, relation.kind) if relation.transitive else None
            for level, relation in zip(graph.levels, compatibility_within(graph, steps, pair_limit), strict=True)
        ]
        for steps in range(graph.horizon)
    ]
