"""Rebuilding what was not recorded: equal to what would have been, or refused."""

from dataclasses import replace

import numpy as np
import pytest

from certify import certify
from certify.errors import UserError
from diacritic.demos.reconstruct import complete, reproduced, rules_of
from diacritic.demos.record import record
from diacritic.demos.requirement import certify_recording, coverage, differences


def test_unrecorded_configurations_are_rebuilt(stand_in):
    task = stand_in(sides=4, slots=4)
    whole = record(task, 64, 0)[0]
    part = whole.take(np.flatnonzero((whole.latents["side"] != 2) | (whole.latents["slot"] != 1)))
    assert coverage(part).unseen == ((2, 1),)
    assert reproduced(part) == (15, 15)
    rebuilt, original = complete(part), complete(whole)
    assert rebuilt.model.digest == original.model.digest
    assert differences(certify(rebuilt.model), certify_recording(whole)) == []


def test_a_value_that_was_never_recorded_cannot_be_rebuilt(stand_in):
    whole = record(stand_in(sides=4, slots=4), 64, 0)[0]
    part = whole.take(np.flatnonzero(whole.latents["side"] != 2))
    with pytest.raises(UserError, match="no recorded episode can stand in for \\(2, 0\\)"):
        complete(part)


def test_only_donors_that_differ_count(stand_in):
    """Three of four configurations: each latent value of (0, 0) has another donor, those of the others do not."""
    whole = record(stand_in(), 16, 0)[0]
    part = whole.take(np.flatnonzero((whole.latents["side"] == 0) | (whole.latents["slot"] == 0)))
    assert reproduced(part) == (1, 3)


def test_steps_depend_on_few_latents(stand_in):
    rules = rules_of(record(stand_in(), 16, 0)[0])
    assert {rule.positions for rule in rules[0]} == {()}
    assert {rule.positions for rule in rules[1]} == {(), (0,), (1,)}  # both are displayed, on channels of their own
    assert rules[5][-1].positions == (0,)  # the action of the grasp decision


def test_a_latent_that_never_repeats_determines_nothing(stand_in):
    """Every side once, every slot twice: the slot's parts depend on the slot, though the side would tell them, too."""
    whole = record(stand_in(sides=4, slots=2), 64, 0)[0]
    pairs = list(zip(whole.latents["side"].tolist(), whole.latents["slot"].tolist(), strict=True))
    part = whole.take(np.array([pairs.index(pair) for pair in ((0, 0), (1, 1), (2, 1), (3, 0))]))
    assert {rule.positions for row in rules_of(part) for rule in row} == {(), (0,), (1,)}
    assert complete(part).model.digest == complete(whole).model.digest


def test_a_recording_that_is_not_deterministic_is_refused(stand_in):
    demos = record(stand_in(), 16, 0)[0]
    symbols = demos.symbols.copy()
    symbols[9, 7] = (symbols[9, 7] + 1) % len(demos.symbol_names)
    with pytest.raises(UserError, match="step 9: the latents of stand-in do not determine the symbol"):
        rules_of(replace(demos, symbols=symbols))
