"""The closed loop against every history and every sequence of actions."""

from dataclasses import replace

import numpy as np
import pytest
from certify_twin import Chain, Document, Twin, chains, documents
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_twin import Latents, Reader, latent_models, living_loop, names_of, random_machine, recorded_loop

from certify import Model, UserError, certify
from certify.zoo.registry import find
from diacritic.measure.gates import judge_scores
from diacritic.measure.scores import scores
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.rollout.occupancy import teacher_forced


def expert(model: Model) -> CodeMachine:
    return from_certified(certify(model).machine, model)


@given(documents(), st.integers(1, 4), st.integers(0, 99))
def test_the_recorded_loop_is_the_sum_over_histories(document: Document, codes: int, seed: int) -> None:
    model, twin = Model.from_episodes(document), Twin(document)
    machine = random_machine(model, codes, seed)
    loop, reader = closed_loop(machine, model), Reader(machine, model)
    success, correct, levels = recorded_loop(reader, twin)
    assert loop.success == pytest.approx(success, abs=1e-12)
    assert loop.correct == pytest.approx(correct, abs=1e-12)
    for running, own in zip(loop.running, levels, strict=True):
        assert running == pytest.approx(sum(own.values()), abs=1e-12)


@given(latent_models(), st.integers(1, 3), st.integers(0, 99))
def test_the_living_loop_is_the_sum_over_latents_and_actions(
    drawn: tuple[Model, Latents], codes: int, seed: int
) -> None:
    model, latents = drawn
    machine = random_machine(model, codes, seed)
    loop = closed_loop(machine, model)
    success, correct = living_loop(Reader(machine, model), latents, model.horizon)
    assert loop.success == pytest.approx(success, abs=1e-12)
    assert loop.correct == pytest.approx(correct, abs=1e-12)


@given(chains(), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=60)
def test_merged_graphs_play_as_their_trees(chain: Chain, codes: int, seed: int) -> None:
    merged, tree = chain.model(), Model.from_episodes(chain.document())
    few = closed_loop(random_machine(merged, codes, seed), merged)
    many = closed_loop(random_machine(tree, codes, seed), tree)
    if all(not level.mixed for level in merged.graph.levels):  # what a recorded world answers is the world's own
        assert few.success == pytest.approx(many.success, abs=1e-9)
        assert few.correct == pytest.approx(many.correct, abs=1e-9)


@pytest.mark.parametrize("name", ["reveal", "gap", "three-histories", "stochastic-expert", "passive-t-maze"])
def test_success_needs_no_dynamics(name: str) -> None:
    """A success never leaves the expert's support, so that the recorded world knows it as well as the living one."""
    model = find(name).make()
    machine = _mixed(expert(model), model)
    living, recorded = closed_loop(machine, model), closed_loop(machine, replace(model, dynamics=None))
    assert 0.5 < living.success < 1
    assert living.success == pytest.approx(recorded.success, abs=1e-12)
    assert living.correct > recorded.correct


def _mixed(machine: CodeMachine, model: Model) -> CodeMachine:
    """A tenth of the time another action, but never while nothing happens."""
    act = machine.act.copy()
    quiet = [k for k, name in enumerate(names_of(model.graph.observations)) if name in ("wait", "corridor")]
    noisy = np.setdiff1d(np.arange(machine.observations), quiet)
    act[:, noisy] = 0.9 * act[:, noisy] + 0.1 * np.roll(act[:, noisy], 1, axis=2)
    return CodeMachine(machine.move, act)


@pytest.mark.parametrize("name", ["gap", "signpost-corridor", "memory-chain", "lost-cue", "running-parity"])
def test_the_certified_machine_succeeds(name: str) -> None:
    model = find(name).make()
    machine = expert(model)
    loop = closed_loop(machine.greedy(), model)
    wanted = 0.85 if name == "lost-cue" else 1.0  # 3 in 10 cues are lost, and half of the guesses are right
    assert loop.success == pytest.approx(wanted, abs=1e-12)
    assert loop.correct == pytest.approx(model.horizon - 1 + wanted, abs=1e-9)
    assert loop.running == pytest.approx([1.0] * model.horizon)
    step_scores = scores(teacher_forced(machine, model))
    assert judge_scores("full", step_scores).passed
    assert judge_scores("external", step_scores, loop.success).passed == (name != "lost-cue")


def test_a_wrong_turn_costs_one_step_where_the_world_lives() -> None:
    model = find("cue-corridor").make(L=3)
    machine = expert(model)
    act, seen, done = machine.act.copy(), names_of(model.graph.observations), names_of(model.graph.actions)
    act[:, seen.index("junction")] = np.eye(len(done))[done.index("turn 0")]
    act[:, seen.index("end")] = np.eye(len(done))[done.index("stay")]
    forgetful = CodeMachine(machine.move, act)
    living, recorded = closed_loop(forgetful, model), closed_loop(forgetful, replace(model, dynamics=None))
    assert (living.success, living.correct, living.running[-1]) == (0.5, 5.5, 1.0)
    assert (recorded.success, recorded.correct, recorded.running[-1]) == (0.5, 5.0, 0.5)


def test_own_occupancy_is_the_machines() -> None:
    """Of two random sidesteps a greedy policy takes one, so that its histories are fewer than the expert's."""
    model = find("signpost-corridor").make(M=4, W=1)
    machine = expert(model).greedy()
    loop = closed_loop(machine, model)
    assert loop.success == 1
    assert loop.running == pytest.approx([1.0] * model.horizon)


def test_too_many_branches_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diacritic.rollout.exact.BRANCH_LIMIT", 1_000)
    model = find("gap").make()
    with pytest.raises(UserError, match=r"closed_loop: more than 1,000 branches at step 5; play machine\.greedy\(\)"):
        closed_loop(random_machine(model, 3, 0, determined=0), model)
