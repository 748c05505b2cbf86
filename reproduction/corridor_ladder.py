"""The ladder of the drifting corridor: both ends of each certificate, side by side, and checked."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from certify import check
from certify.answer import Answer, certify
from certify.certificate import certificate_json
from certify.core.colouring import alpha_bound, clique_bound
from certify.core.exact import group_sums
from certify.core.floors import bitmasks
from certify.core.logs import LogSum
from certify.progress import track
from certify.zoo import build

_HEAD = ("W", "histories", "hall 1", "hall 2", "alpha bound", "clique bound", "one machine", "checked", "seconds")


def print_ladder(drifts: list[int], seconds: float) -> int:
    """One row per number of drifts; 1 if a certificate is not verified."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for drift in track(drifts, "certifying"):
        began = time.perf_counter()
        answer = certify(build("signpost-corridor", M=16, W=drift), seconds=seconds)
        verified = check.check(certificate_json(answer), answer.model.to_json())
        rows.append(_row(drift, answer, bool(verified), time.perf_counter() - began))
    widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
    print("Corridor with W drifts (M = 16, halls of 3 cells): [proved lower end, rate of a verified machine], in bits")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0 if all(row[7] == "yes" for row in rows[1:]) else 1


def _row(drift: int, answer: Answer, verified: bool, seconds: float) -> tuple[str, ...]:
    halls = [
        [t for t in range(answer.model.horizon) if _place(answer, t).startswith(hall)] for hall in ("hall1", "hall2")
    ]
    ends = [
        f"[{min(answer.floors[t].lower for t in hall):.4f}, {max(answer.joint.rates[t] for t in hall):.4f}]"
        for hall in halls
    ]
    bounds = [
        " ".join(f"{max(_bound(answer, t, bound) for t in hall):.2f}" for hall in halls)
        for bound in (alpha_bound, clique_bound)
    ]
    histories = max(step.histories for step in answer.steps)
    words = ["yes" if value else "no" for value in (answer.simultaneous, verified)]
    return str(drift), str(histories), *ends, *bounds, *words, f"{seconds:.2f}"


def _place(answer: Answer, t: int) -> str:
    graph = answer.model.graph
    return graph.observations[graph.levels[t].observation[0]]


def _bound(answer: Answer, t: int, bound: Callable[[Sequence[int], Sequence[int]], LogSum]) -> float:
    """A bound of the paper, averaged over the observations of one step."""
    level, relation = answer.model.graph.levels[t], answer.relations[t]
    masses = group_sums(relation.kind, level.mass, relation.kinds).tolist()
    observation = {int(k): int(o) for k, o in zip(relation.kind, level.observation, strict=True)}
    total = 0.0
    for o in set(observation.values()):
        kinds = sorted(k for k, seen in observation.items() if seen == o)
        weights = [masses[k] for k in kinds]
        conflicts = bitmasks(relation.conflict_matrix(np.array(kinds)))
        total += sum(weights) / level.total * bound(weights, conflicts).bits
    return total
