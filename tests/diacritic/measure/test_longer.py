"""Longer waits: against tasks that are really longer, and what settles for ever."""

import pytest
import torch

from certify.zoo import build
from diacritic.measure.longer import longer, wait_of
from diacritic.memory.kinds import MEMORIES
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import LinearMemory
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.randomness import initial
from diacritic.training.symbolic import from_model

SMALL = Architecture(codes=4, width=16, code_size=8, state_size=16)


def _cohort(name: str, updates: int = 0) -> Cohort:
    plan = Plan(learner(name), preset("carousel"), tuple(Run(seed, rate=3e-3) for seed in range(3)), 100, SMALL)
    cohort = Cohort(plan, from_model(build("passive-t-maze", L=5)))
    cohort.advance(updates)
    return cohort


def _literal(cohort: Cohort, length: int) -> list[float]:
    """The same policies on the task that has so many steps."""
    data = from_model(build("passive-t-maze", L=length - 1))
    watching = Cohort(cohort.plan, data, parameters=dict(cohort.parameters))
    with torch.no_grad():
        trace = watching.trace()
        logits = trace.steps(trace.read("act") if trace.actions is None else trace.actions)
    right = data.target.expand(len(logits), -1, -1, -1).gather(-1, logits.argmax(-1, keepdim=True)) > 0
    return (right.squeeze(-1).all(1) * data.weight).sum(-1).tolist()


@pytest.mark.parametrize(
    ("task", "parameters", "end"),
    [("passive-t-maze", {"L": 5}, 4), ("running-parity", {"horizon": 5}, None), ("signpost-corridor", {"M": 4}, None)],
)
def test_the_wait_is_the_stretch_that_looks_alike(task: str, parameters: dict[str, int], end: int | None) -> None:
    assert wait_of(from_model(build(task, **parameters))) == end


@pytest.mark.parametrize("name", ["plain", "fsq", "gru-8", "bistable", "registers", "frames-4", "lru", "min-gru"])
def test_lengthened_episodes_are_those_of_the_longer_task(name: str) -> None:
    cohort = _cohort(name, 25)
    lengths = [6, 9, 30]
    assert longer(cohort, [3, *lengths]) == {length: pytest.approx(_literal(cohort, length)) for length in lengths}


@pytest.mark.parametrize("name", ["plain", "frames-4", "s5"])
def test_what_settles_is_known_for_ever(name: str) -> None:
    cohort = _cohort(name, 25)
    actual = longer(cohort, [400, 10**6])
    assert actual[10**6] == actual[400]


def test_a_full_history_has_an_end() -> None:
    assert longer(_cohort("transformer"), [100]) == {}


@pytest.mark.parametrize("name", ["lru", "s5", "min-gru", "selective"])
@pytest.mark.parametrize("steps", [0, 1, 6, 13])
def test_linear_cells_jump_as_they_step(name: str, steps: int) -> None:
    memory = MEMORIES[name]
    assert isinstance(memory, LinearMemory)
    parameters = initial(memory.weights(Shape(observation=3, action=2), SMALL), [0, 1], torch.float64)
    x = torch.randn(2, 4, memory.entering(SMALL), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    state = begin = memory.advance(parameters, memory.start(parameters, SMALL, 4), -x)
    for _ in range(steps):
        state = memory.advance(parameters, state, x)
    torch.testing.assert_close(memory.after(parameters, begin, x, steps), state)
