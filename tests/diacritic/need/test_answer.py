"""The four answers, beside certified truths."""

import numpy as np
import pytest
from need_data import answered, controlled, recorded, required

import diacritic as dia
from certify.errors import UserError
from diacritic.demos.readers import from_arrays
from diacritic.need.answer import need

KNOWN = ["cues-2-of-2", "xor", "re-revealed", "partial", "counter", "query", "match-to-sample"]


@pytest.mark.parametrize("world", KNOWN)
def test_the_certified_staircase_is_found(world: str):
    answer = answered(world)
    assert answer.kind == "memory needed"
    assert answer.bits == pytest.approx(required(world), abs=0.1)


def test_cue_frames_and_settings():
    answer = answered("cues-2-of-2")
    shown = [cue.shown(decision.steps[0]) for decision in answer.remembered for cue in decision.cues]
    assert shown == [[1, 2], [3, 4]]
    assert answer.keep.frames == (2, 4)
    assert answer.keep.stack == 14
    assert answer.keep.states == 4


@pytest.mark.parametrize(
    ("control", "kinds"),
    [
        ("velocity", {"short history is enough"}),
        ("copycat", {"short history is enough"}),
        ("filtering", {"short history is enough"}),
        ("clock", {"no evidence of need"}),
        ("random", {"no evidence of need"}),
        ("coin", {"cannot tell"}),
        ("exchanged", {"cannot tell"}),
        ("lit", {"no evidence of need", "short history is enough"}),
    ],
)
def test_controls_need_no_memory(control: str, kinds: set[str]):
    assert need(controlled(control), plants=0).kind in kinds


def test_what_was_found_is_a_recording_with_symbols():
    answer = answered("cues-2-of-2")
    demos = answer.labelled()
    assert demos.observations.shape == (21, 64, 9)
    assert [step.upper for step in dia.requirement(demos).steps] == pytest.approx(answer.bits)


def test_few_episodes_cannot_tell():
    answer = dia.need(recorded("cues-1-of-2", 12))
    assert answer.kind == "cannot tell"
    assert "12 episodes are too few" in str(answer)


def test_a_number_is_remembered_without_bits():
    rng = np.random.default_rng(0)
    number = rng.uniform(-1, 1, 96)
    seen = 0.02 * rng.standard_normal((12, 96, 4))
    seen[2, :, 1] += number
    acted = 0.02 * rng.standard_normal((12, 96, 1))
    acted[9, :, 0] += number
    answer = need(from_arrays(seen, acted), plants=0)
    assert answer.kind == "memory needed"
    assert [(item.step, item.frame) for item in answer.graded] == [(9, 2)]
    assert max(answer.bits) == 0


def test_equal_seeds_give_equal_answers():
    one, two = (str(need(recorded("cues-1-of-2", 40), plants=2, seed=5)) for _ in range(2))
    assert one == two


def test_copies_are_left_out():
    demos = recorded("cues-1-of-2", 40)
    answer = need(demos.take(np.concatenate([np.arange(40), np.arange(5)])), plants=0)
    assert answer.data.episodes == 40
    assert "5 episodes are copies" in answer.notes[0]


@pytest.mark.parametrize(
    ("steps", "episodes", "said"), [(1, 8, "one step an episode"), (5, 1, "one episode; give at least 16")]
)
def test_too_little_is_refused(steps: int, episodes: int, said: str):
    with pytest.raises(UserError, match=said):
        need(from_arrays(np.zeros((steps, episodes, 2)), np.ones((steps, episodes, 1))))


def test_actions_that_never_vary_are_refused():
    with pytest.raises(UserError, match="actions never vary"):
        need(from_arrays(np.random.default_rng(0).random((4, 20, 2)), np.ones((4, 20, 1))))


def test_tolerance_outside_its_range():
    with pytest.raises(UserError, match="--tolerance"):
        need(recorded("cues-1-of-2", 40), tolerance=1.5)
