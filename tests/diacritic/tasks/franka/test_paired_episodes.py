"""Rows of a shared batch are the episodes of an ordinary one, once for each policy."""

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.tasks import make_task


@pytest.mark.parametrize("name", ["two-cues", "weighing"])
@pytest.mark.parametrize("given", [False, True])
def test_every_policy_gets_the_episodes_of_the_seed(name: str, given: bool) -> None:
    task = make_task(name, gap=4)
    latents = {next(iter(task.latents)): np.array([2, 0, 3])} if given else None
    shared, plain = FrankaBatch(task, 3, seed=7, threads=1, policies=2), FrankaBatch(task, 3, seed=7, threads=1)
    for _ in range(2):  # the episodes after a reset are the next ones
        seen, expected = shared.reset(latents), plain.reset(latents)
        for rows in (slice(0, 3), slice(3, 6)):
            np.testing.assert_array_equal(seen[rows], expected)
            np.testing.assert_array_equal(shared.spawn[rows], plain.spawn)
            for hidden in task.latents:
                np.testing.assert_array_equal(shared.latents[hidden][rows], plain.latents[hidden])
    for _ in range(2):
        after = shared.step(shared.expert())
        expected = plain.step(plain.expert())
        np.testing.assert_array_equal(after, np.concatenate([expected] * 2))


def test_no_policies_or_episodes_are_refused() -> None:
    with pytest.raises(UserError, match="episodes: 0 of them; give at least 1"):
        FrankaBatch(make_task("two-cues"), 0)
