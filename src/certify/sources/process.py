"""A `.pomdp` file and a controller as a process without a last step.

``python -m certify.sources.process WORLD.pomdp CONTROLLER.json`` writes the process to standard output, for
``python -m certify.stationary`` to answer.
"""

import os
import sys
from pathlib import Path

from certify.errors import UserError, inert
from certify.sources.pomdp import load_pomdp
from certify.stationary.process import Process
from certify.stationary.world import Controller, World


def load_process(world: str | os.PathLike[str], controller: str | os.PathLike[str]) -> Process:
    """The controller of one file (`certify-controller/1`) acting for ever in the world of another (`.pomdp`)."""
    try:
        text = Path(controller).read_bytes()
    except OSError as error:
        raise UserError(str(controller), f"cannot be read: {error.strerror}") from None
    return World.from_problem(load_pomdp(world)).process(Controller.from_json(text))


def main(arguments: list[str]) -> int:
    """Write the process; 0 done, 2 bad input."""
    try:
        if len(arguments) != 2:
            raise UserError("", "expected WORLD.pomdp CONTROLLER.json")
        print(load_process(*arguments).to_json(), end="")
    except UserError as error:
        print(f"certify: {inert(' '.join(str(error).splitlines()))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
