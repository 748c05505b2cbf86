"""Held-out bounds: above the entropy where inputs are noise, far below the surplus's rest where they explain it."""

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.measure.crossval import explained_surplus, held_out_bits, one_hot, rate_bound, standardised
from diacritic.measure.plugin import conditional_entropy


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


def test_noise_predicts_nothing_and_the_bound_stays_above(random: np.random.Generator) -> None:
    symbol = random.integers(0, 2, 600)
    code = 4 * symbol + random.integers(0, 4, 600)
    bound = rate_bound(code, symbol, random.normal(size=(600, 5)))
    assert 2 < bound < 2.1
    assert bound > conditional_entropy(code, symbol)


def test_an_observation_that_tells_the_code_lowers_the_bound(random: np.random.Generator) -> None:
    code = random.integers(0, 2, 400)
    seen = np.column_stack([code + 0.05 * random.normal(size=400), random.normal(size=400), np.full(400, 7.0)])
    assert rate_bound(code, np.zeros(400, int), seen) < 0.1


def test_a_code_that_was_never_learned_has_a_finite_cost(random: np.random.Generator) -> None:
    code = np.zeros(20, int)
    code[7] = 1
    bits = held_out_bits(code, random.normal(size=(20, 1)), folds=2)
    assert np.log2(2 * 11) / 20 - 0.1 < bits < 1
    assert held_out_bits(np.full(20, 3), random.normal(size=(20, 1)), folds=2) == pytest.approx(0, abs=1e-12)


def test_position_explains_the_surplus_that_encodes_it_and_no_other(random: np.random.Generator) -> None:
    memory, position = random.integers(0, 2, 500), random.uniform(-1, 1, (500, 2))
    half = (position[:, 0] > 0).astype(int)
    coin, symbol = random.integers(0, 2, 500), np.zeros(500, int)
    # which half a code means depends on the class, and a coin is kept besides
    code = 4 * memory + 2 * (half ^ memory) + coin
    both = explained_surplus(code, memory, symbol, position)
    assert both.surplus == pytest.approx(2, abs=0.02)
    assert 0.75 < both.least < 1.0
    blind = explained_surplus(2 * memory + coin, memory, symbol, position)
    assert blind.least < 0.02
    assert explained_surplus(memory, memory, symbol, position).surplus == 0


def test_trees_find_what_no_line_separates(random: np.random.Generator) -> None:
    memory, position = random.integers(0, 2, 400), random.uniform(-1, 1, (400, 2))
    code = 2 * memory + ((position[:, 0] > 0) ^ (position[:, 1] > 0))
    straight, grown = (
        explained_surplus(code, memory, np.zeros(400, int), position, learner=learner)
        for learner in ("logistic", "trees")
    )
    assert straight.surplus == grown.surplus == pytest.approx(1, abs=0.02)
    assert straight.least < 0.05
    assert grown.least > 0.7
    noise = explained_surplus(code, memory, np.zeros(400, int), random.normal(size=(400, 2)), learner="trees")
    assert noise.least == 0
    assert explained_surplus(memory, memory, np.zeros(400, int), position, learner="trees").least == 0


def test_one_column_a_label_and_no_constant_channel() -> None:
    assert one_hot([5, -2, 5]).tolist() == [[0, 1], [1, 0], [0, 1]]
    scaled = standardised([[1.0, 3.0], [1.0, 5.0]])
    assert scaled.tolist() == [[-1], [1]]


def test_bad_input_is_named() -> None:
    with pytest.raises(UserError, match="observations: no channel varies"):
        rate_bound([0, 1], [0, 0], np.ones((2, 27)))
    with pytest.raises(UserError, match="observations: expected finite numbers"):
        rate_bound([0, 1], [0, 0], np.array([[np.nan], [1.0]]))
    with pytest.raises(UserError, match=r"features: shape .* beside 3 codes"):
        held_out_bits([0, 1, 0], np.ones((2, 1)), 2)
    with pytest.raises(UserError, match="folds: 1 folds of 2 episodes"):
        held_out_bits([0, 1], np.ones((2, 1)), 1)
    with pytest.raises(UserError, match="folds: 5 folds of 2 episodes"):
        held_out_bits([0, 1], np.ones((2, 1)), 5)
    with pytest.raises(UserError, match="inputs: 3 rows for 2 episodes"):
        explained_surplus([0, 1], [0, 0], [0, 0], np.eye(3))
