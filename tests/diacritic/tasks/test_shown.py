"""Symbols as vectors: one-hot, or the numbers that they are named by."""

import numpy as np

from certify import Model
from certify.zoo import build
from diacritic.memory.shape import Architecture
from diacritic.rollout.trained_machines import machines
from diacritic.tasks.shown import shown
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model


def test_words_are_one_hot_and_numbers_are_themselves() -> None:
    assert np.array_equal(shown(build("memory-chain")), np.eye(len(build("memory-chain").graph.observations)))
    model = build("memory-chain", bits=2, delay=5, raw=1)
    rows = {model.graph.observations[k]: row.tolist() for k, row in enumerate(shown(model))}
    assert rows["1 0 1 -1"] == [1, 0, 1, -1]
    assert rows["0.2 1 0 0"] == [0.2, 1, 0, 0]
    for names in (["1 2", "3"], ["0", "1"], ["1 2", "1 nan"]):
        other = Model.from_latents(2, [(0, 1)], lambda _, actions, names=names: (names[len(actions)], "wait"))
        assert np.array_equal(shown(other), np.eye(2))


def test_a_raw_task_needs_what_its_symbols_need() -> None:
    for name, options in (("memory-chain", {"bits": 2, "delay": 6}), ("passive-t-maze", {"L": 5})):
        words, numbers = (build(name, **options, raw=raw).graph for raw in (0, 1))
        assert [level.size for level in words.levels] == [level.size for level in numbers.levels]


def test_a_policy_learns_from_the_numbers_and_becomes_a_machine() -> None:
    model = build("passive-t-maze", L=3, raw=1)
    data = from_model(model, 64)
    assert data.observation.shape == (len(model.graph.observations), 2)
    how, small = preset("release-external"), Architecture(codes=4)
    cohort = Cohort(Plan(learner("plain"), how, (Run(0), Run(1)), 20, small, how.batch), data)
    assert cohort.engine == "tables"
    cohort.advance(3)
    for run, machine in enumerate(machines(cohort.parameters, cohort.plan.carrier, model)):
        machine.check(model)
        code, codes = machine.codes, cohort.trace().step_code[run]
        for t in range(data.horizon):
            did = int(data.previous_index[t, 0]) - 1 if t else machine.actions
            code = int(machine.move[code, int(data.observation_index[t, 0]), did])
            assert code == int(codes[t, 0])
