"""How good a memory is at every step, under the expert's occupancy: rate, sufficiency, surplus, distortion, content."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify import Model, UserError
from certify.core.colouring import Budget, minimum_entropy
from certify.core.exact import Ints, Masses, group_sums, pair, rank, representatives
from certify.core.floors import bitmasks
from certify.core.model import episode_nodes
from certify.core.relations import Relation, blocks
from certify.core.requirement import Requirement
from diacritic.measure.plugin import conditional_entropy, joint, mutual_information
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import ExpertTrace, Floats, law_table
from diacritic.tasks.recorded import POSITIVE


@dataclass(frozen=True)
class StepScore:
    """One step t = 1…T; bits, and scores in [0, 1]."""

    t: int
    rate: float  # H(C_t|O_t)
    requirement: float | None  # R_t
    decision: float  # H(G_t|O_t): what the action of this very step needs
    sufficiency: float | None  # S_Γ, or S_t where ~_t is not transitive; None where nothing is required or proved
    instantaneous: float | None  # S_G
    surplus: float | None  # H(C_t|Γ_t,O_t); None where ~_t is not transitive
    distortion: float  # mean total variation between the policy's law and the expert's
    error: float  # probability that the policy's most probable action is one that the expert never takes


def scores(occupancy: ExpertTrace, requirement: Requirement | None = None) -> tuple[StepScore, ...]:
    """Every step of one machine; give the requirement where several machines of one model are scored."""
    requirement = requirement or Requirement.of(occupancy.model)
    if requirement.model.graph is not occupancy.model.graph and requirement.model.digest != occupancy.model.digest:
        raise UserError("requirement", "it belongs to another model than the machine was watched on")
    laws = law_table(occupancy.model.graph)
    budget = Budget(60.0)
    return tuple(_score(occupancy, t, requirement, laws, budget) for t in range(len(occupancy.steps)))


def _score(occupancy: ExpertTrace, t: int, requirement: Requirement, laws: Floats, budget: Budget) -> StepScore:
    cells, relation, bits = occupancy.steps[t], requirement.relations[t], requirement.bits[t]
    level, weight, seen = occupancy.model.graph.levels[t], cells.weight, cells.observation
    given = joint(seen, cells.code)
    law, kind = level.law[cells.node], relation.kind[cells.node]
    decision = conditional_entropy(law, seen, weight)
    surplus = sufficiency = None
    if relation.transitive:
        bits = conditional_entropy(kind, seen, weight)
        sufficiency = explained(conditional_entropy(kind, given, weight), bits)
        surplus = conditional_entropy(cells.code, joint(seen, kind), weight)
    elif bits is not None:
        exact = (cells.share == 1).all()  # each node has one code, so that the model's own masses count
        masses = level.mass[cells.node] if exact else whole_numbers(weight)
        sufficiency = explained(uncoloured(relation, kind, given, budget, masses), bits)
    policy, expert = occupancy.machine.act[cells.code, seen], laws[law]
    wrong = expert[np.arange(len(policy)), policy.argmax(axis=1)] == 0
    return StepScore(
        t + 1,
        conditional_entropy(cells.code, seen, weight),
        bits,
        decision,
        sufficiency,
        explained(conditional_entropy(law, given, weight), decision),
        surplus,
        float(weight @ abs(policy - expert).sum(axis=1)) / 2,
        float(weight[wrong].sum()),
    )


def variations(occupancy: ExpertTrace, machine: CodeMachine) -> list[float]:
    """Mean total variation between a machine's law and the expert's at every step, along codes that were watched.

    The machine has the watched one's memory; its law may be another, as that of a policy whose greedy twin is scored.
    """
    laws, graph = law_table(occupancy.model.graph), occupancy.model.graph
    distances = []
    for cells, level in zip(occupancy.steps, graph.levels, strict=True):
        apart = abs(machine.act[cells.code, cells.observation] - laws[level.law[cells.node]]).sum(axis=1)
        distances.append(float(cells.weight @ apart) / 2)
    return distances


def explained(left: float, whole: float) -> float | None:
    """1 − left/whole: the part of a requirement that the code meets; None where there is none."""
    return None if whole <= POSITIVE else min(1.0, max(0.0, 1 - left / whole))


def content(occupancy: ExpertTrace, labels: ArrayLike | Sequence[Ints]) -> tuple[float, ...]:
    """I(C_t;X|O_t) at every step, of a label X per episode (one array) or per history (one array a level)."""
    graph = occupancy.model.graph
    if isinstance(labels, list | tuple) and len(labels) == graph.horizon and all(np.ndim(row) == 1 for row in labels):
        return tuple(
            mutual_information(cells.code, _fitting(row, level.size)[cells.node], cells.observation, cells.weight)
            for cells, level, row in zip(occupancy.steps, graph.levels, labels, strict=True)
        )
    episodes = occupancy.model.episodes
    if episodes is None:
        raise UserError("labels", "a merged graph has no episodes; give one array of node labels a level")
    label = _fitting(labels, len(episodes.weight))
    weight = episodes.weight.astype(np.float64)
    bits: list[float] = []
    for cells, node, seen in zip(occupancy.steps, episode_nodes(occupancy.model), episodes.observation.T, strict=True):
        bits.append(mutual_information(cells.code[node], label, seen, weight))  # a tree: cell k is node k
    return tuple(bits)


def latent_labels(model: Model) -> Ints:
    """Of each episode the place of its latent in `model.dynamics.latents`."""
    if model.dynamics is None or model.episodes is None:
        raise UserError("model", "it has no dynamics, hence no latents; build it with Model.from_latents")
    return np.array(model.dynamics.owner, np.int64)[model.episodes.origin]


def _fitting(labels: ArrayLike, count: int) -> Ints:
    array = np.asarray(labels)
    if array.shape != (count,) or array.dtype.kind not in "iub":
        raise UserError("labels", f"expected {count} integers, not {array.dtype} of shape {list(array.shape)}")
    return array.astype(np.int64, copy=False)


def uncoloured(
    relation: Relation,
    kind: ArrayLike,
    cell: ArrayLike,
    budget: Budget | None = None,
    masses: Masses | None = None,
) -> float:
    """Σ_cell P(cell)·H_χ(cell) over histories (all of the same mass, unless given), each with its kind of ~_t and cell.

    H_χ is the least entropy of a proper colouring. With the cells of Ō alone this is the certified minimum R_t; with
    those of (Ō, C) it is what a second memory would still need beside the code. A search that meets its limit counts
    with the best colouring found, so that no memory is overrated.
    """
    budget = budget or Budget(60.0)
    cells, kinds = joint(cell), np.asarray(kind, np.int64)
    label, count = rank(pair(cells, kinds))
    one = representatives(label, count)
    total_of = group_sums(label, np.ones(len(label), np.int64) if masses is None else masses, count)
    total, left = sum(int(mass) for mass in total_of), 0.0
    for members in blocks(cells[one]):
        if len(members) > 1:
            weights = [int(mass) for mass in total_of[members]]
            conflicts = bitmasks(relation.conflict_matrix(kinds[one[members]]))
            left += sum(weights) / total * minimum_entropy(weights, conflicts, budget.limits()).upper.bits
    return left


def whole_numbers(weights: NDArray[np.float64]) -> Masses:
    """Probabilities as positive integers, rounded at 2⁻⁵²."""
    return np.maximum(1, np.rint(weights * 2.0**52)).astype(np.int64)
