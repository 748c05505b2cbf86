"""A trained carrier for other programs: `torch.export` and ONNX, with the code as an explicit input and output."""

import os
import warnings
from pathlib import Path

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.files.atomic import path_atomic
from diacritic.memory.kinds import is_sole_carrier
from diacritic.memory.module import Carrier

INPUTS = ("code", "observation", "previous_action")


def example(carrier: Carrier, batch: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs of the right shapes: code (K: none yet), observation, previous action."""
    kind, shape = carrier.weights["codebook"].dtype, carrier.shape
    code = torch.full((batch,), carrier.architecture.codes)
    return code, torch.zeros(batch, shape.observation, dtype=kind), torch.zeros(batch, shape.action, dtype=kind)


def _dynamic(carrier: Carrier) -> dict[str, dict[int, torch.export.Dim]]:
    """A free batch size for every input; a policy that carries more than its code has no such inputs."""
    if not is_sole_carrier(carrier.architecture) or carrier.architecture.side != "raw":
        raise UserError("carrier", "only a sole carrier that reads raw observations can be exported")
    batch = torch.export.Dim("batch", min=1, max=1 << 20)
    return {name: {0: batch} for name in INPUTS}


def export_program(carrier: Carrier) -> torch.export.ExportedProgram:
    """The step as an exported program with a free batch size."""
    return torch.export.export(carrier.eval(), example(carrier), dynamic_shapes=_dynamic(carrier), strict=False)


def export_onnx(carrier: Carrier, path: str | os.PathLike[str]) -> None:
    """The step as an ONNX file with inputs code, observation, previous_action and outputs next_code, action."""
    target = Path(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of what it does itself
        program = torch.onnx.export(
            carrier.eval(),
            example(carrier),
            input_names=list(INPUTS),
            output_names=["next_code", "action"],
            dynamic_shapes=_dynamic(carrier),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    with path_atomic(target) as partial:
        program.save(partial, external_data=False)
