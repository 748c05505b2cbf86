"""Learners as the paper's authors released them: the same terms with their scales, units and schedules."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from diacritic.training.learner import Learner
from diacritic.training.objectives.base import Term
from diacritic.training.objectives.bfs import FutureSufficiency
from diacritic.training.objectives.continuations import EveryContinuation
from diacritic.training.objectives.decisions import PendingDecisions
from diacritic.training.objectives.future import FutureBehaviour
from diacritic.training.objectives.identification import Identification, JoinHead, TeacherState
from diacritic.training.objectives.inverse import Inverse
from diacritic.training.objectives.later_actions import AllLaterActions
from diacritic.training.objectives.open_loop import OpenLoop
from diacritic.training.objectives.rate import Rate
from diacritic.training.objectives.vq import Quantisation
from diacritic.training.preset import Preset

ANNEALED = 0.8
"""Share of training at which an annealed target has no weight any more, wherever its fall begins."""


def _future(term: FutureBehaviour) -> Term:
    held = term.anneal[0]
    return replace(term, numbers="sum", each_draw=True, anneal=(held, 1.0 if held >= 1 else ANNEALED))


def _later(term: AllLaterActions) -> Term:
    """Annealed, it falls from 40 % on."""
    return replace(term, numbers="sum", anneal=(1, 1) if term.anneal[0] >= 1 else (0.4, ANNEALED))


FORMS: dict[type, Callable[[Any], Term]] = {
    Rate: lambda term: replace(term, unit="bits", moves_codes=True),
    Quantisation: lambda term: replace(term, dimensions="sum"),
    FutureBehaviour: _future,
    AllLaterActions: _later,
    PendingDecisions: lambda term: replace(term, numbers="sum"),
    TeacherState: lambda term: replace(term, numbers="sum", unit_length=True),
    FutureSufficiency: lambda term: EveryContinuation(),
    OpenLoop: lambda term: EveryContinuation(blind=True, world=term.observations),
    Inverse: lambda term: replace(term, ends="cut"),
    Identification: lambda term: replace(term, own_features=True),
    JoinHead: lambda term: replace(term, steps="all"),
}
"""What each kind of term becomes; others stay as they are."""


def formed(learner: Learner, how: Preset) -> Learner:
    """The learner with its terms in the form that a preset asks for."""
    if how.released:
        return released(learner)

    def form(term: Term) -> Term:
        if how.bits and isinstance(term, Rate):
            return replace(term, unit="bits")
        return replace(term, dimensions="sum") if how.summed and isinstance(term, Quantisation) else term

    return replace(learner, terms=tuple(map(form, learner.terms)))


def released(learner: Learner) -> Learner:
    """The learner with its terms in the authors' form; applied twice, it is the same.

    The codes that read a full history are paid for as any others.
    """
    terms = tuple(FORMS.get(type(term), lambda same: same)(term) for term in learner.terms)
    unpaid = ("memory", "history") in learner.changes and not any(isinstance(term, Rate) for term in terms)
    return replace(learner, terms=(*terms, FORMS[Rate](Rate())) if unpaid else terms)
