"""Labels show what differs; stretches lose nothing; long observations are numbered and explained."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from certify import Model
from certify.zoo import build
from diacritic.report.labels import LONGEST, Labels, differing, stretches


@given(st.lists(st.integers(0, 3), min_size=1))
def test_stretches_are_the_values_again(values: list[int]):
    parts = stretches(values)
    assert [value for _, length, value in parts for _ in range(length)] == values
    assert [at for at, _, _ in parts] == np.cumsum([0, *(length for _, length, _ in parts)])[:-1].tolist()


def test_only_fields_that_differ_are_kept():
    assert differing(["gap side=0 hover=1", "gap side=1 hover=1"]) == ["side=0", "side=1"]
    assert differing(["one", "one"]) == ["one", "one"]
    assert differing(["a b", "a b c"]) == ["a b", "a b c"]


def test_bare_numbers_are_not_left_alone():
    assert differing(["take 0", "take 1"]) == ["take 0", "take 1"]


@given(st.lists(st.text("ab=01 ", max_size=12), max_size=5))
def test_different_texts_stay_different(texts: list[str]):
    unlike = [text for k, text in enumerate(texts) if text.split() not in [other.split() for other in texts[:k]]]
    assert len(set(differing(unlike))) == len(unlike)


def test_histories_are_told_by_the_steps_at_which_some_differ():
    graph = build("gap").graph
    labels, t = Labels(graph), 4
    everybody = list(range(graph.levels[t].size))
    told = labels.histories(t, everybody, everybody)
    assert told[0] == "1: z=0 · 2: cue1=0 · 3: cue2=0"
    assert len(set(told)) == len(told)


def test_equal_neighbours_are_told_once():
    long = Model.from_arrays(
        [[1, 1, 1, 0], [2, 2, 2, 0]], [[0, 0, 0, 0], [0, 0, 0, 1]], observation_names=["s", "a", "b"]
    )
    assert Labels(long.graph).histories(3, [0, 1], [0, 1]) == ["1–3: a", "1–3: b"]


def test_long_observations_are_numbered_with_a_legend():
    pixels = [" ".join(str((k >> n) & 1) for n in range(40)) for k in (5, 1023)]
    model = Model.from_arrays([[0, 0], [1, 1]], [[0, 0], [1, 1]], observation_names=pixels)
    labels = Labels(model.graph)
    assert [labels.seen(0, k) for k in (0, 1)] == ["obs#1", "obs#2"]
    assert labels.legend == {"obs#1": pixels[0], "obs#2": pixels[1]}
    assert all(len(name) <= LONGEST for name in labels.legend)
