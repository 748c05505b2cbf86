"""The settings by which everything is reported, ours read from the code that uses them (imported when measured)."""

from diacritic.measure.flags import CORRECT
from diacritic.measure.gates import SUCCESS, THRESHOLD
from diacritic.memory.shape import Architecture
from diacritic.studies.cell import Cell
from reproduction.catalogue._declare import SETTINGS, franka
from reproduction.figure import Figure
from reproduction.paper import PaperStudy
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
    from diacritic.training.demonstrations import FORECASTER_STEPS

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
    from diacritic.tasks.protocol import last_reveal

    places = [recorded_task(SETTINGS[f"gap {gap}"]) for gap in figure("config.distances", "gap")]
    slots = [place.decisions["slot"] - last_reveal(place) for place in places]
    return value([*slots, places[0].decisions["side"] - last_reveal(places[0])])


def _defaults() -> Value:
    from diacritic.commands.rollout import Rollout

    return value((Cell.seeds, Rollout.episodes))


STUDY = PaperStudy(
    "settings",
    "Settings",
    "What the paper fixes once for all its runs, beside what our code uses.",
    inventory=(147,),
    blocks=(
        "config.carrier",
        "config.frozen_event_agnostic",
        "config.forecaster",
        "config.gate",
        "config.observation",
        "config.distances",
    ),
    order=1,
)
FIGURES = (
    Figure(
        "carrier: codes, size of a code, width",
        "config.carrier",
        value([figure("config.carrier", key) for key in ("K", "code_dim", "hidden_width")]),
        _carrier,
    ),
    Figure(
        "event-agnostic: K, β, N, steps, annealing from and to",
        "config.frozen_event_agnostic",
        value(
            [
                figure("config.frozen_event_agnostic", key)
                for key in ("K", "beta", "N", "steps", "anneal_start_fraction", "anneal_end_fraction")
            ]
        ),
        _annealing,
    ),
    Figure(
        "forecaster: layers, heads, width, size of a token, steps",
        "config.forecaster",
        value([figure("config.forecaster", key) for key in ("layers", "heads", "width", "d", "steps")]),
        _forecaster,
    ),
    Figure(
        "gate: threshold, class error of a correct run, success of the external gate",
        "config.gate",
        value(
            [
                figure("config.gate", key)
                for key in ("S_gamma_threshold", "correctness_class_error_max", "external_success_min")
            ]
        ),
        lambda: value((THRESHOLD, CORRECT, SUCCESS)),
    ),
    Figure(
        "observation: noise in mm, size, jitter in cm",
        "config.observation",
        value(
            [
                figure("config.observation", key)
                for key in ("sensor_noise_mm", "raw_observation_dim", "object_jitter_cm")
            ]
        ),
        _observation,
        within=1e-9,
    ),
    Figure(
        "steps from reveal to use: slot at gaps 6, 10 and 20, side",
        "config.distances",
        value(
            [*figure("config.distances", "place_class_distance"), figure("config.distances", "grasp_class_distance")]
        ),
        _distances,
    ),
    Figure(
        "seeds of a cell, episodes of a rollout",
        "config.frozen_event_agnostic",
        value([figure("meta", "seeds_default"), figure("meta", "rollouts_default")]),
        _defaults,
    ),
)
