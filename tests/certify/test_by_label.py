"""Rates of some episodes and of some moments."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify import Model, UserError, certify
from certify.__main__ import main
from certify.by_label import hidden_part, rates_by_label, table
from certify.core.model import episode_nodes


def unaligned() -> Model:
    """A bit is shown after a wait of 0 to 3 steps and asked for right after a dark step: one bit, at other times."""

    def step(latent: tuple[int, int], actions: tuple[str, ...]) -> tuple[str, str]:
        wait, bit = latent
        since = len(actions) - wait
        return (f"cue {bit}", "on") if since == 0 else ("fork", f"take {bit}") if since == 2 else ("dark", "on")

    return Model.from_latents(6, [((wait, bit), Fraction(1, 8)) for wait in range(4) for bit in range(2)], step)


def phase(latent: tuple[int, int], t: int) -> str:
    since = t - 1 - latent[0]
    return "before" if since < 0 else "cue" if since == 0 else "carrying" if since <= 2 else "after"


def test_each_episode_needs_one_bit_while_it_carries() -> None:
    answer = certify(unaligned())
    actual = {one.label: one for one in rates_by_label(answer, phase)}
    assert actual["carrying"].mean == pytest.approx(1)
    assert actual["before"].mean == actual["cue"].mean == actual["after"].mean == 0
    assert 0.7 < max(step.upper for step in answer.steps) < 0.8  # the mixture of the episodes hides it
    assert actual["before"].bits[3:] == (None, None, None)
    assert sum(sum(one.weight) for one in actual.values()) == 6


def test_parts_of_the_hidden_value() -> None:
    answer = certify(unaligned())
    waits = rates_by_label(answer, hidden_part(answer.model, 0))
    assert [one.label for one in waits] == ["0", "1", "2", "3"]
    assert [[b for b in one.bits if b] for one in waits] == [[1, 1]] * 4
    assert "carrying" in table(rates_by_label(answer, phase))


labels = st.lists(st.lists(st.sampled_from("xyz"), min_size=6, max_size=6), min_size=8, max_size=8)


@given(labels)
def test_conditional_entropies_against_the_definition(rows: list[list[str]]) -> None:
    answer = certify(unaligned())
    assert answer.model.episodes is not None
    nodes = episode_nodes(answer.model)
    for one in rates_by_label(answer, rows):
        for t in range(6):
            here = [k for k in range(8) if rows[k][t] == one.label]
            pairs = [
                (int(answer.model.episodes.observation[k, t]), int(answer.joint.cells[t][nodes[t][k]])) for k in here
            ]
            seen = [o for o, _ in pairs]
            bits = sum(math.log2(seen.count(o) / pairs.count((o, c))) for o, c in pairs) / max(1, len(here))
            assert one.weight[t] == Fraction(len(here), 8)
            assert one.bits[t] == (pytest.approx(bits) if here else None)


@pytest.mark.parametrize(
    ("given", "reason"), [(["a"], "expected 8 labels"), (np.zeros((8, 2), int).tolist(), "8 rows of 6")]
)
def test_labels_that_do_not_fit_are_refused(given: Any, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        rates_by_label(certify(unaligned()), given)


def test_models_without_hidden_values_say_so() -> None:
    answer = certify(Model.from_json(unaligned().to_json()))
    with pytest.raises(UserError, match="does not know its hidden values"):
        rates_by_label(answer, phase)
    with pytest.raises(UserError, match="3 is not one of them"):
        hidden_part(unaligned(), 3)
    merged = Model.from_generative(1, {0: 1}, lambda t, s: "o", lambda t, s: "a", lambda t, s, a: s)
    with pytest.raises(UserError, match="a merged graph has no episodes"):
        rates_by_label(certify(merged), ["a"])


def test_table_json_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gap", "--by-hidden", "1", "--plot", str(tmp_path / "gap.svg")]) == 0
    assert "label" in capsys.readouterr().out
    assert (tmp_path / "gap.svg").stat().st_size > 1000
    assert main(["gap", "--by-hidden", "1", "--json", "-"]) == 0
    assert set(json.loads(capsys.readouterr().out)["by_label"]) == {"0", "1"}


def test_labels_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the episodes wait for a cue; one episode has no weight, and its label does not count."""
    law = {"wait": "1"}
    rows = [("x", "go"), ("y", "stop"), ("z", "go"), ("w", "go")]
    steps = [
        [{"obs": o, "action_law": law, "action": "wait"}, {"obs": "end", "action_law": {a: "1"}, "action": a}]
        for o, a in rows
    ]
    weights = ["1/4", "1/4", "1/2", "0"]
    episodes = [{"weight": w, "steps": s} for w, s in zip(weights, steps, strict=True)]
    model, labels = tmp_path / "model.json", tmp_path / "labels.json"
    model.write_text(json.dumps({"horizon": 2, "episodes": episodes}))
    labels.write_text(json.dumps(["early", "early", "late", "never"]))
    assert main([str(model), "--by-label", str(labels), "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)["by_label"]
    assert {label: one["bits"] for label, one in told.items()} == {"early": [0, 1], "late": [0, 0]}
    labels.write_text(json.dumps([["a", 1], ["a", 2], ["a", 2], ["a", 2]]))
    assert main([str(model), "--by-label", str(labels), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["by_label"]["1"]["bits"] == [None, 0]
    for text, reason in (("[1, 2", "is not JSON"), ('{"a": 1}', "expected a list"), ("[1]", "expected 3 labels")):
        labels.write_text(text)
        assert main([str(model), "--by-label", str(labels)]) == 2
        assert reason in capsys.readouterr().err
