"""Verdicts on a fresh recording: kept by codes that carry the class, lost by codes that learned the episodes."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.measure.gates import full
from diacritic.measure.recorded import Classes
from diacritic.measure.replication import replicate
from diacritic.measure.windows import Windows

WINDOWS = Windows({"gap": (1,)}, {"use": 2})


def recording(episodes: int, seed: int) -> tuple[NDArray[np.int64], Classes]:
    """A balanced cue, shown once and used last."""
    cue = np.random.default_rng(seed).permutation(np.arange(episodes) % 2)
    symbols = np.stack([cue, np.full(episodes, 5), np.full(episodes, 6)])
    return cue, Classes.of(symbols, np.stack([0 * cue, 0 * cue, 1 + cue]))


def test_verdicts_are_compared_seed_by_seed() -> None:
    (cue, first), (other, fresh) = recording(16, 0), recording(32, 1)
    noise = np.random.default_rng(2).integers(0, 2, 32)
    codes = np.stack([np.tile(row, (3, 1)) for row in (cue, 0 * cue, cue)])
    again = np.stack([np.tile(row, (3, 1)) for row in (other, 0 * other, noise)])
    found = replicate(full(WINDOWS), (codes, first), (again, fresh), WINDOWS.memory, seeds=[5, 6, 7])
    assert (found.agreement.both, found.agreement.neither) == (1, 1)
    assert found.agreement.first_only == (7,)
    assert found.requirement_shift == 0
    assert found.score_shift > 0.5
    rate = found.rates["gap"]
    assert rate.first == pytest.approx(2 / 3)
    assert (rate.first_sufficient, rate.fresh_sufficient) == (1, 1)
    assert json.loads(json.dumps(found.to_dict()))["agreement"]["pass_fail"] == [7]


def test_where_no_seed_passes_there_is_no_sufficient_rate() -> None:
    _, first = recording(4, 0)
    found = replicate(full(WINDOWS), (np.zeros((2, 3, 4), int), first), (np.zeros((2, 3, 4), int), first), {"g": (1,)})
    assert found.rates["g"].first_sufficient is None
    assert found.agreement.share == 1


def test_a_shifted_requirement_shows() -> None:
    (_, first), cue = recording(4, 0), np.array([0, 0, 0, 1])
    symbols = np.stack([cue, np.full(4, 5), np.full(4, 6)])
    fresh = Classes.of(symbols, np.stack([0 * cue, 0 * cue, 1 + cue]))
    codes = np.zeros((1, 3, 4), int)
    found = replicate(full(WINDOWS), (codes, first), (codes, fresh), WINDOWS.memory)
    assert found.requirement_shift == pytest.approx(1 - 0.8112781)


def test_bad_input_is_named() -> None:
    _, first = recording(4, 0)
    codes = np.zeros((1, 3, 4), int)
    short = Classes.of(first.symbols[:2], first.action[:2])
    with pytest.raises(UserError, match="fresh: the recordings have different horizons"):
        replicate(full(WINDOWS), (codes, first), (codes[:, :2], short), WINDOWS.memory)
    with pytest.raises(UserError, match="windows: a window has no steps"):
        replicate(full(WINDOWS), (codes, first), (codes, first), {"gap": ()})
    with pytest.raises(UserError, match="verdicts"):
        replicate(full(WINDOWS), (codes, first), (np.zeros((2, 3, 4), int), first), WINDOWS.memory)
