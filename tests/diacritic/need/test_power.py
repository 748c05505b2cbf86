"""Exchanged pasts and planted cues."""

import numpy as np
from need_data import answered, controlled

from diacritic.need.alignment import align
from diacritic.need.power import exchanged, power


def test_exchanged_pasts_explain_nothing():
    answer = answered("cues-2-of-2")
    assert exchanged(answer.data, answer.remembered, np.random.default_rng(1)) <= 3


def test_wide_cues_are_found_and_narrow_ones_are_not():
    data = align(controlled("clock", 64))
    assert power(data, range(6), 3.0, 0) > 0.8
    assert power(data, range(6), 0.05, 0) < 0.2
