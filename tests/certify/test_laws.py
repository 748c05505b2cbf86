"""Floats become exact laws, and a network an expert."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify import UserError, certify, laws
from certify.sources.adapter import Adapter, to_model


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=6), st.integers(1, 10**6))
def test_rounding_is_exact_and_near(values: list[float], denominator: int) -> None:
    p = np.array(values) / sum(values)
    law = laws.round(p, denominator)
    assert sum(law.values()) == 1
    assert all(p.denominator <= denominator and p > 0 for p in law.values())
    for k, value in enumerate(p):
        assert abs(float(law.get(str(k), Fraction(0))) - value) < 1 / denominator + 1e-9


def test_names_and_mappings() -> None:
    assert laws.round([0.3334, 0.6666], 3, ["left", "right"]) == {"left": Fraction(1, 3), "right": Fraction(2, 3)}
    assert laws.round({"a": 0.999999, "b": 0.000001}) == {"a": 1}


@pytest.mark.parametrize(
    ("p", "denominator", "names", "reason"),
    [
        ([0.5, 0.6], 10, None, "apply the softmax first"),
        ([1.5, -0.5], 10, None, "apply the softmax first"),
        ([float("nan"), 1.0], 10, None, "apply the softmax first"),
        ([1.0], 0, None, "denominator: expected"),
        ([0.5, 0.5], 10, ["left"], "1 names for 2"),
    ],
)
def test_what_is_not_a_law_is_refused(p: Any, denominator: int, names: Any, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        laws.round(p, denominator, names)


class Tensor:
    """What is asked of a tensor, without the package."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def detach(self) -> "Tensor":
        return self

    cpu = detach

    def numpy(self) -> np.ndarray:
        return np.array([self.values], np.float32)


def test_a_network_is_an_expert_in_one_line() -> None:
    def network(north: bool) -> Tensor:
        return Tensor([0.99, 0.01] if north else [0.01, 0.99])

    expert = laws.expert(network, lambda history: history[0] == "north", ["up", "down"], 100)
    assert expert(None, ("north", "on", "fork")) == {"up": Fraction(99, 100), "down": Fraction(1, 100)}
    task = Adapter("net", 2, ["north", "south"], lambda cue: cue, lambda _: ("fork", False), expert)
    assert [step.rate for step in certify(to_model(task)).steps] == [0.0, 1.0]
