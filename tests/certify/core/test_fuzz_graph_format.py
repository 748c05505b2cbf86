"""Damaged files of the format `certify-graph/1`."""

import json

import pytest
from certify_fuzz import check_reader, damaged_bytes, damaged_documents

from certify.answer import certify
from certify.core.model import Model
from certify.errors import UserError
from certify.zoo import build

GRAPH = json.loads(build("modulo-counter", horizon=3).to_json())


def read(raw: str | bytes) -> None:
    """A model that is accepted can also be answered and written."""
    model = Model.from_json(raw)
    certify(model, seconds=5).to_json().encode()
    assert Model.from_json(model.to_json()).digest == model.digest


def test_damaged_fields() -> None:
    check_reader(read, damaged_documents(GRAPH | {"name": "n", "notes": {}}, seed=3))


def test_damaged_bytes() -> None:
    check_reader(read, damaged_bytes(json.dumps(GRAPH).encode(), seed=4))


@pytest.mark.parametrize("child", [False, True, None, "0.5", "x", -1, 10**30])
def test_a_child_is_the_number_of_a_node(child: object) -> None:
    document = json.loads(json.dumps(GRAPH))
    document["levels"][0]["nodes"][0]["edges"][0][1] = child
    with pytest.raises(UserError, match=r"levels\[0\]\.nodes\[0\]\.edges: "):
        Model.from_json(json.dumps(document))


def test_masses_cannot_grow_without_bound() -> None:
    """A chain of 50 levels, each of which would add 1,500 digits to the denominator of the masses."""
    small = f"1/{10**1500 + 1}"
    rest = f"{10**1500}/{10**1500 + 1}"
    laws = [["1", {"a": small, "b": rest}]]
    first = [{"obs": "o", "laws": laws, "edges": [["a", 0, small], ["b", 1, rest]], "mass": "1"}]
    middle = [{"obs": o, "laws": laws, "edges": [["a", k, small], ["b", 1 - k, rest]]} for k, o in enumerate("xy")]
    last = [{"obs": o, "laws": laws, "edges": []} for o in "xy"]
    levels = [{"nodes": nodes} for nodes in (first, *([middle] * 48), last)]
    with pytest.raises(UserError, match="the common denominator has more than 14,000 bits; write fewer digits"):
        Model.from_json(json.dumps({"format": "certify-graph/1", "horizon": 50, "levels": levels}))
