"""The ladder of the drifting corridor."""

import pytest

from reproduction.corridor_ladder import print_ladder


def test_both_ends_meet_at_every_number_of_drifts(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_ladder([1, 3], 60.0) == 0
    out = capsys.readouterr().out
    assert out.count("[2.0000, 2.0000]") == 2
    assert out.count("[1.0000, 1.0000]") == 2
