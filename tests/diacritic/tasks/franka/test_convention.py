"""The Franka tasks through the recorder: what the data show is what the task means, and the certificates follow."""

from dataclasses import replace

import numpy as np
import pytest

from certify import certify
from diacritic.demos.binner import separation
from diacritic.demos.leaks import failures, leak_table
from diacritic.demos.reconstruct import complete
from diacritic.demos.record import record
from diacritic.demos.requirement import nondeterministic
from diacritic.demos.strata import stratified
from diacritic.tasks.franka.tasks import TASKS, make_task


@pytest.fixture(scope="module")
def two_cues():
    return record(make_task("two-cues", gap=2), 64, 0, batch=64)


def test_two_cues_needs_two_bits_then_one(two_cues):
    demos, _ = two_cues
    assert demos.success.all()
    assert nondeterministic(demos) == []
    steps = certify(complete(demos).model).steps
    rates = [step.rate for step in steps]
    assert rates == [*[0.0] * 6, *[2.0] * 3, *[1.0] * 12, *[0.0] * 8]
    assert [t for t, step in enumerate(steps) if step.instantaneous] == [8, 20]  # the two decisions
    assert all(step.a2 and step.a4 and step.transitive for step in steps)


def test_the_data_show_what_the_task_means(two_cues):
    demos, binner = two_cues
    for name, steps in demos.convention.designed.items():
        assert tuple(np.flatnonzero(binner.readings[name].visible)) == steps
    assert set(demos.convention.designed) == {"side", "slot", "hover"}
    found = binner.agreement(demos.observations, demos.latents)
    assert {name: item.wrong for name, item in found.items()} == {"side": 0, "slot": 0, "hover": 0}


def test_symbols_say_what_the_task_says_by_design(two_cues):
    """Our symbols and the task's own words for its observations part the episodes in the same way."""
    demos, _ = two_cues
    task = make_task("two-cues", gap=2)
    for t in range(demos.steps):
        pairs = set()
        for n in range(demos.episodes):
            latents = {name: int(demos.latents[name][n]) for name in task.latents}
            pairs.add((int(demos.symbols[t, n]), task.symbolic_observation(t, latents)))
        assert len(pairs) == len({symbol for symbol, _ in pairs}) == len({words for _, words in pairs})


@pytest.mark.parametrize("hold", [4, 8])
def test_weighing_shows_the_mass_where_it_means_to_and_with_a_margin(hold):
    """Without noise the means of the classes lie well above 6 mm apart at every such step, and below it elsewhere."""
    recorder = make_task("weighing", gap=1, hold=hold, no_noise=True)
    demos, binner = record(recorder, 8, 0)
    meant = np.isin(np.arange(demos.steps), demos.convention.designed["sag"])
    np.testing.assert_array_equal(binner.readings["sag"].visible, meant)
    apart = separation(binner.readings["sag"].means)
    assert apart[meant].min() > 0.0075
    assert apart[~meant].max() < 0.0045


@pytest.mark.parametrize("name", TASKS)
def test_conventions(name):
    task = make_task(name)
    convention = task.convention
    latents = stratified(convention.strata, 32, 0, convention.nuisances)
    assert set(latents) == set(task.latents)
    assert {**convention.strata, **convention.nuisances} == task.latents
    given = {factor.name: factor.given for factor in convention.factors}
    assert ("side" in given["slot"]) == (name in ("two-cues", "full-reveal"))
    assert ("hover" in given["slot"]) == ("hover" in task.latents)
    assert {factor.name for factor in convention.factors if not factor.sharp} <= {"sag"}
    hidden = {name: np.asarray(values) for name, values in latents.items()}
    choices, names = task.symbolic_actions({**hidden, **task.choices(hidden)})
    assert choices.shape == (task.horizon, 32)
    for t in (0, min(task.decisions.values())):
        classes = {key: int(values[7]) for key, values in task.choices(hidden).items()}
        assert names[choices[t, 7]] == task.symbolic_action(t, classes)


def test_versions_and_parameters_are_recorded(two_cues):
    demos, _ = two_cues
    assert demos.parameters["gap"] == 2
    assert {"mujoco", "numpy", "diacritic", "python"} <= set(demos.versions)
    assert demos.task_version == make_task("two-cues").version


def test_probes_find_an_injected_leak_and_nothing_else(two_cues):
    def caught(demos, binner):
        probed = replace(demos, convention=replace(demos.convention, hidden={"slot": 2}))
        return {cell.phase for cell in failures(leak_table(probed, binner, held_out=24))}

    assert caught(*two_cues) == set()
    assert caught(*record(make_task("two-cues", gap=2, leak=8), 64, 0, batch=64)) == {"gap2"}
