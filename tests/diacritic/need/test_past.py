"""Conditional dependence, and which part of the past helps."""

import numpy as np
import pytest
from need_data import controlled
from scipy.stats import kstest

from diacritic.need.alignment import align
from diacritic.need.past import dependence, nested_gains


def test_p_values_of_independent_columns_are_uniform():
    p = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p.append(dependence(rng.standard_normal((60, 1)), rng.standard_normal((60, 1)))[0])
    assert kstest(p, "uniform").pvalue > 0.01


def test_the_dependent_column_is_named():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((60, 9))
    p, column = dependence(2 * columns[:, [4]] + rng.standard_normal((60, 1)), columns)
    assert (column, p < 1e-3) == (4, True)


@pytest.mark.parametrize(("control", "part"), [("velocity", "velocity"), ("copycat", "actions")])
def test_the_right_part_of_the_past_helps(control: str, part: str):
    data = align(controlled(control, 96))
    s = 10
    targets = data.acted[s]
    errors = ((targets - data.frames[s].predict(targets)) ** 2).mean(0)
    gains = nested_gains(data, s, targets, errors)
    assert getattr(gains, part) > 0.3
    assert gains.memory < 0.2
