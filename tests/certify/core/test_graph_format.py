"""Merged graphs as files: what is written is read back the same, and what is no graph is refused."""

import json
from typing import Any

import pytest

from certify import Model, UserError


def merged() -> Model:
    """Actions and observations meet in another order than that of their names."""
    return Model.from_generative(
        2,
        {0: "1/2", 1: "1/2"},
        observe=lambda t, state: f"o{1 - state}" if t == 2 else "x",
        expert=lambda t, state: {"b": "1/2", "a": "1/2"},
        move=lambda t, state, action: state,
    )


def test_the_digest_survives_a_file() -> None:
    model = merged()
    again = Model.from_json(model.to_json())
    assert again.digest == model.digest
    assert Model.from_json(again.to_json()).digest == model.digest


def test_the_order_of_edges_is_no_part_of_the_digest() -> None:
    document = json.loads(merged().to_json())
    for level in document["levels"]:
        for node in level["nodes"]:
            node["edges"].reverse()
    assert Model.from_json(json.dumps(document)).digest == merged().digest


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda d: d["levels"][0]["nodes"].append(dict(d["levels"][0]["nodes"][0])), r"levels\[0\]: two nodes"),
        (lambda d: d["levels"][0]["nodes"][0]["edges"].pop(), r"levels\[0\]\.nodes\[0\]\.edges"),
        (lambda d: d["levels"][0]["nodes"][0].update(mass="1/2"), r"levels\[0\]"),
        (lambda d: d["levels"][1]["nodes"][0].update(mass="1"), r"levels\[1\]\.nodes\[0\]"),
        (lambda d: d["levels"][1]["nodes"][0].update(laws=[["1", {"a": "1/2"}]]), r"levels\[1\]\.nodes\[0\]\.laws"),
        (lambda d: d.update(horizon=3), r"horizon"),
        (lambda d: d.update(extra=1), r"unknown key"),
        (lambda d: d["levels"][1].update(edges=[]), r"levels\[1\]"),
    ],
)
def test_what_is_no_graph_is_refused(change: Any, where: str) -> None:
    document = json.loads(merged().to_json())
    change(document)
    with pytest.raises(UserError, match=where):
        Model.from_json(json.dumps(document))
