"""The requirement of a model is what `certify` proves for each step, without its searches."""

import pytest

from certify import certify
from certify.core.requirement import Requirement
from certify.zoo import build


@pytest.mark.parametrize(
    ("name", "parameters"), [("gap", {"gap2": 3}), ("re-reveal", {}), ("passive-t-maze", {"L": 3})]
)
def test_its_bits_and_relations_are_those_of_the_answer(name: str, parameters: dict[str, int]) -> None:
    model = build(name, **parameters)
    answer, requirement = certify(model), Requirement.of(model)
    assert requirement.bits == pytest.approx([step.rate for step in answer.steps])
    for own, other in zip(requirement.relations, answer.relations, strict=True):
        assert own.transitive == other.transitive
        assert own.kind.tolist() == other.kind.tolist()


def test_bits_may_be_stated() -> None:
    model = build("gap", gap2=3)
    stated = Requirement.stated(model, [None] * model.graph.horizon)
    assert stated.bits == (None,) * model.graph.horizon
    assert [r.transitive for r in stated.relations] == [r.transitive for r in Requirement.of(model).relations]
