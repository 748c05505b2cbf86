"""What codes stand for: one number for one meaning in machine, episodes and seeds; surplus and confusion are marked."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from report_inputs import gap_codes

from certify import certify
from certify.zoo import build
from diacritic.report.meanings import MIXED, NOTHING, Look, Meanings, looks
from diacritic.report.requirement import state_of_node
from diacritic.report.strips import _exact


def gap_classes(meanings: Meanings) -> tuple[np.ndarray, np.ndarray]:
    coded = _exact(gap_codes(), build("gap"))
    assert coded.seen is not None
    assert coded.acted is not None
    return meanings.of_episodes(coded.seen, coded.acted, coded.actions), coded.seen


def test_classes_are_named_by_the_decisions_that_they_keep_open():
    meanings = Meanings()
    classes, _ = gap_classes(meanings)
    assert sorted(meanings.names) == [
        "put 0",
        "put 1",
        "take 0, put 0",
        "take 0, put 1",
        "take 1, put 0",
        "take 1, put 1",
    ]
    assert (classes[:2] == NOTHING).all()  # what is seen at first is enough
    assert [meanings.names[k] for k in dict.fromkeys(classes[-1])] == ["put 0", "put 1"]


def test_machine_and_episodes_have_the_same_numbers():
    answer, meanings = certify(build("gap")), Meanings()
    labels = [state_of_node(answer, t) for t in range(answer.model.horizon)]
    states = meanings.of_machine(answer, labels)
    names = meanings.names
    classes, _ = gap_classes(meanings)
    assert meanings.names == names
    assert [set(level) for level in states] == [set(row.tolist()) for row in classes]
    assert states[3] == [0, 2, 1, 3] or sorted(states[3]) == [0, 1, 2, 3]


def test_a_faithful_code_has_the_colour_of_its_class_whatever_its_number():
    meanings = Meanings()
    classes, seen = gap_classes(meanings)
    drawn = []
    for codes in (classes + 1, 40 - classes):  # two seeds that number their codes differently
        look = looks(codes, classes, seen)
        drawn.append([[look[t][code] for code in row] for t, row in enumerate(codes.tolist())])
    assert drawn[0] == drawn[1]
    assert drawn[0][3] == [Look(number) for number in classes[3].tolist()]


def test_a_second_code_of_a_class_is_surplus_and_one_for_several_is_mixed():
    classes, seen = np.array([[0, 0, 0, 1, 1, 1]]), np.zeros((1, 6), int)
    assert looks(np.array([[5, 5, 7, 8, 8, 8]]), classes, seen) == [{5: Look(0), 7: Look(0, True), 8: Look(1)}]
    assert looks(np.zeros((1, 6), int), classes, seen) == [{0: Look(MIXED)}]


def test_codes_of_different_observations_are_no_surplus():
    classes, seen = np.array([[0, 1, 0, 1]]), np.array([[0, 0, 1, 1]])
    assert not any(look.second for look in looks(np.array([[1, 2, 3, 4]]), classes, seen)[0].values())


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2), st.integers(0, 3)), min_size=1, max_size=30))
def test_every_class_has_a_main_code_in_every_observation(cells: list[tuple[int, int, int]]):
    """The literal rule, cell by cell."""
    seen, classes, codes = (np.array([column]) for column in zip(*cells, strict=True))
    (drawn,) = looks(codes, classes, seen)
    assert drawn.keys() == set(codes[0].tolist())
    for code, look in drawn.items():
        mine = [number for _, number, other in cells if other == code and number >= 0]
        if not mine:
            assert look == Look(NOTHING)
        elif look.number != MIXED:
            assert mine.count(look.number) >= 0.9 * len(mine)
            most = [
                max(sorted(set(codes[0].tolist())), key=lambda c, f=fiber: cells.count((f, look.number, c)))
                for fiber in {f for f, number, _ in cells if number == look.number}
            ]
            assert look.second == (code not in most)
