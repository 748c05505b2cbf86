"""The answer: its format, its agreement with the twin, and what it leaves open."""

import json
from typing import Any

import pytest
from certify_exhaustive import Exhaustive
from certify_twin import Document, Twin, documents, loose_models
from hypothesis import given, settings

from certify import Model, UserError
from certify.answer import Answer, certify
from certify.zoo import build

TOP = {
    "horizon",
    "a2",
    "a4",
    "transitive",
    "certified",
    "observational",
    "simultaneous",
    "joint_sum",
    "joint_bracket",
    "codes",
    "proof",
    "steps",
}
STEP = {
    "t",
    "histories",
    "H_history",
    "H_G",
    "H_Gamma",
    "H_Gamma_strong",
    "lower",
    "upper",
    "rate",
    "states",
    "a2",
    "a4",
    "transitive",
    "method",
}


def read(answer: Answer) -> dict[str, Any]:
    """The answer as another program reads it; not-a-number is not JSON."""

    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(answer.to_json(), parse_constant=refuse)


def check_against_twin(document: Document) -> None:
    """Every number of every step, and the claims at the top."""
    twin, actual = Twin(document), read(certify(Model.from_episodes(document), seconds=5))
    assert actual["horizon"] == len(actual["steps"]) == twin.horizon
    for t, step in enumerate(actual["steps"]):
        assert (step["t"], step["histories"]) == (t + 1, len(twin.levels[t]))
        assert step["H_history"] == pytest.approx(twin.history_entropy(t), abs=1e-13)
        assert step["H_G"] == pytest.approx(twin.behavioural_entropy(t), abs=1e-13)
        assert step["H_Gamma_strong"] == pytest.approx(twin.class_entropy(t, twin.strong[t]), abs=1e-13)
        assert (step["a2"], step["a4"], step["transitive"]) == (twin.a2(t), twin.a4(t), twin.transitive(t))
        if twin.transitive(t):
            assert step["H_Gamma"] == pytest.approx(twin.class_entropy(t, twin.compatible[t]), abs=1e-13)
            assert step["rate"] == step["H_Gamma"]
        else:
            assert step["H_Gamma"] is None
        assert step["H_G"] - 1e-13 <= step["lower"] <= step["upper"] + 1e-13
        assert step["upper"] <= step["H_Gamma_strong"] + 1e-13
        assert step["anticipatory"] == pytest.approx(step["upper"] - step["H_G"], abs=1e-15)
    for name, holds in (("a2", twin.a2), ("a4", twin.a4), ("transitive", twin.transitive)):
        failing = [t + 1 for t in range(twin.horizon) if not holds(t)]
        assert actual[name] == {"holds": not failing, "failing_steps": failing}
    assert actual["observational"] == (not actual["a2"]["holds"])
    assert actual["certified"] is True
    exhaustive = Exhaustive(twin)
    minima = [exhaustive.bits(cost) for cost in exhaustive.colouring_minima()]
    assert [step["rate"] for step in actual["steps"]] == pytest.approx(minima, abs=1e-12)
    assert [step["states"] for step in actual["steps"]] == [exhaustive.fewest_states(t) for t in range(twin.horizon)]
    assert actual["simultaneous"] is exhaustive.simultaneous()
    assert actual["joint_sum"] == pytest.approx(exhaustive.least_sum(), abs=1e-12)
    assert actual["joint_bracket"] == [actual["joint_sum"]] * 2


@settings(max_examples=60)
@given(documents(latents=5))
def test_random_answers_are_those_of_the_twin(document: Document) -> None:
    if max(map(len, Twin(document).levels)) <= 7:
        check_against_twin(document)


def test_answers_without_classes_are_those_of_the_twin() -> None:
    for document, _ in loose_models(400, 40):
        check_against_twin(document)


