"""Whole episodes of a memory by its kernels, in Triton's interpreter, and by its loop over steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from hypothesis import Phase, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory import kinds
from diacritic.memory.kernels import launch
from diacritic.memory.protocol import Flow, Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.randomness import initial

S, SHAPE = 2, Shape(observation=5, action=2, horizon=7)
UNSHRUNK = (Phase.explicit, Phase.generate)
FEW, SOME = (settings(max_examples=count, phases=UNSHRUNK) for count in (3, 6))
"""Examples of a test; a smaller one that fails would take long to find."""
STEPS, ROWS, SEEDS = st.integers(1, 6), st.integers(1, 19), st.integers(0, 10**6)


def outcome(architecture: Architecture, flow: Flow, steps: int, rows: int, seed: int) -> dict[str, Tensor]:
    """What whole episodes leave, and the gradient of every parameter and input."""
    memory, made = kinds.memory_of(architecture), torch.Generator().manual_seed(seed)
    begun = initial(memory.weights(SHAPE, architecture), [seed, seed + 1])
    parameters = {name: (1.7 * value).requires_grad_() for name, value in begun.items()}
    seen, acted = (torch.randn(S, steps, rows, size, generator=made).requires_grad_() for size in (5, 2))
    (record,) = memory.unroll(parameters, architecture, Inputs(seen, acted), flow)
    outputs = {name: getattr(record, name) for name in ("proposal", "embedding", "actions")}
    outputs = {name: value for name, value in outputs.items() if value is not None}
    loss = torch.stack([(one * torch.randn(one.shape, generator=made)).sum() for one in outputs.values()]).sum()
    leaves = {"seen": seen, "acted": acted, **parameters}
    slopes = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, materialize_grads=True)
    values = {name: value.detach() for name, value in outputs.items()}
    return {"code": record.code, **values, **{f"into {name}": one for name, one in zip(leaves, slopes, strict=True)}}


@contextmanager
def kernels_started() -> Iterator[list[Any]]:
    """Within, kernels take fp32 numbers on the CPU, too; lists those that are started."""
    started, start = [], launch.start
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "start", lambda *given: (started.append(given[0]), start(*given)))
        for module in ("bistable", "code_kinds", "gru", "registers", "vector"):
            patch.setattr(f"diacritic.memory.{module}.usable", lambda values: values.dtype == torch.float32)
        yield started


def compare(architecture: Architecture, steps: int, rows: int, seed: int, gradient: str = "full") -> None:
    """The kernels are started, and leave what the loop leaves."""
    given = architecture, Flow(gradient), steps, rows, seed
    expected = outcome(*given)
    with kernels_started() as started:
        actual = outcome(*given)
    assert len(set(started)) == 2  # one forward, one back
    for name, other in expected.items():
        largest = max(1.0, float(other.abs().max()))
        torch.testing.assert_close(
            actual[name], other, rtol=1e-4, atol=1e-5 * largest, msg=lambda m, n=name: f"{n}: {m}"
        )


def left_to_the_loop(architecture: Architecture) -> bool:
    """Whether no kernel is started."""
    with kernels_started() as started:
        outcome(architecture, Flow(), 2, 1, 0)
    return not started
