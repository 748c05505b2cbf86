"""Trained carriers as machines, against the module walked through every history."""

from functools import cache

import numpy as np
import pytest

from certify import Model
from certify.zoo import build
from diacritic.memory.module import Carrier, one_run
from diacritic.memory.shape import Architecture
from diacritic.rollout.trained_machines import machines
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model

SMALL = Architecture(codes=8, code_size=6, width=16)


@cache
def _chain() -> Model:
    return build("memory-chain", bits=1, delay=2)


@cache
def _trained(name: str, steps: int) -> Cohort:
    # A small carrier learns a small task fastest with large steps.
    plan = Plan(learner(name), preset("carousel"), tuple(Run(seed, rate=3e-3) for seed in (1, 3, 4)), steps, SMALL)
    cohort = Cohort(plan, from_model(_chain()))
    cohort.advance(steps)
    return cohort


@pytest.mark.parametrize("name", ["plain", "non-persistent", "matched", "scaffold"])
def test_a_machine_is_its_carrier_on_every_history(name: str) -> None:
    cohort, model = _trained(name, 20), _chain()
    data, carrier = cohort.data, cohort.plan.carrier
    pair = machines(cohort.parameters, carrier, model)
    codes = cohort.trace().step_code
    met = set()
    for run, machine in enumerate(pair):
        module = Carrier(data.shape, carrier, one_run(cohort.parameters, run))
        state, code = module.begin(data.episodes), np.zeros(0, np.int64)
        for t in range(data.horizon):
            seen = data.observation_index[t].numpy()
            before = data.previous_index[t]
            shown = data.observation[data.observation_index[t]]
            state, after, logits = module.step(
                state, shown, data.previous[before], shown if name == "matched" else None
            )
            code = machine.advance(code, seen, before.numpy() - 1) if t else machine.begin(seen)
            assert np.array_equal(code, after.numpy())
            assert np.allclose(machine.act[code, seen], logits.detach().double().softmax(-1).numpy(), rtol=0, atol=1e-6)
            if name != "scaffold":  # it still stands after twenty updates
                assert np.array_equal(code, codes[run, t].numpy())
            met |= set(code.tolist())
    assert len(met) > 1
