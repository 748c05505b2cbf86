"""The corridor with drift, whose compatibility is not transitive: certified all the same; the reach of exact search."""

import time
from functools import partial

from certify import certify
from certify.answer import Answer
from certify.zoo import build
from reproduction.catalogue._figures import measured, study
from reproduction.reference import figure
from reproduction.verdicts import Profile, Range, Value, value

_BLOCK = "corridor.certificates"


def _answers() -> list[Answer]:
    return [certify(build("signpost-corridor", W=drifts)) for drifts in figure(_BLOCK, "W")]


def _proved() -> Value:
    """For each W, 1 where every step's minimum is proved although compatibility is not transitive."""
    answers = _answers()
    open_ones = [not all(step.transitive for step in answer.steps) for answer in answers]
    return Profile(tuple(float(answer.certified and odd) for answer, odd in zip(answers, open_ones, strict=True)))


def _levels() -> Value:
    """The levels through which the requirement goes, the same for every W."""
    courses = set()
    for answer in _answers():
        bits = [round(step.upper, 9) for step in answer.steps]
        courses.add(tuple(b for b, before in zip(bits, [None, *bits], strict=False) if b != before))
    (course,) = courses
    return Profile(course)


def _histories(drifts: int) -> Value:
    return value(max(step.histories for step in certify(build("signpost-corridor", W=drifts)).steps))


def _seconds(name: str, **sizes: int) -> Value | None:
    """Time until every step's minimum is proved."""
    begun = time.perf_counter()
    proved = certify(build(name, **sizes)).certified
    taken = time.perf_counter() - begun
    return Range(taken, taken) if proved else None


STUDY = study(
    "corridor-certificates",
    (),
    {
        "levels of the requirement, bits": _levels,
        "hidden mass, 4 modes: seconds until proved": partial(_seconds, "mass-sketch", modes=4),
        "corridor without drift: seconds to certify": partial(_seconds, "signpost-corridor", M=16, W=1),
    },
    (
        measured(
            "W = 3, 5, …, 13: every step's minimum is proved", _BLOCK, value([1.0] * len(figure(_BLOCK, "W"))), _proved
        ),
        *(
            measured(f"histories at W={drifts}", _BLOCK, key, partial(_histories, drifts))
            for drifts, key in (
                (3, "histories_per_level_W3"),
                (7, "histories_per_level_W7"),
                (13, "histories_per_level_W13_max"),
            )
        ),
        measured(
            "corridor W=3: seconds until proved (the paper's programme had not finished by then)",
            "certify.dp",
            value(60 * figure("certify.dp", "corridor_W3_not_finished_within_minutes")),
            partial(_seconds, "signpost-corridor", W=3),
            better="lower",
        ),
    ),
)
