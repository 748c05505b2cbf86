"""Learners in the form of the authors' release."""

from dataclasses import replace

import pytest

from diacritic.training.learner import LEARNERS, learner
from diacritic.training.objectives.continuations import EveryContinuation
from diacritic.training.objectives.decisions import PendingDecisions
from diacritic.training.objectives.future import FutureBehaviour
from diacritic.training.objectives.identification import Identification, JoinHead, TeacherState
from diacritic.training.objectives.inverse import Inverse
from diacritic.training.objectives.later_actions import AllLaterActions
from diacritic.training.objectives.rate import Rate
from diacritic.training.objectives.vq import Quantisation
from diacritic.training.released import released


def test_the_rate_is_in_bits_and_the_codes_follow_it_and_vectors_are_summed() -> None:
    terms = released(learner("plain")).terms
    assert Rate(unit="bits", moves_codes=True) in terms
    assert Quantisation(0.25, "sum") in terms


@pytest.mark.parametrize(
    ("name", "anneal"),
    [("event-agnostic", (0.6, 0.8)), ("event-agnostic-40", (0.4, 0.8)), ("event-agnostic-kept", (1, 1))],
)
def test_annealing_ends_at_four_fifths(name: str, anneal: tuple[float, float]) -> None:
    assert released(learner(name)).terms[-1] == FutureBehaviour(anneal=anneal, numbers="sum", each_draw=True)


def test_errors_are_summed_over_numbers() -> None:
    assert released(learner("task-informed")).terms[-1] == PendingDecisions(numbers="sum")
    assert released(learner("teacher-state")).terms[-1] == TeacherState(numbers="sum", unit_length=True)


def test_the_join_head_names_the_class_at_every_step() -> None:
    assert released(learner("join")).terms[-1] == JoinHead("all")


def test_continuations_start_everywhere_and_all_offsets_have_one_head() -> None:
    assert released(learner("plain+bfs")).terms[-1] == EveryContinuation()
    assert released(learner("open-loop-world")).terms[-1] == EveryContinuation(blind=True, world=True)
    assert released(learner("event-agnostic-all")).terms[-1] == AllLaterActions(numbers="sum")
    assert released(learner("event-agnostic-all-light")).terms[-1] == AllLaterActions(anneal=(0.4, 0.8), numbers="sum")
    assert released(learner("inverse+imitation")).terms[-1] == Inverse(ends="cut")
    assert released(learner("dual-detached")).terms[-1] == Identification(own_features=True)


def test_the_codes_of_a_full_history_are_paid_for() -> None:
    assert released(learner("full-history")).terms[-1] == Rate("bits", True)


@pytest.mark.parametrize("name", LEARNERS)
def test_twice_is_once(name: str) -> None:
    once = released(learner(name))
    assert released(once) == once
    assert replace(once, terms=learner(name).terms) == learner(name)
