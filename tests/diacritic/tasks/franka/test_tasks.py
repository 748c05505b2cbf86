"""What each task requires, certified from its symbols; parameters that cannot be; stratification."""

import itertools
from typing import Any

import numpy as np
import pytest

from certify import Answer, Model, UserError, certify
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.tasks import TASKS, Weighing, make_task
from diacritic.tasks.protocol import draw_latents

BEHAVIOUR = ("theta", "mass", "slot", "hover")


def symbolic_model(task: FrankaTask) -> Model:
    """Every combination of the latents that symbols can show, with equal weight."""
    names = [name for name in task.latents if name in BEHAVIOUR]
    if "theta" in names and "mass" in names:
        names.remove("mass")  # there a nuisance without symbol
    cells = list(itertools.product(*[range(task.latents[name]) for name in names]))
    episodes = [
        {"weight": f"1/{len(cells)}", "steps": steps(task, dict(zip(names, cell, strict=True)))} for cell in cells
    ]
    return Model.from_episodes(episodes)


def steps(task: FrankaTask, chosen: dict[str, int]) -> list[dict[str, Any]]:
    latents = dict.fromkeys(task.latents, 0) | chosen
    hidden = {name: np.array([value]) for name, value in latents.items()}
    choices = {name: int(value[0]) for name, value in task.choices(hidden).items()}
    actions = [task.symbolic_action(t, choices) for t in range(task.horizon)]
    seen = [task.symbolic_observation(t, latents) for t in range(task.horizon)]
    return [{"obs": o, "action": a, "action_law": {a: "1"}} for o, a in zip(seen, actions, strict=True)]


