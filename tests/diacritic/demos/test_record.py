"""Recording: stratified, the same for the same seed, and joined from batches without a seam."""

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos.record import joined, record


def test_what_is_recorded(stand_in):
    demos, binner = record(stand_in(sides=4), 20, 7, batch=8)
    assert (demos.steps, demos.episodes, demos.seed, demos.task, demos.task_version) == (16, 20, 7, "stand-in", 3)
    assert demos.parameters == {"sides": 4, "slots": 2}
    assert set(demos.latents) == {"side", "slot", "mass", "distractor"}
    assert demos.symbol_names == binner.names
    np.testing.assert_array_equal(demos.symbols, binner.symbols(demos.observations, demos.latents))
    np.testing.assert_array_equal(np.bincount(demos.latents["side"]), [5, 5, 5, 5])
    shown = np.array([demos.choice_names[c] for c in demos.choices[12]])
    np.testing.assert_array_equal(shown, [f"slot{k}" for k in demos.latents["slot"]])


def test_every_prefix_is_balanced(stand_in):
    demos, _ = record(stand_in(), 24, 1)
    for count in (4, 8, 20):
        assert set(np.bincount(2 * demos.latents["side"][:count] + demos.latents["slot"][:count])) == {count // 4}


def test_seed_decides(stand_in):
    one, again, other = (record(stand_in(), 12, seed, batch=4)[0] for seed in (1, 1, 2))
    assert one.digest == again.digest
    assert one.digest != other.digest
    batches = one.observations[:, 0:4], one.observations[:, 4:8]
    assert (batches[0][..., :9] != batches[1][..., :9]).any()  # every batch has noise of its own


def test_batches_join_in_order(stand_in):
    task = stand_in(pixels=True)
    latents = {"side": np.array([0, 1, 1], np.int32), "slot": np.array([1, 0, 1], np.int32)}
    parts = [task.demonstrate({name: values[k : k + 1] for name, values in latents.items()}, k) for k in range(3)]
    whole = joined(parts)
    assert whole.frames is not None
    assert whole.frames.shape == (16, 3, 64, 64, 3)
    np.testing.assert_array_equal(whole.observations[:, 2], parts[2].observations[:, 0])
    np.testing.assert_array_equal(whole.latents["side"], latents["side"])
    with pytest.raises(UserError, match="different latents"):
        joined([parts[0], parts[1]._replace(latents=latents)])


@pytest.mark.parametrize(("episodes", "batch", "said"), [(0, 4, "episodes: expected"), (4, 0, "batch: expected")])
def test_refusals(stand_in, episodes, batch, said):
    with pytest.raises(UserError, match=said):
        record(stand_in(), episodes, 0, batch)
