"""GRU and full-history policies as traces."""

import torch
from carrier_twin import symbols, vectors

from diacritic.memory.act import act
from diacritic.memory.layers import linear, read
from diacritic.memory.protocol import MEMORIES, Inputs
from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.train import measure

SMALL = Architecture(codes=4, code_size=4, width=8)


def test_a_gru_acts_from_its_state_and_has_no_code() -> None:
    data = vectors(5, 3)
    cohort = Cohort(
        Plan(learner("gru-8"), preset("carousel"), (Run(1), Run(2)), 10, SMALL, precision=torch.float64), data
    )
    trace = cohort.trace()
    seen, did = data.observation[data.observation_index], data.previous[data.previous_index]
    kind = MEMORIES["gru"]
    state = kind.start(cohort.parameters, cohort.plan.carrier, 3)
    assert trace.actions is not None
    for t in range(5):
        state, record = kind.step(cohort.parameters, cohort.plan.carrier, state, Inputs(seen[t], did[t]))
        torch.testing.assert_close(trace.steps(trace.actions)[:, t], record.actions, rtol=0, atol=1e-12)
        torch.testing.assert_close(trace.step_embedding[:, t], state, rtol=0, atol=1e-12)
    assert trace.code.abs().sum() == 0


def test_a_history_is_quantised_at_every_prefix() -> None:
    data = symbols(5, 3)
    plan = Plan(learner("full-history"), preset("carousel"), (Run(1), Run(2)), 10, SMALL, precision=torch.float64)
    cohort = Cohort(plan, data)
    trace = cohort.trace()
    seen, did = data.observation[data.observation_index], data.previous[data.previous_index]
    kind = MEMORIES["history"]
    memory = kind.start(cohort.parameters, plan.carrier, 3)
    for t in range(5):
        memory, record = kind.step(cohort.parameters, plan.carrier, memory, Inputs(seen[t], did[t]))
        action = act(cohort.parameters, cohort.plan.carrier, record)
        assert torch.equal(trace.step_code[:, t], record.code)
        part = linear(trace.parameters, "act.observation", trace.step_features[:, t])
        contents = read(trace.parameters, "act", part, trace.step_embedding[:, t])
        torch.testing.assert_close(contents, action, rtol=0, atol=1e-12)


def test_what_has_no_code_uses_one() -> None:
    for name in ("gru-8", "gaussian"):
        cohort = Cohort(Plan(learner(name), preset("carousel"), (Run(1),), 10, SMALL), vectors(5, 3))
        cohort.advance(1)
        assert measure(cohort)["codes_used"] == [1]
