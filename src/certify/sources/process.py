"""A world and an expert, each from its file, as a process without a last step."""

import os
from pathlib import Path

from certify.errors import UserError
from certify.sources.pomdp import load_pomdp
from certify.stationary.process import Process
from certify.stationary.world import Controller, World


def load_process(world: str | os.PathLike[str], controller: str | os.PathLike[str]) -> Process:
    """The controller of one file (`certify-controller/1`) acting for ever in the world of another (`.pomdp`)."""
    problem = load_pomdp(world)
    try:
        text = Path(controller).read_bytes()
    except OSError as error:
        raise UserError(str(controller), f"cannot be read: {error.strerror}") from None
    return World.from_problem(problem).process(Controller.from_json(text))
