"""Codes under the policy's own occupancy: the same classes, met as often as the policy meets them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from certify import Model
from certify.core.relations import Relation
from certify.errors import UserError
from diacritic.measure.plugin import joint
from diacritic.measure.recorded import Classes
from diacritic.measure.scores import Requirement, StepScore, explained, scores, uncoloured, whole_numbers
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import Cells, ExpertTrace, act_on


def own_classes(
    expert: Classes,
    recorded: Mapping[str, ArrayLike],
    symbols: ArrayLike,
    latents: Mapping[str, ArrayLike],
    strata: Sequence[str],
) -> Classes:
    """Γ_t and G_t of rolled-out episodes: those of a recorded episode with the same hidden values.

    `strata` names the hidden values that decide every class, `recorded` and `latents` hold them for the two sets of
    episodes, and `symbols` [T, E] is what the policy's own observations show. The requirement is counted again.
    """
    for name in strata:
        if name not in recorded or name not in latents:
            raise UserError(f"latents[{name}]", "is unknown in one of the two sets of episodes")
    donors = {values: k for k, values in enumerate(_rows(recorded, strata))}
    wanted = _rows(latents, strata)
    missing = [values for values in wanted if values not in donors]
    if missing:
        configuration = dict(zip(strata, missing[0], strict=True))
        raise UserError("latents", f"no recorded episode has {configuration}; record all configurations")
    chosen = np.array([donors[values] for values in wanted])
    seen, steps = np.asarray(symbols), len(expert.symbols)
    if seen.shape != (steps, len(chosen)):
        raise UserError("symbols", f"shape {seen.shape}, expected {steps} steps of {len(chosen)} episodes")
    return Classes.costed(seen, expert.memory[:, chosen], expert.action[:, chosen], expert.loose)


def own_occupancy(machine: CodeMachine, model: Model) -> ExpertTrace:
    """P(history, code) while the machine acts, among the episodes that the expert's histories still describe.

    An action that the expert never takes leaves them; what remains at each step is taken as the whole.
    """
    machine.check(model)
    graph = model.graph
    first = graph.levels[0]
    node, code = np.arange(first.size), machine.begin(first.observation)
    weight = (first.mass / first.total).astype(np.float64)
    steps: list[Cells] = []
    for t, level in enumerate(graph.levels):
        held = weight > 0
        if not held.any():
            raise UserError(f"step {t + 1}", "no episode of the machine follows the expert so far; its success is 0")
        node, code, weight = node[held], code[held], weight[held] / weight[held].sum()
        share = weight / np.bincount(node, weight)[node]
        steps.append(Cells(node, code, level.observation[node], share, weight))
        if t + 1 < graph.horizon:
            node, code, weight = act_on(machine, graph, t, node, code, weight)
    return ExpertTrace(machine, model, tuple(steps))


def own_scores(machine: CodeMachine, model: Model, requirement: Requirement | None = None) -> tuple[StepScore, ...]:
    """Scores of a machine under its own occupancy; R_t too is that of the histories that it meets."""
    requirement = requirement or Requirement.of(model)
    occupancy = own_occupancy(machine, model)
    step_scores = scores(occupancy, replace(requirement, bits=(None,) * model.horizon))
    return tuple(
        score if relation.transitive else _coloured(score, relation, cells)
        for score, relation, cells in zip(step_scores, requirement.relations, occupancy.steps, strict=True)
    )


def _coloured(score: StepScore, relation: Relation, cells: Cells) -> StepScore:
    """S_t and R_t where there are no classes, by colouring."""
    kind, masses = relation.kind[cells.node], whole_numbers(cells.weight)
    whole = uncoloured(relation, kind, cells.observation, masses=masses)
    left = uncoloured(relation, kind, joint(cells.observation, cells.code), masses=masses)
    return replace(score, requirement=whole, sufficiency=explained(left, whole))


def _rows(values: Mapping[str, ArrayLike], names: Sequence[str]) -> list[tuple[int, ...]]:
    return list(zip(*(np.asarray(values[name]).tolist() for name in names), strict=True))
