"""K is raised from the bound until the gate is met and the rate settles."""

from diacritic.studies.codebook import ladder, select


def rows(passed: int, bits: float, of: int = 4):
    good = [{"sufficient": True, "rate": {"gap": bits, "none": None}}] * passed
    return [*good, *[{"sufficient": False, "rate": {"gap": 9.0, "none": None}}] * (of - passed)]


def test_the_ladder_starts_at_the_bound():
    assert ladder(8) == [8, 10, 12, 16, 24, 32, 48, 64]
    assert ladder(1) == [1, 2, 3, 4, 6, 8]


def test_it_freezes_the_first_size_whose_successor_changes_nothing():
    actual = {8: rows(0, 3.0), 10: rows(1, 3.0), 12: rows(2, 3.3), 16: rows(4, 3.12), 24: rows(3, 3.05)}
    chosen, tried = select(8, lambda codes: actual[codes])
    assert chosen == 16
    assert [(t.codes, t.passed) for t in tried] == [(8, 0), (10, 1), (12, 2), (16, 4), (24, 3)]


def test_a_size_that_fails_again_settles_nothing():
    actual = {2: rows(4, 1.0), 3: rows(1, 1.0), 4: rows(4, 1.0), 6: rows(4, 1.0)}
    assert select(2, lambda codes: actual[codes])[0] == 4


def test_nothing_is_frozen_where_no_size_passes():
    chosen, tried = select(1, lambda codes: rows(0, 0.0))
    assert chosen is None
    assert len(tried) == len(ladder(1))
