"""What is intervened on while the expert acts reads the very inputs that the policy reads when it is measured."""

from typing import Any

import numpy as np
import pytest
import torch

from diacritic.demos.record import record
from diacritic.measure import interventions_recorded
from diacritic.measure.interventions import Attribution
from diacritic.measure.interventions_recorded import recorded_interventions
from diacritic.rollout.policies import Policies
from diacritic.tasks.registry import make as make_task
from reproduction.attribution import LEARNED, Recording, train


@pytest.fixture(scope="module")
def recording() -> Recording:
    task = make_task("two-cues", gap=1, first_gap=1)
    return Recording(task, *record(task, LEARNED + 8, seed=6), ())


@pytest.mark.parametrize("learner", ["plain", "matched", "bypass"])
def test_watched_codes_are_those_of_the_policy(
    learner: str, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def attribute(policy: Any, episodes: Any, *_: Any, **__: Any) -> Attribution:
        asked.update(policy=policy, episodes=episodes)
        return Attribution(())

    monkeypatch.setattr(interventions_recorded, "attribute", attribute)
    (run,) = train(recording, learner, seeds=1, updates=3).runs
    demos = recording.demos.take(slice(LEARNED, None))
    controls = recorded_interventions(run, demos, demos.choices, [5])
    assert [control.name for control in controls] == ["interventions, expert occupancy", "episode boundary"]
    assert controls[1].passed is True
    player = Policies({name: value[None] for name, value in run.weights.items()}, run.architecture, run.scale)
    player.begin(demos.episodes)
    policy, episodes, rows = asked["policy"], asked["episodes"], np.arange(demos.episodes)[::-1].copy()
    state = policy.begin(demos.episodes)
    for t in range(demos.steps):
        before = None if t == 0 else demos.actions[t - 1][None]
        codes, actions = player.step(demos.observations[t][None], before, demos.symbols[t][None])
        with torch.no_grad():
            state, code, action = policy.step(state, episodes.observations[t][rows], episodes.previous[t][rows])
        np.testing.assert_array_equal(code.numpy(), codes[0][rows])
        np.testing.assert_allclose(run.scale.act(action).numpy(), actions[0][rows], atol=1e-5)


def test_a_policy_without_a_code_is_left_alone(recording: Recording) -> None:
    (run,) = train(recording, "gru-8", seeds=1, updates=1).runs
    assert recorded_interventions(run, recording.demos, recording.demos.choices, [5]) == []
