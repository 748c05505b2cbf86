"""The runs of a cohort on a symbolic task as finite machines."""

import numpy as np
import torch

from certify import Model
from diacritic.memory.finite_machine import code_tables
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.rollout.machine import CodeMachine


def machines(parameters: Parameters, architecture: Architecture, model: Model) -> list[CodeMachine]:
    """The trained carriers of a symbolic task as tables, greedy."""
    seen, A = len(model.graph.observations), len(model.graph.actions)
    like = parameters["codebook"]
    observation = torch.eye(seen, dtype=like.dtype, device=like.device)
    previous = torch.cat([torch.eye(A), torch.zeros(1, A)]).to(like)  # no action yet comes last
    moves, laws = code_tables(parameters, architecture, observation, previous)
    return [CodeMachine(move, law) for move, law in zip(moves, np.nan_to_num(laws, nan=1 / A), strict=True)]
