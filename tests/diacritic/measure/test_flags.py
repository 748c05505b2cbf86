"""Each flag is raised by exactly the defect it names, and by an honest 4 % error too."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.measure.flags import Evidence, alarm_rates, class_error, report, symmetric_error
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
    found = score_cohort(codes[None], Classes.of(symbols, np.stack([0 * slot, 0 * slot, 1 + slot])))
    left, score = symmetric_error(0.04)
    assert left == pytest.approx(0.242, abs=5e-4)
    assert score == pytest.approx(0.758, abs=5e-4)
    assert found.instantaneous[0, 2] == pytest.approx(score, abs=1e-12)
    windows = Windows({"gap2": (1,)}, {"slot": 2})
    run = Evidence(
        float(wrong.mean()),
        float(found.rate[0, 1]),
        bool(full(windows).passes(found.sufficiency, found.instantaneous)[0]),
        bool(kept(windows, "gap2").passes(found.sufficiency, found.instantaneous)[0]),
    )
    assert run.correct
    assert run.flags == ("B", "B′")


def test_symmetric_errors_of_many_classes() -> None:
    assert symmetric_error(0) == (0, 1)
    assert symmetric_error(0.75, 4) == pytest.approx((2, 0))
    assert symmetric_error(0.1, 3)[0] == pytest.approx(-0.9 * log2(0.9) - 0.1 * log2(0.05))
    with pytest.raises(UserError, match=r"error: 1\.5 among 2 classes"):
        symmetric_error(1.5)


def test_alarm_rates_count_among_correct_runs() -> None:
    lost = replace(CLEAN, full_gate=False)
    runs = [CLEAN] * 157 + [lost] * 9 + [replace(lost, class_error=0.5)] * 30
    low, full_gate, late = alarm_rates(runs)
    assert (low.raised, full_gate.raised, late.raised) == (0, 9, 0)
    assert {rate.correct for rate in (low, full_gate, late)} == {166}
    assert full_gate.share == pytest.approx(0.054, abs=5e-4)
    assert full_gate.interval == pytest.approx((0.0288, 0.0998), abs=1e-3)
    assert alarm_rates([])[0].share is None


def test_the_report_says_what_a_flag_does_not_establish() -> None:
    text = "\n".join(report([replace(CLEAN, second_gap=False, full_gate=False)], clean=[CLEAN]))
    assert "flag B′: 1/1 correct runs (95 % 0.21–1.00); clean runs: 0/1 correct runs" in text
    assert "flag A: 0/1" in text
    assert "Probe the raw observations of that gap" in text
    assert "look for a leak" not in text  # flag A was not raised
    assert "not a proof of a leak" in text
    assert "0.242" in text
    assert "No flag is no clearance" in text
    assert "clean runs: no correct run" in report([CLEAN])[0]


def test_the_class_of_an_action_is_the_nearest_mean_of_the_expert() -> None:
    label = np.array([0, 0, 3, 3])
    expert = np.array([[0.0, 0.1], [0.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    done = np.array([[0.4, 0.0], [0.6, 0.0], [0.9, 5.0], [2.0, 0.0]])
    assert class_error(done, expert, label) == 0.25
    with pytest.raises(UserError, match="actions: shape"):
        class_error(done[:3], expert, label)
    with pytest.raises(UserError, match=r"class_error: 1\.2 is not a share"):
        replace(CLEAN, class_error=1.2)
