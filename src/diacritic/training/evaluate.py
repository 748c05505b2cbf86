"""Exact evaluation of a cohort on a symbolic task: every run as a finite machine in the model."""

import numpy as np
import torch

from certify import Model
from diacritic.measure.scores import Requirement, scores
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.rollout.exact import Gate, closed_loop, verdict
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import watch
from diacritic.training.cohort import Cohort
from diacritic.training.policy import code_tables


def machines(parameters: Parameters, architecture: Architecture, model: Model) -> list[CodeMachine]:
    """The trained carriers of a symbolic task as tables, greedy."""
    seen, A = len(model.graph.observations), len(model.graph.actions)
    like = parameters["codebook"]
    observation = torch.eye(seen, dtype=like.dtype, device=like.device)
    previous = torch.cat([torch.eye(A), torch.zeros(1, A)]).to(like)  # no action yet comes last
    moves, laws = code_tables(parameters, architecture, observation, previous)
    return [CodeMachine(move, law) for move, law in zip(moves, np.nan_to_num(laws, nan=1 / A), strict=True)]


def sufficient(cohort: Cohort, model: Model, requirement: Requirement, gate: Gate) -> list[bool]:
    """Which runs pass the gate now."""
    found = []
    for machine in machines(cohort.parameters, cohort.plan.carrier, model):
        greedy = machine.greedy()
        steps = scores(watch(greedy, model), requirement)
        loop = closed_loop(greedy, model) if gate == "external" else None
        found.append(verdict(gate, steps, loop).sufficient)
    return found
