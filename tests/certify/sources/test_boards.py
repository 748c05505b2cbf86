"""The bandit, MineSweeper, Battleship and Concentration: live episodes agree, and the experts play them."""

import math

import pytest

from certify import certify
from certify.sources import boards
from certify.sources.adapter import to_model

pytest.importorskip("popgym")


def test_the_bandit_by_hand() -> None:
    """The first pull shows whether arm 0 paid; from the third step on that must be remembered."""
    game = boards.bandit(arms=2, horizon=4)
    assert game.check(10) >= -1
    half = [step.upper for step in certify(game.model()).steps]
    assert half[:2] == [0, 0]
    # at step 3, seeing 0: arm 0 paid or neither did (both stay with arm 0); seeing 1: arm 0 or only arm 1 paid
    assert half[2] == pytest.approx(0.5)


def test_minesweeper_is_played_as_it_is() -> None:
    game = boards.minesweeper()
    assert game.check(20) > 0.5  # the most is 1
    bits = [step.upper for step in certify(game.model(), seconds=2).steps]
    assert bits[:2] == [0, 0]
    assert 0 < max(bits) < math.log2(120)


@pytest.mark.parametrize("name", ["BattleshipEasy", "ConcentrationEasy", "MineSweeperMedium"])
def test_boards_by_layouts(name: str) -> None:
    adapter = boards.by_layouts(name, layouts=4, horizon=8)
    assert to_model(adapter).horizon == 8
    assert adapter.modified == "4 boards, first 8 steps"
