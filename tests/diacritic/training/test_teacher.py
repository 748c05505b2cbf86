"""The teacher's states: those of its own memory, one teacher for each seed, kept and found again."""

from dataclasses import replace
from pathlib import Path

import torch

from diacritic.training.data import from_arrays
from diacritic.training.teacher import teacher_states

GENERATOR = torch.Generator().manual_seed(0)
DATA = from_arrays(torch.randn(5, 6, 27, generator=GENERATOR), torch.randn(5, 6, 4, generator=GENERATOR))


def test_states_depend_on_the_past_and_on_nothing_later():
    states = teacher_states(DATA, [0, 3], steps=2)
    assert states.shape == (2, 5, 6, 32)
    assert not torch.allclose(states[0], states[1])
    changed = DATA.observation.clone()
    changed[DATA.observation_index[3]] += 1.0
    other = teacher_states(replace(DATA, observation=changed), [0, 3], steps=0)
    same = teacher_states(DATA, [0, 3], steps=0)
    assert torch.equal(other[:, :3], same[:, :3])
    assert not torch.allclose(other[:, 3:], same[:, 3:])


def test_a_kept_teacher_is_found_by_what_it_was_trained_on(tmp_path: Path):
    first = teacher_states(DATA, [0], steps=2, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    stamp = path.stat().st_mtime_ns
    assert torch.equal(teacher_states(DATA, [0], steps=2, folder=tmp_path), first)
    assert path.stat().st_mtime_ns == stamp
    teacher_states(DATA, [1], steps=2, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