def profile(task: FrankaTask, answer: Answer) -> dict[str, set[float | None]]:
    """The certified requirement by phase, gaps only, and after the last decision."""
    rates = {name: {answer.steps[t].rate for t in window} for name, window in task.windows.items()}
    last = max(task.decisions.values())
    return rates | {"end": {step.rate for step in answer.steps[last + 1 :]}}


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("two-cues", {}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("two-cues", {"gap": 20}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("two-cues", {"classes": 4}, {"gap1": {4.0}, "gap2": {2.0}, "end": {0.0}}),
        ("full-reveal", {"modes": 4}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("full-reveal", {"modes": 128}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("readout-2", {"modes": 32}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("readout-2", {"modes": 128}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("readout-3", {"modes": 32}, {"gap1": {3.0}, "gap2": {3.0}, "end": {0.0}}),
    ],
)
def test_requirement_of_displayed_tasks(name: str, parameters: dict[str, int], expected: dict[str, set[float]]) -> None:
    task = make_task(name, **parameters)
    answer = certify(symbolic_model(task))
    assert profile(task, answer) == expected
    assert all(step.a2 and step.a4 and step.transitive for step in answer.steps)
    assert all(answer.steps[t].instantaneous == 0 for window in task.windows.values() for t in window)


@pytest.mark.parametrize("modes", [32, 128])
@pytest.mark.parametrize("name", ["readout-2", "readout-3"])
def test_history_of_readout_in_transport(name: str, modes: int) -> None:
    """H(H_t|Ō_t) = log₂ M + 1: the mode and the hover height have been seen, and neither is visible."""
    task = make_task(name, modes=modes)
    answer = certify(symbolic_model(task))
    for t in task.windows["gap2"]:
        assert answer.steps[t].history == pytest.approx(np.log2(modes) + 1)


@pytest.mark.parametrize(
    ("name", "parameters", "most"), [("two-cues", {}, 8), ("two-cues", {"classes": 4}, 32), ("full-reveal", {}, 64)]
)
def test_histories_per_level(name: str, parameters: dict[str, int], most: int) -> None:
    assert max(step.histories for step in certify(symbolic_model(make_task(name, **parameters))).steps) == most


def test_hidden_mass_needs_nothing_while_grasping() -> None:
    task = make_task("hidden-mass", modes=8)
    answer = certify(symbolic_model(task))
    grasp = task.phase_steps("grasp")
    assert {answer.steps[t].rate for t in grasp} == {0.0}
    lift = next(t for t in grasp if task.steps[t].end == "carry")
    assert {answer.steps[t].strong for t in range(grasp[0], lift + 1)} == {1.0}
    assert [t for t, step in enumerate(answer.steps) if not step.a4] == [lift]
    assert all(step.transitive for step in answer.steps)
    assert answer.steps[task.decisions["slot"]].rate == 2.0


def test_weighing_forgets_what_the_next_lift_will_show() -> None:
    task = make_task("weighing", gap=20)
    answer = certify(symbolic_model(task))
    decision = task.decisions["side"]
    put_down = max(t for t in task.phase_steps("scan") if task.steps[t].shows) + 1
    assert {answer.steps[t].rate for t in range(put_down, decision + 1)} == {2.0}
    assert {step.rate for step in answer.steps[decision + 1 :]} == {0.0}
    second_lift = next(t for t in task.phase_steps("grasp") if task.steps[t].end == "carry")
    assert [t for t, step in enumerate(answer.steps) if not step.a4] == [second_lift]
    assert answer.steps[second_lift].strong == 2.0
    assert all(step.transitive for step in answer.steps)


@pytest.mark.parametrize(
    ("name", "parameters", "place"),
    [
        ("two-cues", {"gap": 0}, "two-cues.gap"),
        ("two-cues", {"first_gap": 0}, "two-cues.first_gap"),
        ("two-cues", {"classes": 8}, "two-cues.classes"),
        ("two-cues", {"leak": 9}, "two-cues.leak"),
        ("two-cues", {"jitter": 0.05}, "two-cues.jitter"),
        ("full-reveal", {"modes": 24}, "full-reveal.modes"),
        ("full-reveal", {"modes": 1024}, "full-reveal.modes"),
        ("readout-3", {"modes": 4}, "readout.modes"),
        ("readout-2", {"place_by": "third"}, "readout.place_by"),
        ("hidden-mass", {"modes": 2}, "hidden-mass.modes"),
        ("hidden-mass", {"gap": 3}, "hidden-mass.gap"),
        ("weighing", {"gap": 0}, "weighing.gap"),
        ("weighing", {"hold": 0}, "weighing.hold"),
        ("two-cues", {"gaps": 3}, "two-cues.gaps"),
        ("three-cues", {}, "task"),
    ],
)
def test_impossible_parameters_are_refused_in_one_line(name: str, parameters: dict[str, Any], place: str) -> None:
    with pytest.raises(UserError) as refused:
        make_task(name, **parameters)
    assert refused.value.place == place
    assert "\n" not in str(refused.value)


def test_aliases_and_parameters() -> None:
    for name in TASKS:
        task = make_task(name)
        assert type(task)(**task.parameters) == task
        assert task.known_name == name


@pytest.mark.parametrize(
    ("name", "episodes"), [("two-cues", 1024), ("two-cues", 512), ("hidden-mass", 448), ("weighing", 64)]
)
def test_strata_are_balanced(name: str, episodes: int) -> None:
    task = make_task(name)
    drawn = draw_latents(task, episodes, np.random.default_rng(0))
    first, *rest = task.latents
    assert np.ptp(np.bincount(drawn[first], minlength=task.latents[first])) <= 0 + (episodes % task.latents[first] > 0)
    for second in rest[:1]:
        pairs = np.bincount(drawn[first] * task.latents[second] + drawn[second])
        assert np.ptp(pairs) <= 1
    for other in rest:
        share = np.bincount(drawn[other], minlength=task.latents[other]) / episodes
        assert np.abs(share - 1 / task.latents[other]).max() < 0.1


def test_halves_of_hidden_mass_are_apart_and_weights_of_weighing_are_the_papers() -> None:
    task = make_task("hidden-mass", modes=512)
    masses = task.masses({"mass": np.arange(512)})
    assert (masses.min(), masses.max()) == (0.1, 2.5)
    assert masses[256] - masses[255] >= 1.0
    assert len(set(masses)) == 512
    np.testing.assert_allclose(Weighing().masses({"mass": np.arange(4)}), [0.1, 0.9, 1.7, 2.5])
