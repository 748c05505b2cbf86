"""The runs of a cohort on a symbolic task as finite machines."""

import numpy as np
import torch

from certify import Model
from diacritic.memory.finite_machine import code_tables
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.rollout.machine import CodeMachine
from diacritic.tasks.shown import shown


def machines(parameters: Parameters, architecture: Architecture, model: Model) -> list[CodeMachine]:
    """The trained carriers of a symbolic task as tables, greedy."""
    A, like = len(model.graph.actions), next(iter(parameters.values()))
    observation = torch.from_numpy(shown(model)).to(like)
    previous = torch.cat([torch.eye(A), torch.zeros(1, A)]).to(like)  # no action yet comes last
    moves, laws = code_tables(parameters, architecture, observation, previous)
    return [CodeMachine(move, law) for move, law in zip(moves, np.nan_to_num(laws, nan=1 / A), strict=True)]
