"""The Franka tasks through the recorder: what the data show is what the task means, and the certificates follow."""

from dataclasses import replace

import numpy as np
import pytest

from certify import certify
from diacritic.demos.binner import separation
from diacritic.demos.leaks import failures, leak_table
from diacritic.demos.reconstruct import complete
from diacritic.demos.record import record
from diacritic.demos.requirement import nondeterministic, tosses
from diacritic.tasks.franka.tasks import TASKS, make_task


@pytest.fixture(scope="module")
def two_cues():
    return record(make_task("two-cues"), 128, 0)


def test_two_cues_needs_what_the_authors_report(two_cues):
    """1 bit at step 5, 2 at steps 6–8, 1 at 9–24; H(G|Ō) = 1 at steps 8 and 24 only."""
    demos, _ = two_cues
    assert demos.success.all()
    assert nondeterministic(demos) == []
    steps = certify(complete(demos).model).steps
    assert [step.rate for step in steps] == [*[0.0] * 5, 1.0, *[2.0] * 3, *[1.0] * 16, *[0.0] * 8]
    assert [t for t, step in enumerate(steps) if step.instantaneous] == [8, 24]
    assert all(step.a2 and step.a4 and step.transitive for step in steps)


def test_the_coin_is_the_experts_own(two_cues):
    """It decides the first action alone, and adds a bit to what has been seen but none to what is needed."""
    demos, _ = two_cues
    assert tosses(demos) == {0: {(0,): "hover=0", (1,): "hover=1"}}
    steps = certify(complete(demos).model).steps
    assert steps[0].history == 0
    assert steps[1].history == pytest.approx(1)


def test_the_data_show_what_the_task_means(two_cues):
    demos, binner = two_cues
    assert demos.convention.designed == {"side": (9, 10, 11), "slot": tuple(range(25, 33))}
    for name, steps in demos.convention.designed.items():
        assert tuple(np.flatnonzero(binner.readings[name].visible)) == steps
    agreement = binner.agreement(demos.observations, demos.latents)
    assert {name: item.wrong for name, item in agreement.items()} == {"side": 0, "slot": 0}


def test_symbols_say_what_the_task_says_by_design(two_cues):
    """Our symbols and the task's own words for its observations part the episodes in the same way."""
    demos, _ = two_cues
    task = make_task("two-cues")
    for t in range(demos.steps):
        pairs = set()
        for n in range(demos.episodes):
            latents = {name: int(demos.latents[name][n]) for name in task.latents}
            pairs.add((int(demos.symbols[t, n]), task.symbolic_observation(t, latents)))
        assert len(pairs) == len({symbol for symbol, _ in pairs}) == len({words for _, words in pairs})


def test_weighing_shows_the_mass_where_it_means_to():
    task = make_task("weighing", no_noise=True, jitter=0.0)
    demos, binner = record(task, 16, 0)
    assert demos.convention.designed["sag"] == (*range(10, 15), *range(35, 44))
    meant = np.isin(np.arange(demos.steps), demos.convention.designed["sag"])
    np.testing.assert_array_equal(binner.readings["sag"].visible, meant)
    apart = separation(binner.readings["sag"].means)
    assert apart[meant].min() > 0.007
    assert apart[~meant].max() < 0.005
    rates = [step.rate for step in certify(complete(demos).model).steps]
    assert rates == [*[0.0] * 15, *[2.0] * 12, *[0.0] * 22]


@pytest.mark.parametrize("name", TASKS)
def test_conventions(name):
    task = make_task(name)
    convention, latents = task.convention, task.draw(32, 0)
    assert {**convention.strata, **convention.nuisances, **convention.coins} == task.latents
    assert set(latents) == set(task.latents)
    given = {factor.name: factor.given for factor in convention.factors}
    assert ("side" in given["slot"]) == (name in ("two-cues", "full-reveal"))
    assert {factor.name for factor in convention.factors if not factor.sharp} <= {"sag"}
    choices, names = task.symbolic_actions(latents)
    assert choices.shape == (task.horizon, 32)
    for t in (0, min(task.decisions.values())):
        classes = {key: int(values[7]) for key, values in {**latents, **task.choices(latents)}.items()}
        assert names[choices[t, 7]] == task.symbolic_action(t, classes)


def test_versions_and_parameters_are_recorded(two_cues):
    demos, _ = two_cues
    assert demos.parameters["gap"] == 6
    assert {"mujoco", "numpy", "diacritic", "python"} <= set(demos.versions)
    assert demos.task_version == make_task("two-cues").version == 2


def test_probes_find_an_injected_leak_and_nothing_else():
    def caught(demos, binner):
        probed = replace(demos, convention=replace(demos.convention, hidden={"slot": 2}))
        return {cell.phase for cell in failures(leak_table(probed, binner, held_out=24))}

    assert caught(*record(make_task("two-cues", gap=2), 64, 0)) == set()
    assert caught(*record(make_task("two-cues", gap=2, leak=8), 64, 0)) == {"gap2"}
