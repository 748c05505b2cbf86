"""The kernels run in Triton's interpreter here, with two of its gaps closed."""

import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter


@pytest.fixture(autouse=True)
def products_of_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter keeps bf16 as whole numbers and multiplies those; here products are of what they stand for."""
    dot = interpreter.InterpreterBuilder.create_dot

    def widened(self, a, b, d, input_precision, max_num_imprecise_acc):
        return dot(self, _value(a), _value(b), d, input_precision, max_num_imprecise_acc)

    monkeypatch.setattr(interpreter.InterpreterBuilder, "create_dot", widened)


@pytest.fixture(autouse=True)
def bounds_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter's numbers are arrays of one element, which numpy no longer takes for whole numbers."""
    patched = interpreter._patch_lang_tensor

    def whole(tensor, scope):
        patched(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", whole)


def _value(x: interpreter.TensorHandle) -> interpreter.TensorHandle:
    if x.dtype.scalar != tl.bfloat16:
        return x
    return interpreter.TensorHandle(torch.from_numpy(x.data.copy()).view(torch.bfloat16).float().numpy(), tl.float32)
