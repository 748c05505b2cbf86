"""The comparison with trees: they are taken where they are better, and the rows are counted."""

import numpy as np

from reproduction.need_study.trees import TreeFrame, compare, sentence


def test_trees_are_taken_for_a_sharp_function_alone():
    rng = np.random.default_rng(0)
    seen = rng.standard_normal((500, 2))
    sharp = 20.0 * (seen[:, :1] > 0) * (seen[:, 1:] > 0) + 1.2 * rng.standard_normal((500, 1))
    frame = TreeFrame(seen, sharp)
    assert frame.better.tolist() == [True]
    assert ((sharp - frame.predict(sharp)) ** 2).mean() < 0.5 * ((sharp - frame.ridge) ** 2).mean()
    assert not TreeFrame(seen, 40 * seen + 1.2 * rng.standard_normal((500, 2))).better.any()
    other = rng.standard_normal((500, 1))
    np.testing.assert_array_equal(frame.predict(other), super(TreeFrame, frame).predict(other))


def test_a_row_has_both_answers():
    row = compare("cues-1-of-2", 32, 0)
    assert (row["answer"], row["answer_with_trees"], row["bits_moved"]) == ("memory needed", "memory needed", 0)


def test_rows_are_counted():
    row = {"family": "lit", "open": 6, "better": 4, "answer": "cannot tell", "bits_moved": 0.0}
    row |= {"answer_with_trees": "cannot tell", "seconds": 1.0, "seconds_with_trees": 5.0}
    said = sentence([row, row | {"family": "coin", "answer_with_trees": "no evidence of need"}])
    assert "at 8 of 12 steps" in said
    assert "in 1 datasets (`coin`) and takes 5.0 times as long" in said
