"""A small run that was never trained, with weights, codes and a manifest."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from diacritic.files.run import CodedEpisodes, RunManifest

WEIGHTS = {"codebook": torch.arange(6.0).view(3, 2)}
CODES = np.arange(8, dtype=np.uint16).reshape(2, 4)


def manifest(**changes: Any) -> RunManifest:
    made = RunManifest(
        "symbolic",
        "gap",
        learner="plain",
        preset="carousel",
        steps=3,
        plan="ab",
        run={"seed": 2, "beta": 0.5},
        architecture={"codes": 3},
        shape={"observation": 4, "action": 2},
        episodes=CodedEpisodes("held-out", ((3, 5), (7, 9))),
        scores={"gap": {"S_Gamma": 1.0, "S_G": None}},
        rate=(0.0, None),
        requirement=(0.0, 1.0),
    )
    return replace(made, **changes)
