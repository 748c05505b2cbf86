"""A kind of memory of one's own is trained, judged, played, saved and read back like those of the package."""

from pathlib import Path

import leaky_memory
import numpy as np
import pytest
import torch

from certify.core.requirement import Requirement
from certify.zoo import build
from diacritic.measure.trace import sufficient
from diacritic.memory.kinds import is_sole_carrier, memory_of
from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import PLAYING, Inputs
from diacritic.memory.saved import load_run
from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture
from diacritic.rollout.policies import Policies
from diacritic.tasks.symbolic import SymbolicVectorEnv
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import Learner
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.preset import preset
from diacritic.training.runs import save_runs
from diacritic.training.symbolic import from_model
from diacritic.training.train import train

MODEL = build("memory-chain", bits=1, delay=3)
LEAKY = Learner("leaky", (Imitation(),), (("memory", leaky_memory.Leaky.name),))
SMALL = Architecture(code_size=6, width=16)


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    runs = tuple(Run(seed, rate=1e-2) for seed in (1, 2))
    return train(Plan(LEAKY, preset("carousel"), runs, 150, SMALL), from_model(MODEL))


def test_it_learns_and_is_judged(cohort: Cohort) -> None:
    assert cohort.engine == "reference"
    assert not is_sole_carrier(cohort.plan.carrier)
    assert sufficient(cohort, MODEL, Requirement.of(MODEL)) == [True, True]


def test_it_is_played_in_closed_loop(cohort: Cohort) -> None:
    assert _successes(cohort.parameters, cohort.plan.carrier).all()


def test_it_is_saved_and_read_back(cohort: Cohort, tmp_path: Path) -> None:
    paths = save_runs(cohort, tmp_path, [{"kind": "symbolic", "task": MODEL.name}] * 2)
    saved = load_run(paths[1])
    assert (saved.shape, saved.architecture) == (cohort.given.shape, cohort.plan.carrier)
    assert _successes({name: value[None] for name, value in saved.weights.items()}, saved.architecture).all()


def test_whole_episodes_are_its_steps_in_order(cohort: Cohort) -> None:
    memory, carrier, data = memory_of(cohort.plan.carrier), cohort.plan.carrier, cohort.data
    whole = Inputs(data.observation[data.observation_index], data.previous[data.previous_index])
    records = memory.unroll(cohort.parameters, carrier, whole)
    state = memory.start(cohort.parameters, carrier, data.episodes)
    for t, record in enumerate(records):
        state, wanted = memory.step(cohort.parameters, carrier, state, whole.at(t), PLAYING)
        assert torch.equal(record.embedding, wanted.embedding)
    assert len(records) == data.horizon


def _successes(parameters: Parameters, architecture: Architecture, episodes: int = 20) -> np.ndarray:
    """Which episodes of the symbolic task succeed, [S, E], when the most probable action is taken."""
    shown, actions = len(MODEL.graph.observations), len(MODEL.graph.actions)
    plain = Scale(torch.zeros(shown), torch.ones(shown), torch.zeros(actions), torch.ones(actions))
    player = Policies(parameters, architecture, plain)
    env = SymbolicVectorEnv(player.runs * episodes, MODEL)
    player.begin(episodes)
    seen, infos = env.reset(seed=1)
    before = None
    for _ in range(MODEL.horizon):
        rows = np.eye(shown)[seen].reshape(player.runs, episodes, -1)
        _, logits = player.step(rows, before, None, None)
        chosen = logits.argmax(-1)
        before = np.eye(actions)[chosen]
        seen, _, _, _, infos = env.step(chosen.ravel())
    return infos["success"].reshape(player.runs, episodes)
