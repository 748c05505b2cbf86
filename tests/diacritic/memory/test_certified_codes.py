"""The certified classes as codes: minimal where one machine attains every step's minimum, and said so."""

import pytest
from certify_twin import loose_models

from certify import Model, certify
from certify.core.rates import conditional_rate
from certify.core.requirement import Requirement
from certify.zoo import build
from diacritic.memory.certified_codes import certified_labels


def test_where_compatibility_is_transitive_the_codes_carry_the_minimum_at_every_step() -> None:
    model = build("gap", gap2=3)
    labels = certified_labels(model)
    rates = [conditional_rate(level, code) for level, code in zip(labels.graph.levels, labels.nodes, strict=True)]
    assert labels.minimal
    assert rates == pytest.approx(Requirement.of(model).bits)


def test_without_transitivity_the_labels_say_whether_they_are_minimal() -> None:
    said = []
    for document, _ in loose_models(5, 6):
        model = Model.from_episodes(document)
        labels = certified_labels(model)
        said.append(labels.minimal)
        assert labels.minimal == (certify(model).simultaneous is True)
        rates = [conditional_rate(level, code) for level, code in zip(labels.graph.levels, labels.nodes, strict=True)]
        if labels.minimal:
            assert rates == pytest.approx(Requirement.of(model).bits)
    assert any(said)
