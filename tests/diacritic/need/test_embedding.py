"""Frames as numbers."""

from typing import Any

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos.readers import from_arrays
from diacritic.files.demos import Demos
from diacritic.need import embedding
from diacritic.need.answer import need
from diacritic.need.embedding import with_embedding


def filmed(steps: int = 6, episodes: int = 48) -> tuple[Demos, np.ndarray]:
    """A lamp is green or blue in the second frame, and the fifth action follows it; nothing else is seen."""
    rng = np.random.default_rng(0)
    cue = rng.integers(2, size=episodes)
    frames = rng.integers(100, 130, size=(steps, episodes, 12, 12, 3)).astype(np.uint8)
    frames[1, :, 2:10, 2:10] = np.where(cue[:, None, None, None], [0, 255, 0], [0, 0, 255])
    acted = 0.02 * rng.standard_normal((steps, episodes, 1))
    acted[4, :, 0] += cue
    return from_arrays(rng.standard_normal((steps, episodes, 1)), acted, frames=frames), cue


def test_a_cue_in_pixels_is_learned_from_few_frames():
    demos, _ = filmed()
    answer = need(with_embedding(demos, None), plants=0)
    assert answer.kind == "memory needed"
    assert [cue.shown(4) for cue in answer.remembered[0].cues] == [[1]]


def test_networks_learn_long_enough_from_few_frames(monkeypatch: pytest.MonkeyPatch):
    """Two that learned for twelve epochs of a short recording alone differed, and half of the episodes with them."""
    counts = []

    def counted(torch: Any, frames: Any, goals: Any, chosen: Any, epochs: Any, seed: int) -> None:
        counts.append(len(list(epochs)) * -(-len(chosen) // embedding.BATCH))

    monkeypatch.setattr(embedding, "_trained", counted)
    monkeypatch.setattr(embedding, "_applied", lambda torch, network, frames, rows: 0.0)
    with_embedding(filmed()[0], None)
    assert [count >= embedding.UPDATES for count in counts] == [True, True]


def test_no_network_reads_an_episode_that_it_learned_from(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embedding, "BATCH", 32)
    demos, _ = filmed()
    rng = np.random.default_rng(1)
    frames = rng.integers(256, size=(6, 48, 12, 12, 3)).astype(np.uint8)
    noise = from_arrays(demos.observations, rng.standard_normal((6, 48, 1)), frames=frames)
    read = with_embedding(noise, None).observations[:, :, 1:]
    right = embedding.targets(noise)
    assert abs(np.corrcoef(read.ravel(), right.ravel())[0, 1]) < 0.1


def test_functions_and_arrays_of_the_user():
    demos, cue = filmed()
    by_function = with_embedding(demos, lambda frames: frames[:, 6, 6].astype(float))
    assert by_function.observations.shape == (6, 48, 4)
    assert by_function.frames is demos.frames
    given = np.broadcast_to(cue[None, :, None], (6, 48, 1))
    np.testing.assert_array_equal(with_embedding(demos, given).observations[3, :, 1], cue)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.zeros((3, 3)), r"expected axes \[6, 48, e\]"),
        (lambda frames: frames[:5, 0, 0], "gives 5 rows for 288 frames"),
        (lambda frames: ["a"] * len(frames), "expected numbers"),
    ],
)
def test_other_embeddings_are_refused(given: embedding.Embedding, said: str):
    with pytest.raises(UserError, match=said):
        with_embedding(filmed()[0], given)


def test_frames_must_exist():
    with pytest.raises(UserError, match="has no frames; name a camera"):
        with_embedding(from_arrays(np.zeros((3, 4, 1)), np.zeros((3, 4, 1))), None)
