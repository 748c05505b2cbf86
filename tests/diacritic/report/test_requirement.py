"""The requirement on the page: badges, classes with histories, true witnesses, and a machine that can be walked."""

from typing import Any

import numpy as np
import pytest

from certify import Model
from certify.zoo import build
from diacritic.demos.readers import from_arrays
from diacritic.report import ledgers, requirement
from diacritic.report.meanings import Meanings
from diacritic.report.page import gather, sections
from diacritic.report.requirement import MOST_CLASSES, MOST_EPISODES, cues


def view(model: Model) -> dict[str, Any]:
    return requirement.view(model, Meanings())


def badges(name: str) -> dict[str, str]:
    return {badge["word"]: badge["state"] for badge in view(build(name))["badges"]}


def test_badges_of_a_certified_task():
    shown = badges("gap")
    assert shown == {
        "history determines the action": "yes",
        "same law, same futures": "yes",
        "compatible histories form classes": "yes",
        "certified": "every step",
        "checked": "verified",
    }


def test_badges_say_where_an_assumption_fails():
    assert badges("three-histories")["compatible histories form classes"] == "fails at step 2"
    assert badges("lost-cue")["history determines the action"].startswith("fails at step")


def test_the_staircase_has_four_lines_and_the_bits_of_the_answer():
    shown = view(build("gap"))
    assert [curve["name"] for curve in shown["curves"]] == ["whole history", "strong", "required", "used now"]
    assert shown["curves"][2]["parts"] == [[0, 2, 0], [2, 1, 1], [3, 4, 2], [7, 4, 1]]
    assert shown["need"] == [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]


def test_cues_stand_where_more_must_be_kept_and_decisions_where_memory_is_used():
    shown = view(build("gap"))
    assert shown["cues"] == [1, 2] == cues(shown["need"])
    assert shown["decisions"] == [[6, 1], [10, 1]]


@pytest.mark.parametrize("name", ["gap", "re-reveal", "three-histories", "running-parity", "signpost-corridor"])
def test_classes_hold_all_histories_and_witnesses_are_true(name: str):
    model = build(name, **({"M": 4} if name == "signpost-corridor" else {}))
    graph = model.graph
    for step in view(model)["steps"]:
        shown = step["classes"]
        if not step["more"]:
            assert sum(item["count"] for item in shown) == graph.levels[step["t"] - 1].size
        assert len(shown) <= MOST_CLASSES
        for witness in step["witnesses"]:
            first, second = witness["histories"]
            assert first != second
            assert witness["actions"][0] != witness["actions"][1]
            assert step["t"] <= witness["until"] <= model.horizon


def test_classes_are_counted_within_an_observation():
    step = view(build("gap"))["steps"][3]
    assert (step["alike"], step["bits"], len(step["classes"])) == (4, 2.0, 4)


def test_there_is_a_witness_exactly_where_bits_are_required():
    shown = view(build("gap"))
    assert [bool(step["witnesses"]) for step in shown["steps"]] == [bits > 0 for bits in shown["need"]]


def test_the_machine_walks_along_each_of_its_episodes():
    machine = view(build("gap", gap2=6))["machine"]
    assert 0 < len(machine["episodes"]) <= MOST_EPISODES
    for episode in machine["episodes"]:
        words = episode["words"]
        state = machine["start"][words[0]]
        for t, moves in enumerate(machine["moves"]):
            fits = [move for move in moves if move[:3] == [state, words[2 * t + 1], words[2 * t + 2]]]
            ((_, _, seen, state, _),) = fits
            assert machine["states"][t + 1][state]["observation"] == seen


def test_a_machine_that_is_too_large_is_not_drawn(monkeypatch: pytest.MonkeyPatch):
    states = sum(map(len, view(build("gap"))["machine"]["states"]))
    monkeypatch.setattr(requirement, "MOST_STATES", states - 1)
    assert view(build("gap"))["machine"] is None


def test_rates_of_unique_histories_are_marked():
    symbols = np.arange(40).reshape(2, 20)
    demos = from_arrays(np.random.default_rng(0).random((2, 20, 3)), np.zeros((2, 20), int), symbols=symbols)
    [task] = sections(gather([demos]), False, ledgers.view)["tasks"]
    assert task["sentences"][0].startswith("artefact: 20 of 20 trajectories")
