"""Damaged files of the format `certify-model/1`."""

import json

import pytest
from certify_corpus import documents
from certify_fuzz import check_reader, damaged_bytes, damaged_documents

from certify.answer import certify
from certify.core.model import Model

NAMES = ("three-histories", "lost-cue", "stochastic-expert")


def read(raw: str | bytes) -> None:
    """A model that is accepted can also be answered and written."""
    model = Model.from_json(raw)
    certify(model, seconds=5).to_json().encode()
    assert Model.from_json(model.to_json()).digest == model.digest


@pytest.mark.parametrize("name", NAMES)
def test_damaged_fields(name: str) -> None:
    _, model = documents(name)
    check_reader(read, damaged_documents(model | {"name": "n", "notes": [1], "empirical": False}, seed=1))


@pytest.mark.parametrize("name", NAMES)
def test_damaged_bytes(name: str) -> None:
    check_reader(read, damaged_bytes(json.dumps(documents(name)[1]).encode(), seed=2))
