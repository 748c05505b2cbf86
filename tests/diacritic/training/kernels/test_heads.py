"""The kernels of a head against the definition, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.training.kernels.heads import Read

RUNS, ROWS, WIDTH, CODE = 2, 150, 32, 16
KINDS = {"deep": (True, 2, True), "flat": (False, 1, True), "unfelt": (False, 1, False), "bare": (False, 0, False)}
"""Two hidden layers or one, how many indices, and whether the code's vector receives a gradient."""
NAMES = ("part", "embedding", "table", "inner", "inner_bias", "last", "last_bias")


def case(kind: str, outputs: int, codes: int = 6) -> tuple[dict[str, Tensor], list[Tensor], list[int]]:
    """Without outputs there is no last layer; as many codes as offsets."""
    deep, count, felt = KINDS[kind]
    made = torch.Generator().manual_seed(outputs)

    def normal(*size: int) -> Tensor:
        return torch.randn(RUNS, *size, generator=made)

    values = {
        "part": normal(ROWS, WIDTH),
        "embedding": normal(ROWS, CODE) if felt else None,
        "table": normal(2 * codes, WIDTH) if count else None,
        "inner": normal(WIDTH, WIDTH) / 6 if deep else None,
        "inner_bias": normal(WIDTH) if deep else None,
        "last": normal(WIDTH, outputs) / 6 if outputs else None,
        "last_bias": normal(outputs) if outputs else None,
    }
    indices = [torch.randint(codes, (RUNS, ROWS), generator=made) for _ in range(count)]
    return {name: value for name, value in values.items() if value is not None}, indices, [0, codes][:count]


def in_torch(
    values: dict[str, Tensor], reading: Tensor, indices: list[Tensor], begins: list[int], low: torch.dtype
) -> Tensor:
    """In float64, with weights and activations rounded as they are stored, so that the same units are active."""
    total = values["part"]
    run = torch.arange(RUNS).unsqueeze(1)
    for index, begin in zip(indices, begins, strict=True):
        total = total + values["table"].to(low).double()[run, index + begin]
    if "embedding" in values:  # a value of its own, so that only its gradient counts
        read = values["embedding"] @ reading
        total = total + (read - read.detach())
    hidden = total.relu().to(low).double()
    if "inner" in values:
        hidden = hidden @ values["inner"].to(low).double() + values["inner_bias"].unsqueeze(1)
        hidden = hidden.relu().to(low).double()
    if "last" not in values:
        return hidden
    return hidden @ values["last"].to(low).double() + values["last_bias"].unsqueeze(1)


def observing(low: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """What a part may be computed from, with matrices that lie among others."""
    made = torch.Generator().manual_seed(5)
    features = torch.randn(RUNS, ROWS, WIDTH, generator=made).relu().to(low)
    weight = (torch.randn(RUNS, 3, WIDTH, WIDTH, generator=made) / 6).to(low)[:, 1]
    return features, weight, torch.randn(RUNS, 2, WIDTH, generator=made)[:, 1]


def test_nothing_is_kept_where_nothing_is_learned() -> None:
    values, indices, begins = case("deep", 4)
    reading = torch.zeros(RUNS, CODE, WIDTH)
    given = [values[name] for name in NAMES]
    actual = Read.apply(given[0], None, *given[1:], reading, indices, begins)
    assert not actual.requires_grad
    assert error(actual, in_torch(values, reading, indices, begins, torch.float32)) < 1e-5


def error(actual: Tensor, expected: Tensor) -> float:
    return float(((actual - expected).norm() / expected.norm()).detach())


@pytest.mark.parametrize(("low", "close"), [(torch.float32, 1e-5), (torch.float16, 3e-3), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize(
    ("kind", "outputs", "fresh", "codes"),
    [
        ("deep", 4, True, 6),
        ("flat", 1, False, 6),
        ("unfelt", 20, False, 6),
        ("bare", 16, True, 6),
        ("deep", 4, False, 150),
        ("deep", 0, True, 6),
        ("flat", 0, True, 80),
        ("bare", 0, True, 6),
    ],
)
def test_values_and_gradients_are_those_of_torch(
    low: torch.dtype, close: float, kind: str, outputs: int, fresh: bool, codes: int
) -> None:
    """Tables are small, and products with counts; or large, and taken row by row and summed in pieces."""
    values, indices, begins = case(kind, outputs, codes)
    seen = observing(low) if fresh else None
    made = torch.Generator().manual_seed(1)
    reading = torch.randn(RUNS, CODE, WIDTH, generator=made)
    pull = torch.randn(RUNS, ROWS, outputs or WIDTH, generator=made)
    lowered = {**values, "part": values["part"].to(low)}
    twins = {name: value.double() for name, value in lowered.items()}
    if seen is not None:
        features, weight, bias = (value.double() for value in seen)
        twins["part"] = features @ weight + bias.unsqueeze(1)
        lowered["part"] = torch.empty_strided(twins["part"].shape, (0, 0, 0), dtype=low).fill_(float("nan"))
    twins = {name: value.requires_grad_() for name, value in twins.items()}
    lowered = {name: value.requires_grad_() for name, value in lowered.items()}
    given = [lowered.get(name) for name in NAMES]
    actual = Read.apply(given[0], seen, *given[1:], reading, indices, begins)
    expected = in_torch(twins, reading.double(), indices, begins, low)
    assert actual.dtype == (torch.float32 if outputs else low)
    assert error(actual, expected) < close
    flows = torch.autograd.grad((actual * pull).sum(), list(lowered.values()))
    wanted = torch.autograd.grad((expected * pull).sum(), list(twins.values()))
    for name, flow, other in zip(lowered, flows, wanted, strict=True):
        assert flow.dtype == lowered[name].dtype
        assert error(flow, other) < close, name
