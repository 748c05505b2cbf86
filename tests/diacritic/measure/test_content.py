"""Information content against counting by hand, and on codes whose content is known."""

import numpy as np
import pytest
from counting_twin import literal_entropy
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.measure.content import Question, information, questions
from diacritic.tasks.registry import make as make_task

rows = st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=20)


@given(rows)
def test_information_is_the_literal_difference(drawn: list[tuple[int, int, int, int]]) -> None:
    c, o, x, z = (np.array(column) for column in zip(*drawn, strict=True))
    for given_names, condition in ((("symbol",), [o]), (("z",), [z]), (("symbol", "z"), [o, z]), ((), [0 * o])):
        conditions = list(zip(*(values.tolist() for values in condition), strict=True))
        both = list(zip(conditions, x.tolist(), strict=True))
        arguments = np.stack([c, 0 * c])[:, None], o[None], Question("x", given_names), {"x": x, "z": z}
        bits = information(*arguments)
        expected = literal_entropy(c.tolist(), conditions) - literal_entropy(c.tolist(), both)
        assert bits[0, 0] == pytest.approx(expected, abs=1e-12)
        assert bits[1, 0] == 0


def test_a_code_that_keeps_the_pending_class_has_dropped_the_expired_one() -> None:
    side, slot, nuisance = (np.tile(np.array(x), 8) for x in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]))
    symbols, labels = np.zeros((1, 32), int), {"side": side, "slot": slot, "theta": 2 * side + slot, "hover": nuisance}
    bits = {
        q.title: information(slot[None, None], symbols, q, labels)[0, 0]
        for q in questions(make_task("two-cues"), labels)
    }
    assert bits == pytest.approx(
        {"I(C;side|slot)": 0, "I(C;slot|side)": 1, "I(C;theta|symbol)": 1, "I(C;hover|slot)": 0}
    )
    everything = information((2 * side + slot)[None, None], symbols, Question("side", ("slot",)), labels)
    assert everything[0, 0] == pytest.approx(1)


def test_a_label_of_every_step_is_read_at_its_step() -> None:
    moving = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    bits = information(np.tile([0, 0, 1, 1], (1, 2, 1)), np.zeros((2, 4), int), Question("w"), {"w": moving})
    assert bits[0] == pytest.approx([1, 0])


def test_unknown_and_misshapen_labels_are_named() -> None:
    codes, symbols = np.zeros((1, 2, 3), int), np.zeros((2, 3), int)
    with pytest.raises(UserError, match=r"labels\[mass\]: is unknown; there are w"):
        information(codes, symbols, Question("mass"), {"w": np.zeros(3, int)})
    with pytest.raises(UserError, match=r"labels\[w\]: shape \(4,\), but there are 3 episodes"):
        information(codes, symbols, Question("w"), {"w": np.zeros(4, int)})
