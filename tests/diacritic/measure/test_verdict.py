"""Each answer of a verdict follows from its own evidence, and the report reaches disk whole."""

import json
from pathlib import Path

import pytest
from measure_twin import DECISION, Bypassed, Forgetful, Keeper, cue_episodes

from certify.errors import UserError
from diacritic.measure.gates import Judgement
from diacritic.measure.interventions import Attribution, Policy, attribute
from diacritic.measure.verdict import Control, Profile, Subject, Verdict, intervention_controls, judge

SUBJECT = Subject("0123", "two-cues gap=6", "plain", 3, "held-out episodes")
PASSED = Judgement("full", True, 1.0, {"gap1": 1.0}, ())
FAILED = Judgement("full", False, 0.2, {"gap1": 0.2}, ("gap1: score 0.200", "gap2: score 0.300", "slot: score 0.400"))
EXACT = Profile([0.0, 2.0, 1.05], [0.0, 2.0, 1.0], [0.0, 0.0, 1.0], {"gap1": [1], "gap2": [2]})
SWAPPED = Control("attribution", "code swap, closed loop", True, "100% of the decisions become the partner's")


def judged(*controls: Control, judgement: Judgement = PASSED, profile: Profile = EXACT, code: bool = True) -> Verdict:
    return judge(SUBJECT, judgement, profile, controls, code)


def controls_of(policy: Policy) -> list[Control]:
    return intervention_controls(attribute(policy, cue_episodes(), [DECISION]), "here")


def test_sufficient_minimal_and_attributed() -> None:
    verdict = judged(SWAPPED)
    assert [verdict.sufficient.answer, verdict.surplus.answer, verdict.sole.answer] == ["yes", "no", "yes"]
    assert (
        verdict.impression == "The code suffices, it alone carries the memory, and it carries no more than is required."
    )
    assert verdict.surplus.because == "rate against requirement: +0.00 bit in gap1, +0.05 bit in gap2"


def test_sufficiency_comes_first() -> None:
    verdict = judged(SWAPPED, judgement=FAILED)
    assert verdict.sufficient.answer == "no"
    assert verdict.sufficient.because == "fails the full gate: gap1: score 0.200; gap2: score 0.300 and 1 more"
    assert (verdict.surplus.answer, verdict.surplus.because) == ("not assessed", "sufficiency comes first")
    assert verdict.impression.startswith("The code does not suffice")


def test_surplus_is_what_exceeds_the_requirement_in_some_window() -> None:
    wide = Profile([0.0, 2.0, 1.5], EXACT.required, EXACT.decision, EXACT.windows)
    assert judged(SWAPPED, profile=wide).surplus.answer == "yes"
    assert judged(SWAPPED, profile=wide).profile.excess() == {"gap1": 0.0, "gap2": 0.5}
    unproved = Profile(EXACT.rate, [0.0, None, None], EXACT.decision, EXACT.windows)
    verdict = judged(SWAPPED, profile=unproved)
    assert verdict.surplus.answer == "not assessed"
    assert verdict.impression.endswith("the requirement is not proved, so surplus stays open.")


def test_a_rate_of_what_is_not_all_that_persists_is_refused() -> None:
    bypass = Control("attribution", "construction", False, "a continuous state persists beside the code")
    verdict = judged(bypass, SWAPPED, code=False)
    assert verdict.surplus.because == "the code is not all that persists; a rate of it is refused"
    assert verdict.sole.answer == "no"
    assert verdict.sole.because == "construction: a continuous state persists beside the code"
    assert "must not be quoted" in verdict.impression


def test_attribution_needs_a_swap() -> None:
    verdict = judged(Control("attribution", "construction", True, "nothing else"))
    assert verdict.sole.answer == "not assessed"
    assert "remains open" in verdict.impression


def test_failed_controls_of_the_measurement_are_named() -> None:
    odd = Control("sufficiency", "decision errors", False, "slot 1.000")
    assert judged(SWAPPED, odd).impression.endswith("Look at what failed besides: decision errors.")
    assert judged(SWAPPED, odd).sole.answer == "yes"


def test_interventions_become_controls() -> None:
    kept = controls_of(Keeper())
    assert [(control.name, control.passed) for control in kept] == [
        ("code swap, here", True),
        ("history shuffle, here", True),
        ("code reset, here", True),
        ("code freeze, here", None),
    ]
    assert kept[0].text == "100% of the decisions become the partner's"
    assert kept[0].data[0]["swap"] == {"partner": 1.0, "own": 0.0}
    assert [control.passed for control in controls_of(Bypassed())] == [False, False, False, None]
    for controls in (controls_of(Forgetful()), intervention_controls(Attribution(()), "here")):
        assert [(control.passed, "nothing to attribute" in control.text) for control in controls] == [(None, True)]


def test_the_document_is_written_whole(tmp_path: Path) -> None:
    path = judged(SWAPPED).save(tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert [item.name for item in tmp_path.iterdir()] == ["verdict.json"]
    assert document["format"] == "diacritic-verdict/1"
    assert (document["run"], document["seed"], document["task"]) == ("0123", 3, "two-cues gap=6")
    assert document["sufficient"] == {"answer": "yes", "because": "passes the full gate; least score 1.000"}
    assert document["steps"]["required"] == [0.0, 2.0, 1.0]
    assert document["controls"][0]["name"] == "code swap, closed loop"
    assert document["windows"] == {"gap1": [1], "gap2": [2]}


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(UserError, match=r"profile: rate, requirement and decision have \(1, 2, 1\) steps"):
        Profile([0.0], [0.0, 0.0], [0.0])
