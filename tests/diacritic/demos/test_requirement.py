"""Certificates from recordings: the staircase, what was not recorded, and what a fresh recording must repeat."""

from dataclasses import replace

import pytest

from certify.errors import UserError
from diacritic.demos import requirement
from diacritic.demos.record import record
from diacritic.demos.requirement import certify_recording


@pytest.mark.parametrize(("classes", "bits"), [(2, 1), (4, 2)])
def test_staircase(stand_in, classes, bits):
    answer = certify_recording(record(stand_in(sides=classes, slots=classes), 64, 0)[0])
    assert answer.certified
    assert [step.rate for step in answer.steps] == [
        *[0.0] * 3,
        *[2.0 * bits] * 3,  # first gap and grasp decision
        *[1.0 * bits] * 7,  # the side is seen, then spent; second gap and place decision
        *[0.0] * 3,
    ]
    instantaneous = [step.instantaneous for step in answer.steps]
    assert instantaneous == [bits if t in (5, 12) else 0.0 for t in range(16)]
    assert all(step.a2 and step.a4 and step.transitive for step in answer.steps)


def test_a_pose_that_shows_nothing_costs_memory(stand_in):
    """With classes too close to see, the way back from the side must be remembered as well."""
    hidden = certify_recording(record(stand_in(spread=0.04), 64, 0)[0])
    assert [hidden.steps[t].rate for t in (5, 6, 7, 8)] == [2.0, 2.0, 2.0, 1.0]


def test_coverage(stand_in):
    full = requirement.coverage(record(stand_in(sides=4), 16, 0)[0])
    assert (len(full.counts), full.unseen, full.missing_mass) == (8, (), 0)
    some = requirement.coverage(record(stand_in(sides=4), 6, 0)[0])
    assert len(some.unseen or ()) == 2
    assert some.missing_mass == 1


def test_nondeterminism_is_found(stand_in):
    demos = record(stand_in(), 16, 0)[0]
    assert requirement.nondeterministic(demos) == []
    symbols = demos.symbols.copy()
    symbols[9, 7] = (symbols[9, 7] + 1) % len(demos.symbol_names)
    odd = (int(demos.latents["side"][7]), int(demos.latents["slot"][7]))
    assert requirement.nondeterministic(replace(demos, symbols=symbols)) == [odd]


def test_a_stochastic_expert_is_refused(stand_in):
    demos = record(stand_in(), 16, 0)[0]
    choices = demos.choices.copy()
    choices[0, 3] += 1
    with pytest.raises(UserError, match="stochastic expert"):
        certify_recording(replace(demos, choices=choices))


def test_fresh_recordings(stand_in):
    task = stand_in()
    (one, binner), (two, other) = (record(task, 32, seed) for seed in (0, 1))
    answer = certify_recording(one)
    assert requirement.differences(answer, certify_recording(two)) == []
    assert requirement.different_visibility(binner, other) == []
    changed, blind = record(stand_in(spread=0.04), 32, 2)
    assert requirement.different_visibility(binner, blind) == [
        f"step {t}: {name}" for name, steps in (("side", (7, 8)), ("slot", (14, 15, 16))) for t in steps
    ]
    actual = requirement.differences(answer, certify_recording(changed))
    assert "step 7: H(Γ|Ō) 1.0000 and 2.0000" in actual
    assert all(line.startswith("step ") for line in actual)


def test_missing_latent_is_named(stand_in):
    demos = record(stand_in(), 8, 0)[0]
    with pytest.raises(UserError, match=r"convention: names the latent '\w+', which the recording does not have"):
        requirement.coverage(replace(demos, latents={"slot": demos.latents["slot"]}))
