"""A checkpoint of training (`diacritic-checkpoint/1`): the optimiser's state, with a digest over everything."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from certify.errors import UserError
from diacritic.files.tensors import read_tensors, write_tensors

FORMAT = "diacritic-checkpoint/1"
REMEDY = "delete it, and training starts again"


def write_checkpoint(path: Path, plan: str, step: int, state: Mapping[str, Tensor]) -> None:
    """Write the state after `step` updates of the plan with this fingerprint."""
    write_tensors(path, state, {"format": FORMAT, "plan": plan, "step": str(step)})


def read_checkpoint(path: Path, plan: str, steps: int, like: Mapping[str, Tensor]) -> tuple[int, dict[str, Tensor]]:
    """The step and the state, of the names, shapes and types of `like`; whatever does not belong is refused."""
    state, notes = read_tensors(path, REMEDY, signed=True)
    if notes.get("format") != FORMAT:
        raise UserError(str(path), f"is not a checkpoint of format {FORMAT!r}; {REMEDY}")
    if notes.get("plan") != plan:
        raise UserError(str(path), "the checkpoint is of another configuration or dataset; train in another folder")
    step = notes.get("step", "")
    if not (step.isascii() and step.isdigit() and len(step) < 16 and int(step) <= steps):
        raise UserError(str(path), f"stops at step {step[:20]!r} of {steps}; {REMEDY}")
    if state.keys() != like.keys():
        odd = sorted(state.keys() ^ like.keys())[0]
        raise UserError(str(path), f"does not hold the state of this training, such as {odd[:60]!r}; {REMEDY}")
    for name, value in like.items():
        if (state[name].shape, state[name].dtype) != (value.shape, value.dtype):
            have, need = (f"{one.dtype} {tuple(one.shape)}" for one in (state[name], value))
            raise UserError(str(path), f"{name} is {have}, but this training needs {need}; {REMEDY}")
    return int(step), state
