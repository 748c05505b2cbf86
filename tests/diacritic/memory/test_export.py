"""Exported carriers give the codes and actions of the module, at any batch size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from carrier_twin import TINY, lively
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.export import export_onnx, export_program
from diacritic.memory.kinds import memory_of
from diacritic.memory.module import Carrier, one_run
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.objectives.imitation import Imitation

SHAPE = Shape(observation=4, action=2)


def _carrier(architecture: Architecture) -> Carrier:
    layers = memory_of(architecture).weights(SHAPE, architecture) | Imitation().weights(SHAPE, architecture)
    return Carrier(SHAPE, architecture, one_run(lively(layers, [3], torch.float32), 0))


def _episodes(batch: int) -> tuple[Tensor, Tensor]:
    made = torch.Generator().manual_seed(0)
    return torch.randn(8, batch, 4, generator=made), torch.randn(8, batch, 2, generator=made)


@torch.no_grad()
def _played(carrier: Carrier, batch: int) -> tuple[Tensor, Tensor]:
    seen, did = _episodes(batch)
    code, codes, actions = torch.full((batch,), carrier.architecture.codes), [], []
    for t in range(8):
        code, action = carrier(code, seen[t], did[t])
        codes.append(code)
        actions.append(action)
    return torch.stack(codes), torch.stack(actions)


@pytest.mark.parametrize("architecture", [TINY, replace(TINY, bound="tanh")])
def test_an_exported_program_gives_equal_codes(architecture: Architecture) -> None:
    carrier = _carrier(architecture)
    program = export_program(carrier).module()
    for batch in (1, 7):
        codes, actions = _played(carrier, batch)
        seen, did = _episodes(batch)
        code = torch.full((batch,), 6)
        for t in range(8):
            code, action = program(code, seen[t], did[t])
            assert torch.equal(code, codes[t])
            torch.testing.assert_close(action, actions[t], rtol=0, atol=1e-6)
        assert batch == 1 or len(codes.unique()) > 1


def test_an_onnx_file_gives_equal_codes(tmp_path: Path) -> None:
    import onnxruntime

    carrier = _carrier(TINY)
    export_onnx(carrier, tmp_path / "carrier.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["carrier.onnx"]
    session = onnxruntime.InferenceSession(tmp_path / "carrier.onnx", providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_inputs()] == ["code", "observation", "previous_action"]
    assert [value.name for value in session.get_outputs()] == ["next_code", "action"]
    for batch in (1, 7):
        codes, actions = _played(carrier, batch)
        seen, did = (value.numpy() for value in _episodes(batch))
        code = np.full(batch, 6)
        for t in range(8):
            given = {"code": code, "observation": seen[t], "previous_action": did[t]}
            code, action = (np.asarray(value) for value in session.run(None, given))
            assert np.array_equal(code, codes[t].numpy())
            assert np.allclose(action, actions[t].numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("change", [{"path": "bypass"}, {"memory": "gaussian"}, {"identification": 4}])
def test_what_carries_more_than_a_code_is_not_exported(change: dict[str, object]) -> None:
    carrier = _carrier(replace(TINY, **change))
    with pytest.raises(UserError, match="carrier: only a sole carrier"):
        export_program(carrier)
