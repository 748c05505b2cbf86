"""Each flag is raised by exactly the defect it names, and by an honest 4 % error too."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.measure.flags import CORRECT, Evidence, class_error
from diacritic.measure.gates import full, kept
from diacritic.measure.recorded import Classes, score_cohort
from diacritic.measure.windows import Windows

CLEAN = Evidence(class_error=0.0, second_gap_rate=1.0, full_gate=True, second_gap=True)


@pytest.mark.parametrize(
    ("change", "flags"),
    [
        ({}, ()),
        ({"second_gap_rate": 0.89}, ("A",)),
        ({"full_gate": False}, ("B",)),  # a lost grasp class
        ({"full_gate": False, "second_gap": False}, ("B", "B′")),
        ({"second_gap_rate": 0.0, "full_gate": False, "second_gap": False}, ("A", "B", "B′")),
        ({"second_gap_rate": 0.9, "class_error": 0.049}, ()),
        ({"second_gap_rate": 0.0, "full_gate": False, "second_gap": False, "class_error": 0.05}, ()),
    ],
)
def test_a_flag_pairs_correctness_with_its_defect(change: dict[str, float], flags: tuple[str, ...]) -> None:
    assert replace(CLEAN, **change).flags == flags


def test_four_per_cent_of_errors_fail_the_gate_without_a_leak() -> None:
    """A uniform binary class, shown once, that the code misnames in 4 % of the episodes of each class."""
    slot = np.repeat([0, 1], 50)
    wrong = np.isin(np.arange(100), [0, 1, 50, 51])
    symbols = np.stack([slot, np.full(100, 5), np.full(100, 6)])
    codes = np.stack([slot, slot ^ wrong, slot ^ wrong])
    scored = score_cohort(codes[None], Classes.of(symbols, np.stack([0 * slot, 0 * slot, 1 + slot])))
    left = -0.04 * log2(0.04) - 0.96 * log2(0.96)
    score = 1 - left
    assert left == pytest.approx(0.242, abs=5e-4)
    assert score == pytest.approx(0.758, abs=5e-4)
    assert scored.instantaneous[0, 2] == pytest.approx(score, abs=1e-12)
    windows = Windows({"gap2": (1,)}, {"slot": 2})
    run = Evidence(
        float(wrong.mean()),
        float(scored.rate[0, 1]),
        bool(full(windows).passes(scored.sufficiency, scored.instantaneous)[0]),
        bool(kept(windows, "gap2").passes(scored.sufficiency, scored.instantaneous)[0]),
    )
    assert run.class_error < CORRECT
    assert run.flags == ("B", "B′")


def test_the_class_of_an_action_is_the_nearest_mean_of_the_expert() -> None:
    label = np.array([0, 0, 3, 3])
    expert = np.array([[0.0, 0.1], [0.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    done = np.array([[0.4, 0.0], [0.6, 0.0], [0.9, 5.0], [2.0, 0.0]])
    assert class_error(done, expert, label) == 0.25
    with pytest.raises(UserError, match="actions: shape"):
        class_error(done[:3], expert, label)
    with pytest.raises(UserError, match=r"class_error: 1\.2 is not a share"):
        replace(CLEAN, class_error=1.2)
