"""Other sole carriers: codes against the published quantisers, steps against finite machines, and training."""

import pytest
import torch
from vector_quantize_pytorch import FSQ, LFQ

from certify import UserError
from certify.zoo import build
from diacritic.memory.code_kinds import Lattice
from diacritic.memory.finite_machine import code_tables
from diacritic.memory.kinds import MEMORIES, is_sole_carrier
from diacritic.memory.protocol import Flow, Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.randomness import initial
from diacritic.training.symbolic import from_model

CODES = ["gru-code", "fsq", "lfq"]
SIZE = Architecture(codes=16, width=16, code_size=6)


def test_fsq_is_the_published_quantiser() -> None:
    memory = MEMORIES["fsq"]
    assert isinstance(memory, Lattice)
    values = torch.randn(1, 200, 2, generator=torch.Generator().manual_seed(0))
    point, level = memory.quantised(values)
    theirs, index = FSQ([4, 4])(values)
    torch.testing.assert_close(point, theirs, rtol=0, atol=1e-6)
    assert torch.equal((level * torch.tensor([1, 4])).sum(-1), index.long())


def test_lfq_is_the_published_quantiser() -> None:
    memory = MEMORIES["lfq"]
    assert isinstance(memory, Lattice)
    values = torch.randn(1, 200, 4, generator=torch.Generator().manual_seed(0))
    point, level = memory.quantised(values)
    theirs = LFQ(codebook_size=16, dim=4)(values)[0]
    torch.testing.assert_close(point, theirs, rtol=0, atol=1e-6)
    assert set(level.unique().tolist()) == {0, 1}


def test_a_lattice_needs_a_power_of_its_levels() -> None:
    memory = MEMORIES["fsq"]
    assert isinstance(memory, Lattice)
    with pytest.raises(UserError, match="needs a power of 4, not 8"):
        memory.numbers(Architecture(codes=8))


@pytest.mark.parametrize("name", CODES)
def test_a_trained_run_is_its_finite_machine(name: str) -> None:
    model = build("memory-chain", bits=1, delay=3)
    data = from_model(model)
    runs = (Run(0), Run(1))
    plan = Plan(learner(name), preset("carousel"), runs, steps=20, architecture=SIZE, precision=torch.float64)
    cohort = Cohort(plan, data)
    cohort.advance(1)
    before = cohort.losses[0].clone()
    cohort.advance(19)
    assert (cohort.losses[0] < before).all()
    carrier = plan.carrier
    assert is_sole_carrier(carrier)
    eye = torch.eye(data.shape.observation, dtype=torch.float64)
    acted = torch.cat([torch.zeros(1, data.shape.action), torch.eye(data.shape.action)]).double()
    moves, laws = code_tables(cohort.parameters, carrier, eye, acted)
    trace = cohort.trace()
    codes, seen = trace.step_code, data.observation_index
    logits = trace.steps(trace.read("act"))
    before_code = torch.full_like(codes[:, 0], carrier.codes)
    for t in range(data.horizon):
        for run in range(2):
            expected = torch.from_numpy(moves)[run, before_code[run], seen[t], data.previous_index[t]]
            assert torch.equal(codes[run, t], expected)
            law = torch.from_numpy(laws)[run, codes[run, t], seen[t]]
            torch.testing.assert_close(torch.softmax(logits[run, t], -1), law)
        before_code = codes[:, t]


@pytest.mark.parametrize("name", CODES)
def test_states_of_codes_are_what_steps_leave(name: str) -> None:
    memory = MEMORIES[name]
    model = build("memory-chain", bits=1, delay=3)
    data = from_model(model)
    plan = Plan(learner(name), preset("carousel"), (Run(0),), architecture=SIZE, precision=torch.float64)
    parameters, carrier = Cohort(plan, data).parameters, plan.carrier
    state = memory.start(parameters, carrier, 2)
    assert torch.equal(state.embedding[:, 0], memory.carried(parameters, carrier)[:, -1])
    shown = torch.eye(data.shape.observation, dtype=torch.float64)[:2]
    state, record = memory.step(parameters, carrier, state, Inputs(shown, torch.zeros(2, data.shape.action).double()))
    for row in range(2):
        code = int(record.code[0, row])
        torch.testing.assert_close(state.embedding[0, row], memory.carried(parameters, carrier)[0, code])
        torch.testing.assert_close(record.embedding[0, row], memory.held(parameters, carrier)[0, code])


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("gradient", ["full", "carousel"])
def test_whole_episodes_are_the_steps(name: str, gradient: str) -> None:
    memory, sizes, flow = MEMORIES[name], SIZE, Flow(gradient)
    weights = initial(memory.weights(Shape(observation=5, action=2, horizon=7), sizes), [1, 2], torch.float64)
    parameters = {key: value.requires_grad_() for key, value in weights.items()}
    generator = torch.Generator().manual_seed(5)
    episodes = Inputs(*(torch.randn(7, 3, n, generator=generator, dtype=torch.float64) for n in (5, 2)))
    begin = memory.start(parameters, sizes, 3)
    slopes = []
    for records in (
        memory.unroll(parameters, sizes, episodes, flow),
        memory.follow(parameters, sizes, begin, episodes, flow),
    ):
        codes = torch.cat([record.code for record in records], 1)
        loss = torch.cat([record.embedding + 2 * record.proposal for record in records], 1).square().sum()
        slopes.append((codes, *torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)))
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other)
