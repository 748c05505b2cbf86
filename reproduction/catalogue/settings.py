"""The settings by which everything is reported, ours read from the code that uses them (imported when measured)."""

from diacritic.measure.flags import CORRECT
from diacritic.measure.gates import SUCCESS, THRESHOLD
from diacritic.memory.shape import Architecture
from diacritic.studies.cell import Cell
from reproduction.catalogue._declare import SETTINGS, franka
from reproduction.catalogue._figures import measured, study
from reproduction.reference import figure
from reproduction.verdicts import Value, value

_FROZEN = franka("settings", SETTINGS["gap 6"], "event-agnostic")
NOT_RESULTS = ("meta", "vocabulary", "config.benchmarks", "config.datasets", "config.pixels", "ambiguity")
"""Sections of the reference that say how to read it, or what the cells of other studies are set to."""


def _carrier() -> Value:
    shape = Architecture()
    return value((shape.codes, shape.code_size, shape.width))


def _annealing() -> Value:
    from diacritic.training.learner import learner
    from diacritic.training.objectives.future import FutureBehaviour

    (term,) = [term for term in learner("event-agnostic").terms if isinstance(term, FutureBehaviour)]
    return value((_FROZEN.codes, _FROZEN.beta, _FROZEN.demonstrations or 0, _FROZEN.steps, *term.anneal))


def _forecaster() -> Value:
    from diacritic.memory import full_history
    from diacritic.training.supervision import FORECASTER_STEPS

    return value(
        (full_history.LAYERS, full_history.HEADS, Architecture.width, Architecture.code_size, FORECASTER_STEPS)
    )


def _observation() -> Value:
    from diacritic.studies.recordings import recorded_task
    from diacritic.tasks.franka.layout import NOISE

    task = recorded_task(SETTINGS["gap 6"])
    return value((1000 * NOISE, len(task.channels), 100 * task.parameters["jitter"]))


def _distances() -> Value:
    """Steps from the last display to the first step at which each class is used: slot at three gaps, then side."""
    from diacritic.studies.recordings import recorded_task

    tasks = [recorded_task(SETTINGS[f"gap {gap}"]) for gap in figure("config.distances", "gap")]
    slots = [task.decisions["slot"] - task.reveals[-1] for task in tasks]
    return value([*slots, tasks[0].decisions["side"] - tasks[0].reveals[-1]])


def _defaults() -> Value:
    from diacritic.commands.rollout import Rollout

    return value((Cell.seeds, Rollout.episodes))


STUDY = study(
    "settings",
    (),
    {
        "carrier: codes, size of a code, width": _carrier,
        "event-agnostic: K, β, N, steps, annealing from and to": _annealing,
        "forecaster: layers, heads, width, size of a token, steps": _forecaster,
        "gate: threshold, class error of a correct run, success of the external gate": lambda: value(
            (THRESHOLD, CORRECT, SUCCESS)
        ),
        "observation: noise in mm, size, jitter in cm": _observation,
    },
    (
        measured(
            "steps from reveal to use: slot at gaps 6, 10 and 20, side",
            "config.distances",
            value(
                [
                    *figure("config.distances", "place_class_distance"),
                    figure("config.distances", "grasp_class_distance"),
                ]
            ),
            _distances,
        ),
        measured(
            "seeds of a cell, episodes of a rollout",
            "config.frozen_event_agnostic",
            value([figure("meta", "seeds_default"), figure("meta", "rollouts_default")]),
            _defaults,
        ),
    ),
)
