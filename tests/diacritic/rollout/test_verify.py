"""Never in error: proved on every history, or refused by a history that really shows it."""

from dataclasses import replace

import numpy as np
import pytest
from certify_twin import chains
from hypothesis import given, settings

from certify import Model, certify
from certify.zoo import build
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine, from_certified
from diacritic.rollout.verify import first_error


@pytest.mark.parametrize("name", ["gap", "memory-chain", "running-parity", "stochastic-expert"])
def test_the_certified_machine_is_the_expert(name: str) -> None:
    model = build(name)
    assert first_error(from_certified(certify(model).machine, model), model) is None


@settings(max_examples=40)
@given(chains())
def test_certified_machines_of_random_merged_models_too(chain) -> None:
    model = chain.model()
    machine = certify(model).machine
    assert machine.distortion(model.graph) == 0
    assert first_error(from_certified(machine, model), model) is None


def test_the_witness_is_a_history_after_which_the_machine_errs() -> None:
    model = build("memory-chain", bits=1, delay=5)
    right = from_certified(certify(model).machine, model)
    names = model.graph.observations
    asked = next(k for k in range(len(names)) if names[k] == "query 0")
    broken = replace(right, act=np.where(np.arange(right.observations)[:, None] == asked, np.eye(2)[0], right.act))
    error = first_error(broken, model)
    assert error is not None
    assert (error.t, error.expert, error.policy) == (6, "1", "0")
    dark = " ".join(["-0-> dark"] * 3)
    assert error.history == f"context 1 -0-> context 1 {dark} -0-> query 0"
    assert closed_loop(broken, model).success == pytest.approx(0.5)


def test_a_merged_node_is_followed_with_every_code() -> None:
    model = build("running-parity")
    assert isinstance(model, Model)
    forgetful = from_certified(certify(model).machine, model)
    constant = CodeMachine(np.zeros_like(forgetful.move), forgetful.act)
    error = first_error(constant, model)
    assert error is not None
    assert error.history.count("->") == error.t - 1
