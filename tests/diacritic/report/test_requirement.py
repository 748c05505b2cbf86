"""The requirement on the page: badges, classes with histories, true witnesses, and a machine that can be walked."""

import pytest

from certify.zoo import build
from diacritic.report import requirement
from diacritic.report.requirement import MOST_CLASSES, MOST_EPISODES, view


def badges(name: str) -> dict[str, str]:
    return {badge["word"]: badge["state"] for badge in view(build(name))["badges"]}


def test_badges_of_a_certified_task():
    found = badges("gap")
    assert found == {
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
    drawn = view(build("gap"))["chart"]
    curves = {trace["name"]: trace["y"] for trace in drawn["data"]}
    assert list(curves) == ["history", "strong", "required", "instantaneous"]
    assert curves["required"] == [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]
    assert "at most 2 are required" in drawn["label"]


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
            assert witness["first"] != witness["second"]
            assert witness["one"] != witness["two"]
            # both histories end with what is seen now, which therefore does not tell them apart
            ends = {witness[key].split("-> ")[-1].split(" ×")[0] for key in ("first", "second")}
            assert len(ends) == 1


def test_there_is_a_witness_exactly_where_bits_are_required():
    shown = view(build("gap"))
    required = next(trace["y"] for trace in shown["chart"]["data"] if trace["name"] == "required")
    assert [bool(step["witnesses"]) for step in shown["steps"]] == [bits > 0 for bits in required]


def test_the_machine_walks_along_each_of_its_episodes():
    machine = view(build("gap", gap2=6))["machine"]
    assert 0 < len(machine["episodes"]) <= MOST_EPISODES
    for episode in machine["episodes"]:
        words = episode["words"]
        state = machine["start"][words[0]]
        for t, moves in enumerate(machine["moves"]):
            fits = [move for move in moves if move[:3] == [state, words[2 * t + 1], words[2 * t + 2]]]
            ((_, _, seen, state),) = fits
            assert machine["states"][t + 1][state]["observation"] == seen


def test_equal_steps_of_a_history_are_told_once():
    steps = view(build("memory-chain", bits=1, delay=20))["steps"]
    assert any(" ×" in text for step in steps for item in step["classes"] for text in item["histories"])
    assert max(len(text) for step in steps for item in step["classes"] for text in item["histories"]) < 80


def test_a_machine_that_is_too_large_is_not_drawn(monkeypatch: pytest.MonkeyPatch):
    states = sum(map(len, view(build("gap"))["machine"]["states"]))
    monkeypatch.setattr(requirement, "MOST_STATES", states - 1)
    assert view(build("gap"))["machine"] is None