@pytest.mark.parametrize("name", ["gap", "three-histories", "lost-cue", "running-parity", "re-reveal"])
def test_the_format_has_every_key(name: str) -> None:
    contents = read(certify(build(name)))
    assert contents.keys() >= TOP
    assert all(step.keys() >= STEP for step in contents["steps"])
    assert [step["t"] for step in contents["steps"]] == list(range(1, contents["horizon"] + 1))
    assert set(contents["proof"].values()) <= {"certified", "solver result, not certified", "undecided"}
    assert contents["proof"].keys() >= {"rates", "simultaneous", "joint_sum"}


def test_the_gap_toy_as_json() -> None:
    contents = read(certify(build("gap")))
    assert contents["name"] == "gap"
    assert [step["rate"] for step in contents["steps"]] == [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]
    assert [step["anticipatory"] for step in contents["steps"]] == [0, 0, 1, 2, 2, 2, 1, 1, 1, 1, 0]
    assert contents["certified"] is contents["simultaneous"] is True
    assert contents["joint_sum"] == 13
    assert contents["codes"] == {"time_indexed": 4, "stationary": 4}
    assert contents["observational"] is False
    assert contents["witnesses"] == []


def test_the_three_histories_as_json() -> None:
    """The middle step to full double precision: null for Γ, h₂(1/3) for the rate, between 0 and log₂3."""
    contents = read(certify(build("three-histories")))
    step = contents["steps"][1]
    assert step["H_Gamma"] is None
    assert abs(step["rate"] - 0.9182958340544896) <= 1e-15
    assert step["H_G"] == 0
    assert abs(step["H_Gamma_strong"] - 1.584962500721156) <= 1e-15
    assert contents["transitive"] == {"holds": False, "failing_steps": [2]}
    assert [witness["claim"] for witness in contents["witnesses"]] == ["A4", "transitive"]
    assert contents["certified"] is True


def test_where_a2_fails_the_answer_is_observational() -> None:
    answer = certify(build("lost-cue"))
    assert answer.observational
    assert [round(step.upper, 2) for step in answer.steps] == [0, 0, 1.58, 2.58]
    assert [witness.claim for witness in answer.witnesses] == ["A2"]


def test_past_the_pair_limit_nothing_is_claimed() -> None:
    """Bracket, null and false: a step that was not decided is not certified."""
    contents = read(certify(build("three-histories"), pair_limit=0))
    step = contents["steps"][1]
    assert step["rate"] is None
    assert step["H_Gamma"] is None
    assert step["states"] is None
    assert step["lower"] <= 0.9182958340544896 <= step["upper"]
    assert step["method"].startswith("bracket")
    assert contents["certified"] is False
    assert contents["joint_sum"] is None
    assert contents["simultaneous"] is None
    low, high = contents["joint_bracket"]
    assert low <= 1.2516291673878226 <= high
    assert contents["proof"]["rates"] != "certified" or not contents["certified"]


def test_histories_are_counted_even_when_astronomical() -> None:
    contents = read(certify(build("running-parity", horizon=100)))
    assert contents["steps"][-1]["histories"] == 2**100
    assert contents["joint_sum"] == 99


def test_objectives_change_the_machine_but_not_the_rates() -> None:
    model = build("signpost-corridor", M=4, W=3)
    by_sum, by_peak = certify(model), certify(model, "peak")
    assert [step.rate for step in by_sum.steps] == [step.rate for step in by_peak.steps]
    low, high = by_peak.joint_bracket
    assert low - 1e-12 <= by_sum.joint_bracket[1] <= high + 1e-12


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_time_is_positive(seconds: float) -> None:
    with pytest.raises(UserError, match=r"^seconds: expected a positive number of seconds"):
        certify(build("reveal"), seconds=seconds)


def test_the_machine_of_an_answer_runs() -> None:
    for name in ("gap", "three-histories", "running-parity"):
        answer = certify(build(name))
        assert answer.machine.distortion(answer.model.graph) == 0
