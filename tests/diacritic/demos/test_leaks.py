"""Leak probes: at chance on a clean stand-in, and not at chance where something leaks."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos import leaks
from diacritic.demos.leaks import Question, kernel_probe, leak_table, linear_probe, status, table
from diacritic.demos.record import record


def test_clean_and_leaking(stand_in):
    def cells(leak: float):
        return leak_table(*record(stand_in(leak=leak), 192, 4), held_out=64)

    clean, leaking = cells(0.0), cells(0.004)
    assert all(cell.passed for cell in clean)
    assert len(clean) == 6 * 4 * 2  # phases, variables, probes
    said = {(cell.phase, cell.variable): cell.status for cell in clean}
    assert said["scan", "side"] == said["grasp", "side"] == said["place", "slot"] == "visible"
    assert said["gap1", "side"] == said["gap2", "slot"] == said["grasp", "slot"] == said["scan", "mass"] == "hidden"
    assert said["gap2", "distractor"] == "partial"
    caught = {(cell.phase, cell.variable) for cell in leaking if not cell.passed}
    assert caught == {("gap2", "slot")}


def test_probes_learn_what_they_should():
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(400, 2))
    straight, crossed = (inputs[:, 0] > 0).astype(int), (inputs[:, 0] * inputs[:, 1] > 0).astype(int)

    def accuracy(probe, labels):
        return float((probe(inputs[:300], labels[:300], inputs[300:]) == labels[300:]).mean())

    assert accuracy(linear_probe, straight) > 0.9
    assert accuracy(kernel_probe, straight) > 0.8
    assert accuracy(linear_probe, crossed) < 0.65  # no hyperplane does this
    assert accuracy(kernel_probe, crossed) > 0.75


def test_constant_inputs_and_labels_are_answered():
    labels = np.array([0, 1, 1, 1])
    np.testing.assert_array_equal(linear_probe(np.ones((4, 3)), labels, np.ones((2, 3))), [1, 1])
    same = np.full(4, 3)
    np.testing.assert_array_equal(linear_probe(np.arange(8.0).reshape(4, 2), same, np.ones((2, 2))), [3, 3])


def test_statistics_are_exact_and_corrected():
    labels = np.tile([0, 1], 40)

    def always(correct: int):
        def probe(_train, _labels, test):
            wrong = np.arange(len(test)) >= correct
            return np.where(wrong, 1 - labels[-len(test) :], labels[-len(test) :])

        return probe

    question = Question("gap1", "side", "hidden", np.zeros((80, 1)), labels)
    cells = table([question], {str(k): always(k) for k in (10, 15, 20)}, held_out=20)
    assert [cell.correct for cell in cells] == [10, 15, 20]
    exact = [sum(comb(20, k) for k in range(least, 21)) / 2**20 for least in (10, 15, 20)]
    assert [cell.p for cell in cells] == pytest.approx(exact)
    assert cells[2].adjusted == pytest.approx(3 * exact[2])
    assert cells[1].adjusted == pytest.approx(2 * exact[1])
    assert [cell.passed for cell in cells] == [True, False, False]
    low, high = cells[1].interval
    assert low < 0.75 < high
    assert cells[1].to_dict()["accuracy"] == 0.75


def test_visible_must_be_high():
    labels = np.tile([0, 1], 40)
    question = Question("scan", "side", "visible", np.zeros((80, 1)), labels)
    blind = table([question], {"none": lambda _a, _b, test: np.zeros(len(test), int)}, held_out=20)
    assert (blind[0].accuracy, blind[0].passed) == (0.5, False)
    assert leaks.failures(blind) == blind
    sharp = table([question], {"all": lambda _a, _b, test: labels[-len(test) :]}, held_out=20)
    assert leaks.failures([*blind, *sharp]) == []  # one probe that sees it is enough


def test_status_follows_functions_of_the_variable(stand_in):
    demos, binner = record(stand_in(sides=4), 64, 0)
    half = (demos.latents["side"] // 2).astype(np.int32)
    fine = (demos.latents["side"] * 8 + np.arange(64) % 8).astype(np.int32)
    demos = replace(demos, latents={**demos.latents, "half": half, "fine": fine})
    grasp, gap = np.array([5, 6, 7, 8]), np.array([3, 4])
    assert status(demos, binner, "half", grasp) == "visible"
    assert status(demos, binner, "fine", grasp) == "partial"
    assert status(demos, binner, "fine", gap) == "hidden"
    scan = np.array([1, 2])
    assert status(demos, binner, "half", scan) == "visible"
    assert status(demos, binner, "half", scan, probe=False) == "hidden"


def test_a_display_that_never_repeats_does_not_show_a_nuisance(stand_in):
    whole, binner = record(stand_in(sides=4), 64, 0)
    sides, slots = whole.latents["side"], whole.latents["slot"]
    demos = whole.take(np.array([np.flatnonzero((sides == side) & (slots == 0))[0] for side in range(4)]))
    latents = {**demos.latents, "mass": np.array([0, 1, 1, 0], np.int32)}
    demos = replace(demos, latents=latents, convention=replace(demos.convention, nuisances={"mass": 2}))
    scan, grasp = np.array([1, 2]), np.array([6])
    assert status(demos, binner, "side", scan) == "visible"
    for steps in (scan, grasp):
        assert status(demos, binner, "mass", steps) == "hidden"


def test_many_values_are_probed_by_their_leading_bits():
    values = np.arange(512)
    assert leaks.coarse(values, 512, 32).tolist() == [k // 16 for k in range(512)]
    np.testing.assert_array_equal(leaks.coarse(values % 32, 32, 32), values % 32)
    assert [leaks.most_values(train) for train in (3, 8, 40, 127, 128, 896)] == [2, 2, 8, 16, 32, 32]


def test_table_in_words(stand_in):
    cells = leak_table(*record(stand_in(leak=0.008), 128, 4), held_out=32)
    said = leaks.lines(cells)
    assert [word for word in said[0].split() if "(" not in word] == [
        "phase",
        "probe",
        "side",
        "slot",
        "mass",
        "distractor",
    ]
    assert said[0].split()[3] == "(0.50)"
    row = next(line for line in said if line.startswith("gap2") and "linear" in line)
    assert "!" in row
    assert "+" in row
    assert "*" in next(line for line in said if line.startswith("scan"))


def test_more_held_out_than_there_is(stand_in):
    with pytest.raises(UserError, match="held_out: expected 1 to 15 of the 16 episodes, not 16"):
        leak_table(*record(stand_in(), 16, 0), held_out=16)
