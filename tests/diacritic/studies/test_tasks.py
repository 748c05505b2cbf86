"""Windows lie where the requirement is what the paper says, and hidden values are those of the latents."""

import numpy as np
import pytest

from diacritic.studies.tasks import hidden_labels, model_of, requirement_of, task, windows


@pytest.mark.parametrize(
    ("instance", "bits"),
    [
        (task("gap", gap2=6), {"first gap": 2, "second gap": 1}),
        (task("cue-corridor", R=4, L=5), {"corridor": 2, "junction": 2}),
        (task("memory-chain", bits=3, delay=10), {"mid-delay": 3, "delay": 3, "query": 1}),
        (task("passive-t-maze", L=10), {"mid-delay": 1, "corridor": 1, "junction": 1}),
        (task("signpost-corridor", M=16, hall1=3, hall2=6), {"hall 1": 2, "hall 2": 1}),
        (task("reveal"), {"decision": 2}),
    ],
)
def test_windows_hold_the_requirement_of_the_paper(instance, bits):
    required = requirement_of(instance).bits
    assert {name: max(required[t - 1] or 0 for t in steps) for name, steps in windows(instance).items()} == bits
    assert all(1 <= t <= model_of(instance).horizon for steps in windows(instance).values() for t in steps)


def test_the_corridor_hides_a_goal_and_a_drift():
    instance = task("signpost-corridor", M=4, W=3, hall1=1, hall2=1)
    labels, episodes = hidden_labels(instance), model_of(instance).episodes
    assert episodes is not None
    assert {name: len(set(values.tolist())) for name, values in labels.items()} == {"theta": 4, "drift": 3}
    signs = episodes.observation[:, 1] * 100 + episodes.observation[:, 2]  # both signs together spell the goal
    for value in range(4):
        assert len(np.unique(signs[labels["theta"] == value])) == 1


def test_a_task_without_labels_has_none():
    assert hidden_labels(task("passive-t-maze", L=3)) == {}
